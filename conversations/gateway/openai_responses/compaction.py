"""Compactions of OpenAI's Responses: a summary that people can read, in the field that clients pass on."""

from __future__ import annotations

import base64
import binascii

from conversations.errors import Invalid
from conversations.gateway.protocol import Json

PREFIX = "chatsite1."
"""The beginning of what this site puts where OpenAI has an encrypted text."""


def compaction_item(id: str, text: str) -> Json:
    """The item that stands for what was compacted. `summary` is for people; clients send the other field back."""
    held = PREFIX + base64.b64encode(text.encode()).decode()
    return {"id": id, "type": "compaction", "encrypted_content": held, "summary": text}


def text_of_compaction(place: str, item: Json) -> str:
    """The summary in an item of ours. Raises Invalid for another one, which only its maker can read."""
    held, field = item.get("encrypted_content"), f"{place}.encrypted_content"
    if not isinstance(held, str) or not held.startswith(PREFIX):
        raise Invalid(f"{field}: was not made by this site, so nobody here can read it.", field=field)
    try:
        return base64.b64decode(held.removeprefix(PREFIX), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise Invalid(f"{field}: was changed since this site made it.", field=field) from None
