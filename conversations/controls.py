"""Characters that are not seen: they turn what follows around, or make two things that differ look the same."""

from __future__ import annotations

HIDDEN = {
    *(0x00AD, 0x115F, 0x180E, 0x200B, 0x2060, 0x3164, 0xFEFF),  # of no width
    *(*range(0x202A, 0x202F), *range(0x2066, 0x206A)),  # which way text runs
    *(code for code in (*range(0x20), *range(0x7F, 0xA0)) if not chr(code).isspace()),
}
"""Not those that scripts and emoji need: joiners, and marks that only say which way one character goes."""
_SEEN = {code: f"[U+{code:04X}]" for code in HIDDEN}


def visible(text: str) -> str:
    """For names, titles and the words of links, which must be what they look like: hidden characters as their codes."""
    return text.translate(_SEEN)
