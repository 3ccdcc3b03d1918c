"""Parses lines of NAME=value, by which an administrator sets a server's environment or headers."""

from __future__ import annotations


def pairs(lines: str) -> dict[str, str]:
    """Values by name; blank lines are ignored. Raises ValueError, which gives the line's number and never quotes it."""
    found: dict[str, str] = {}
    for number, line in enumerate(lines.splitlines(), 1):
        name, equals, value = line.partition("=")
        if not line.strip():
            continue
        if not equals or not name.strip() or "\0" in line:
            raise ValueError(f"line {number} is not NAME=value")
        if name.strip() in found:
            raise ValueError(f"line {number} sets its name once more")
        found[name.strip()] = value.strip()
    return found
