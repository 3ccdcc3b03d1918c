"""Lines NAME=value, as an administrator writes down an environment or headers."""

from __future__ import annotations


def pairs(lines: str) -> dict[str, str]:
    """By name; blank lines are none. Raises ValueError, which names the line by its number and never quotes it."""
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
