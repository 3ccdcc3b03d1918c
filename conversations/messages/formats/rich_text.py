"""Reads the text of RTF."""

from __future__ import annotations

from conversations.messages.formats.parts import Read


def read(data: bytes) -> Read:
    from striprtf.striprtf import rtf_to_text

    return iter([rtf_to_text(data.decode("latin-1"), errors="ignore")]), None
