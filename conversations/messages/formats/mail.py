"""Reads mails: their head, their text, and the names of attached files."""

from __future__ import annotations

from email import message_from_bytes, policy
from typing import Any

from conversations.messages.formats.parts import Parts, Read
from conversations.messages.html_text import as_markdown

FORWARDED = "message/rfc822"
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
    attached = list(mail.iter_attachments())
    for part in attached:
        if part.get_content_type() == FORWARDED:
            yield "\n[Forwarded mail]"
            yield from _parts(part.get_payload(0))
    files = [part for part in attached if part.get_content_type() != FORWARDED]
    if names := [part.get_filename() or part.get_content_type() for part in files]:
        yield f"\n[Attached, not read: {', '.join(names)}]"


def _words(body: Any) -> str:
    """The text of a body; one whose character set is unknown or wrong is read as well as it can be."""
    try:
        return str(body.get_content())
    except (LookupError, UnicodeError):
        return bytes(body.get_payload(decode=True) or b"").decode("utf-8", errors="replace")
