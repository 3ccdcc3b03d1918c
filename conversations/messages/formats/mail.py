"""Reads mails: their head, their text, and the names of attached files."""

from __future__ import annotations

from email import message_from_bytes, policy
from typing import Any

from conversations.messages.formats.parts import Parts, Read
from conversations.messages.html_text import as_markdown

HEAD = ("From", "To", "Cc", "Date", "Subject")


def read(data: bytes) -> Read:
    return _parts(message_from_bytes(data, policy=policy.default)), None


def _parts(mail: Any) -> Parts:
    yield from (f"{name}: {mail[name]}" for name in HEAD if mail[name])
    yield ""
    body = mail.get_body(preferencelist=("plain", "html"))
    if body is not None:
        text = _words(body)
        yield as_markdown(text) if body.get_content_subtype() == "html" else text
    for inner in mail.walk():
        if inner.get_content_type() == "message/rfc822":
            yield "\n[Forwarded mail]"
            yield from _parts(inner.get_payload(0))
    names = [part.get_filename() or part.get_content_type() for part in mail.iter_attachments()]
    if names:
        yield f"\n[Attached, not read: {', '.join(names)}]"


def _words(body: Any) -> str:
    """The text of a body; one whose character set is unknown or wrong is read as well as it can be."""
    try:
        return str(body.get_content())
    except (LookupError, UnicodeError):
        return bytes(body.get_payload(decode=True) or b"").decode("utf-8", errors="replace")
