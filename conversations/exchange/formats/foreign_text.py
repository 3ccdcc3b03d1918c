"""Converts parts of other sites' messages to text that can be stored; parts that are no text are named."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from conversations.errors import Invalid
from conversations.exchange.fields import fault, read_date, read_timestamp
from conversations.llm.providers.text_repair import Storable
from conversations.models.conversation import MAX_SYSTEM_PROMPT_CHARS, MAX_TITLE_CHARS
from conversations.validation import MAX_CONTENT

MAX_NAME = 200
MILLISECONDS = 100_000_000_000
"""Dates from this number on are in milliseconds."""
NAMELESS = "without a name"
MAX_LINKS = 10
_BRACKETS = re.compile(r"[\[\]\\]")
_NO_ADDRESS = re.compile(r"[\s()<>\x00-\x20]")


def stored(value: object) -> str:
    """Text without characters that no database stores, as nobody can correct an export by hand. "" for other values."""
    return Storable().take(value) if isinstance(value, str) else ""


def checked_text(place: str, text: str) -> str:
    """A message's text, unchanged. Raises Invalid if it is longer than a message may be."""
    if len(text) > MAX_CONTENT:
        raise fault(place, f"at most {MAX_CONTENT:,} characters, not {len(text):,}.")
    return text


def cut(text: str, *, limit: int = MAX_CONTENT) -> str:
    """The beginning of a tool's result or a file, if it is longer than a message may be, with a note."""
    note = f"\n[… cut: {len(text):,} characters in all]"
    return text if len(text) <= limit else text[: max(0, limit - len(note))] + note


def title(value: object) -> str:
    return " ".join(stored(value).split())[:MAX_TITLE_CHARS]


def date(value: object) -> datetime | None:
    """A date as ISO 8601, or since 1970 in seconds or milliseconds, as a number, as text or in the form of MongoDB.

    None for any other value: a conversation is worth more than one of its dates.
    """
    while isinstance(value, dict):  # {"$date": {"$numberLong": "1736154000000"}}
        value = value.get("$date", value.get("$numberLong"))
    try:
        if isinstance(value, str) and value.replace(".", "", 1).isdecimal():
            value = float(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = value / 1000 if value >= MILLISECONDS else value
            return read_timestamp("date", value) if value > 0 else None
        return read_date("date", value)
    except (Invalid, OverflowError):
        return None


def instructions(place: str, value: object) -> str:
    """Instructions that a file brings. Raises Invalid if they are longer than a system prompt may be."""
    text = stored(value)
    if len(text) > MAX_SYSTEM_PROMPT_CHARS:
        raise fault(place, f"instructions have at most {MAX_SYSTEM_PROMPT_CHARS:,} characters, not {len(text):,}.")
    return text


def link(title: object, url: object) -> str:
    """A link in Markdown; "" for an address other than of the web."""
    address = stored(url)
    if not address.startswith(("http://", "https://")) or _NO_ADDRESS.search(address):
        return ""
    return f"[{_BRACKETS.sub('', _name(title)) if title else address}]({address})"


def links(sources: Iterable[dict[str, Any]]) -> str:
    """The links to the sources with an address, each once, in parentheses; "" without any."""
    found = dict.fromkeys(filter(None, (link(one.get("title"), one.get("url")) for one in sources)))
    return f"({', '.join(list(found)[:MAX_LINKS])})" if found else ""


def tool_name(value: object) -> str:
    """A tool's name; "tool" for a tool without one."""
    return stored(value).strip()[:MAX_NAME] or "tool"


def image(name: object) -> str:
    return f"[Image: {_name(name)}]"


def file(name: object) -> str:
    return f"[File: {_name(name)}]"


def as_object(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[dict[str, Any]]:
    """The objects of a list; other sites' additions to it are ignored."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def joined(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text.strip())


def _name(value: object) -> str:
    return " ".join(stored(value).split())[:MAX_NAME] or NAMELESS
