"""Converts names of tools to names that providers accept, which are stricter than tool servers."""

from __future__ import annotations

import re
from collections.abc import Collection
from hashlib import sha256

MAX_NAME_CHARS = 64
_FITS = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_NAME_CHARS}}}")
_DIGITS = 8
_LEAKED = re.compile(r"<\|.*", re.DOTALL)
"""The marks of a chat template that some servers leave in a name, and all after them."""
_PREFIX = "functions."
"""The namespace that models of OpenAI's and Moonshot's kind put before a name."""


def fitting_name(name: str) -> str:
    """The name itself if providers accept it, else a shortened one with a digest.

    Different names have different results, and a name always has the same, so that a call finds its tool.
    """
    if _FITS.fullmatch(name):
        return name
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    kept = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[: MAX_NAME_CHARS - _DIGITS - 1]
    return f"{kept or 'tool'}_{digest}"


def offered_name(name: str, offered: Collection[str]) -> str:
    """The offered name that a model means: with other letters' case, with a namespace, with marks of its template, or
    as `fitting_name` shortened it.

    The name itself if it is offered, or if it could mean none or several.
    """
    if name in offered:
        return name
    bare = _LEAKED.sub("", name).strip().removeprefix(_PREFIX)
    if bare in offered:
        return bare
    alike = [one for one in offered if one.lower() == bare.lower() or (bare and fitting_name(one) == bare)]
    return alike[0] if len(alike) == 1 else name
