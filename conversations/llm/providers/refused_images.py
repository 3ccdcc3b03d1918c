"""Replaces images by text in a request that its server refuses for their number, size or data, or for having any.

A request has all images of a conversation. A line with its kind and size stands for each one that is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from compression.core.lazy_pattern import lazy_pattern

Json = dict[str, Any]

TOO_LARGE = 413
_TOO_LARGE = lazy_pattern(
    r"(?:request|payload|body|entity|content)\b.{0,40}\btoo[ _]large|request_too_large", re.IGNORECASE
)
_IMAGES = lazy_pattern(
    r"(?:too many|at most|up to|maximum|max\w*|limit|exceed\w*|more than)\b.{0,60}\bimage(?:s|_urls?)?\b"
    r"|\bimages?\b.{0,60}\b(?:too many|at most|maximum|max\w*|limit|exceed\w*)",
    re.IGNORECASE,
)
_UNSUPPORTED = lazy_pattern(
    r"(?:image|vision|multi-?modal)\w*\b.{0,60}(?:not support|unsupported|not (?:allowed|enabled|available))"
    r"|image\w*\b.{0,60}(?:only supported|不支持)|not a (?:multi-?modal|vision)|at most 0 image"
    r"|only (?:accepts|supports|takes) text|(?:input should|must) be 'text'|only text content|text only"
    r"|不支持.{0,4}(?:图片|图像|多模态)|data required for image input"
    r"|(?:(?:not?|n['’]t) (?:support|accept|allow)|unsupported|support only text"
    r"|cannot (?:read|process|handle))\w*.{0,40}\b(?:images?|image_url|vision|multi-?modal)\b"
    r"|(?:input tag|variant|\btype)\W{1,4}image\b|\bimage is not a valid enum"
    r"|(?:unknown variant|expected).{0,30}image_url|no endpoints found that support image|mmproj",
    re.IGNORECASE | re.DOTALL,
)
_UNREADABLE = lazy_pattern(
    r"(?:(?:could|can) ?not|unable to|failed to) (?:process|decode|read|parse)\b.{0,20}\bimages?\b"
    r"|unsupported image\b.{0,200}formats|invalid[_ ]image|image_parse_error|image\b.{0,40}\b(?:is|be) corrupt",
    re.IGNORECASE | re.DOTALL,
)
"""The words of an error about images that cannot be read."""
IN_RESULTS_REFUSED = lazy_pattern(
    r"tool_result.{0,40}input tag ['\"`]image|images?\b.{0,40}tool.results?|tool.results?\b.{0,40}not.{0,20}images?",
    re.IGNORECASE | re.DOTALL,
)
_NO_IMAGE = lazy_pattern(r"at most 0 image", re.IGNORECASE)
_ONE_IMAGE = lazy_pattern(
    r"format|mime|media.?type|image/|\bsize|dimension|pixel|resolution|corrupt|decod|download|fetch|animated",
    re.IGNORECASE,
)
"""The words of an error about one image: the model takes others."""
_DATA = lazy_pattern(r"data:([\w.+-]+/[\w.+-]+)?[^,]{0,100},")
MAX_READ_CHARS = 4_000
"""The characters of an error that are looked at."""

Place = tuple[list[Any], int, str]
"""(a content, the place of an image in it, the image's kind and size)."""


def some_are_refused(status: int, complaint: str) -> bool:
    """Whether a provider refuses some images, for their number, size or data, in an error with this status and text."""
    said = complaint[:MAX_READ_CHARS]
    if status == TOO_LARGE:
        return True
    return status in (400, 422) and bool(
        _TOO_LARGE.search(said)
        or (_UNREADABLE.search(said) and not are_unsupported(said))
        or (_IMAGES.search(said) and not _NO_IMAGE.search(said))
    )


def are_unsupported(complaint: str) -> bool:
    """Whether an error says that the model takes no images at all."""
    said = complaint[:MAX_READ_CHARS]
    return bool(_UNSUPPORTED.search(said)) and not _ONE_IMAGE.search(said)


def without_images(body: Mapping[str, Any]) -> Json:
    """The request without images, for a model that takes none."""
    messages = body.get("messages")
    left = _newest(messages, 0, note="not sent, as this model takes no images") if isinstance(messages, list) else None
    return dict(body) | ({"messages": left} if left else {})


def without_results(body: Mapping[str, Any]) -> Json:
    """The request with the images in results of Anthropic's form behind all results of their message."""
    messages = body.get("messages")
    return dict(body) | ({"messages": [_moved(one) for one in messages]} if isinstance(messages, list) else {})


def _moved(message: Json) -> Json:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    results, images = [], list[Any]()
    for part in content:
        inner = part.get("content") if isinstance(part, dict) and part.get("type") == "tool_result" else None
        pictures = [one for one in inner if isinstance(one, dict) and _name(one)] if isinstance(inner, list) else []
        if isinstance(inner, list) and pictures:
            part = part | {"content": [one for one in inner if one not in pictures]}
            images += [{"type": "text", "text": f"Image in the result of {part.get('tool_use_id')}:"}, *pictures]
        results.append(part)
    return message | {"content": [*results, *images]} if images else message


def without_oldest(messages: list[Json]) -> list[Json]:
    """The messages with the older half of their images, at least one, as text; the same object if there are none."""
    return newest(messages, images_in(messages) // 2)


def newest(messages: list[Json], most: int) -> list[Json]:
    """The messages with their newest images alone, at most `most`; the same object if there are no more."""
    return _newest(messages, most, note="left out, as the provider takes no request with all images")


def images_in(messages: object) -> int:
    """The number of images in the messages of a request."""
    return sum(1 for _ in _all_images(messages if isinstance(messages, list) else []))


def _newest(messages: list[Json], most: int, *, note: str) -> list[Json]:
    surplus = images_in(messages) - most
    if surplus <= 0:
        return messages
    copied = deepcopy(messages)
    for content, at, name in list(_all_images(copied))[:surplus]:
        content[at] = {"type": "text", "text": f"[{name}: {note}]"}
    return copied


def _all_images(messages: list[Json]) -> Iterator[Place]:
    for message in messages:
        yield from _images(message.get("content"))


def _images(content: Any) -> Iterator[Place]:
    """The images of a content in order, those within the results of tools too."""
    for at, part in enumerate(content if isinstance(content, list) else ()):
        if not isinstance(part, dict):
            continue
        if (name := _name(part)) is not None:
            yield content, at, name
        else:
            yield from _images(part.get("content"))


def _name(part: Json) -> str | None:
    """The kind and size of an image; None for another part."""
    source, address = part.get("source"), part.get("image_url")
    if part.get("type") == "image" and isinstance(source, dict):
        return _text(str(source.get("media_type") or "image"), len(str(source.get("data") or "")))
    if part.get("type") == "image_url" and isinstance(address, dict):
        url = str(address.get("url") or "")
        data = _DATA.match(url)
        return _text(data[1] or "image", len(url) - data.end()) if data else _text("image", 0)
    return None


def _text(kind: str, characters: int) -> str:
    size = f", {characters * 3 // 4:,} bytes" if characters else ""
    return f"{kind}{size}"
