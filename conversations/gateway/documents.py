"""Documents in a caller's messages, as text with page numbers for models that cannot read files themselves.

The text stands in a tag, like a client's additions (`boilerplate`): it is the document's, not the person's own words.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Sequence
from contextvars import ContextVar
from hashlib import sha256
from typing import Any

from django.conf import settings

from conversations.errors import Invalid
from conversations.gateway.addresses import is_home
from conversations.gateway.history_repair import file_note
from conversations.gateway.messages import Raw
from conversations.messages.documents import kind_of, read_document
from conversations.models import ModelProfile
from conversations.runtime.bounded_cache import BoundedCache

PASS = "pass"
"""The value of GATEWAY_DOCUMENTS with which every provider is sent the files themselves."""
MAX_NAME_CHARS = 100
_KEPT: BoundedCache[str, str] = BoundedCache(16)
"""The texts of the documents that were read last, by hash: programs send a document again with every call."""
_owner: ContextVar[int | None] = ContextVar("owner of the documents", default=None)
_DATA_URL = re.compile(r"data:([\w.+/-]*)[^,]*,", re.ASCII)
_UNSAFE = re.compile(r"[\x00-\x1f<>\"]")
_CLOSING = re.compile(r"</(?=document)", re.IGNORECASE)


def read_for(owner_id: int) -> None:
    """Have the documents of the call that is being parsed read in turn with those of other people."""
    _owner.set(owner_id)


def document_text(data: str, *, media_type: str = "", name: str = "") -> str:
    """The text of a document in Base64, in its tag; for data that cannot be read, a line that says why.

    Raises TooMany if this person has too many documents read at once, and Busy if no document can be read now.
    """
    key = sha256(f"{name}\0{media_type}\0{data}".encode(errors="replace")).hexdigest()
    known = _KEPT.get(key)
    if known is None:
        _KEPT.put(key, known := _read(data, media_type, _fitting(name)))
    return known


def with_texts(messages: object, profile: ModelProfile) -> object:
    """Messages of a chat completion with the text of each file part; unchanged for providers that read files.

    These are OpenAI itself, and all of them where GATEWAY_DOCUMENTS is PASS.
    """
    reads_files = is_home(profile) and profile.provider == ModelProfile.Provider.OPENAI
    if not isinstance(messages, list) or reads_files or settings.GATEWAY_DOCUMENTS == PASS:
        return messages
    return [_with_texts(message) if _has_files(message) else message for message in messages]


def tagged(text: str, *, name: str = "", pages: int | None = None) -> str:
    """The text of a document in its tag, which nothing in the text or its name closes."""
    named = f' name="{_fitting(name)}"' if name else ""
    counted = f' pages="{pages}"' if pages else ""
    return f"<document{named}{counted}>\n{_CLOSING.sub('< /', text)}\n</document>"


def _fitting(name: str) -> str:
    """The name of a document as an attribute takes it."""
    return _UNSAFE.sub(" ", name)[:MAX_NAME_CHARS].strip()


def _read(data: str, media_type: str, name: str) -> str:
    note = file_note("document", media_type, data, name)
    try:
        content = b64decode(data, validate=False)
        kind = kind_of(content)
        if not kind and media_type.startswith("text/"):
            return tagged(content.decode(errors="replace"), name=name)
        if not kind:
            return note
        document = read_document(content, kind, by=_owner.get())
    except binascii.Error:
        return note
    except Invalid as refusal:
        return note.replace("not sent to this model", str(refusal.message).removeprefix("file: ").rstrip("."))
    return tagged(document.text, name=name, pages=document.pages)


def _has_files(message: Any) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, list) and any(isinstance(part, dict) and part.get("type") == "file" for part in content)


def _with_texts(message: Raw) -> Raw:
    parts: Sequence[Any] = message["content"]
    return message | {"content": [_as_text(part) for part in parts]}


def _as_text(part: Any) -> Any:
    file = part.get("file") if isinstance(part, dict) and part.get("type") == "file" else None
    if not isinstance(file, dict) or not isinstance(file.get("file_data"), str):
        return part
    given = file["file_data"]
    url = _DATA_URL.match(given)
    name = file.get("filename")
    text = document_text(
        given[url.end() :] if url else given,
        media_type=url[1] if url else "",
        name=name if isinstance(name, str) else "",
    )
    return {"type": "text", "text": text}
