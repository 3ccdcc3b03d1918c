"""Files of conversations, whatever format they are in."""

from __future__ import annotations

import codecs
from types import ModuleType
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser

from conversations.errors import Invalid
from conversations.exchange import chatsite, neutral
from conversations.exchange.storing import store
from conversations.models import Conversation
from conversations.validation import parse_json

FORMATS = (chatsite, neutral)
FOREIGN = {"mapping": "ChatGPT's export", "chat_messages": "Claude's export"}
# UTF-32 first: its mark begins with that of UTF-16.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}


def import_conversations(user: AbstractBaseUser, payload: bytes) -> list[Conversation]:
    """New conversations of `user`'s out of a file. Raises Invalid, naming the place; nothing is stored then."""
    if len(payload) > settings.MAX_BODY_BYTES:
        raise Invalid(f"file: at most {settings.MAX_BODY_BYTES:,} bytes.", field="file", limit=settings.MAX_BODY_BYTES)
    data = parse_json(_decode(payload))
    return [store(user, _format_of(data).read(data))]


def _decode(payload: bytes) -> str:
    encoding = next((name for mark, name in MARKS.items() if payload.startswith(mark)), "utf-8")
    try:
        return payload.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise Invalid(f"file: not {name} text, from byte {error.start:,} on.", field="file") from None


def _format_of(data: object) -> ModuleType:
    for module in FORMATS:
        if module.recognises(data):
            return module
    names = " and ".join(module.NAME for module in FORMATS)
    raise Invalid(f"file: {_guess(data)} is not read. Read today: {names}.", field="file")


def _guess(data: Any) -> str:
    """What the file seems to be, for the person who chose it."""
    first = data[0] if isinstance(data, list) and data else data
    keys = first if isinstance(first, dict) else ()
    return next((name for key, name in FOREIGN.items() if key in keys), "this form of JSON")
