"""Names of tools as providers take them, which is stricter than those that servers of tools give."""

from __future__ import annotations

import re
from hashlib import sha256

MAX_NAME_CHARS = 64
_FITS = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_NAME_CHARS}}}")
_DIGITS = 8


def fitting(name: str) -> str:
    """The name itself where it fits, else as much of it as does, with a digest: no two are told alike, and one always
    the same, so that a call finds its tool."""
    if _FITS.fullmatch(name):
        return name
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    kept = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[: MAX_NAME_CHARS - _DIGITS - 1]
    return f"{kept or 'tool'}_{digest}"
