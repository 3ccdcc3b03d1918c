"""Converts names of tools to names that providers accept, which are stricter than tool servers."""

from __future__ import annotations

import re
from hashlib import sha256

MAX_NAME_CHARS = 64
_FITS = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_NAME_CHARS}}}")
_DIGITS = 8


def fitting_name(name: str) -> str:
    """The name itself if providers accept it, else a shortened one with a digest.

    Different names have different results, and a name always has the same, so that a call finds its tool.
    """
    if _FITS.fullmatch(name):
        return name
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    kept = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[: MAX_NAME_CHARS - _DIGITS - 1]
    return f"{kept or 'tool'}_{digest}"
