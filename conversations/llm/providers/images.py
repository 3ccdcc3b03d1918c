"""Puts the bytes of images into a request just before it is sent; until then, it refers to them by hash."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.db.models import Exists, OuterRef

from conversations.llm.request import REFERENCE, Prompt
from conversations.models import Attachment

GONE = {"type": "text", "text": "[an image that is not there any more]"}

Part = dict[str, Any]


async def with_bytes(prompt: Prompt) -> Prompt:
    """The prompt with its images as `data:` URLs. One query for all images, none if there are no images.

    The bytes of an image that occurs several times are read once.
    """
    hashes = {part["image_url"]["url"].removeprefix(REFERENCE) for part in _images(prompt)}
    if not hashes:
        return prompt
    rows = Attachment.objects.filter(conversation=prompt.images_of, digest__in=hashes, kind=Attachment.Kind.IMAGE)
    rows = rows.filter(message__replaced_by=None, data__isnull=False)
    again = rows.filter(digest=OuterRef("digest"), pk__gt=OuterRef("pk"))
    known = rows.filter(~Exists(again)).values_list("digest", "media_type", "data")
    urls = {
        REFERENCE + digest: f"data:{media_type};base64,{b64encode(data or b'').decode()}"
        async for digest, media_type, data in known
    }
    return replace(prompt, messages=tuple(_shown(message, urls) for message in prompt.messages))


def _images(prompt: Prompt) -> Iterator[Part]:
    for message in prompt.messages:
        if isinstance(message["content"], list):
            yield from (part for part in message["content"] if part["type"] == "image_url")


def _shown(message: dict[str, Any], urls: Mapping[str, str]) -> dict[str, Any]:
    if not isinstance(message["content"], list):
        return message
    return message | {"content": [_part(part, urls) for part in message["content"]]}


def _part(part: Part, urls: Mapping[str, str]) -> Part:
    if part["type"] != "image_url":
        return part
    url = urls.get(part["image_url"]["url"])
    return {"type": "image_url", "image_url": {"url": url}} if url else GONE
