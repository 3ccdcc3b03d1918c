"""Reads the arguments of tool calls, which arrive as the JSON text of an object."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from compression.core.caching import cached_texts

_UNQUOTED = re.compile(r'["\r\n]')
"""A text with one of these stands without quotation marks."""


def arguments_of(text: str) -> Mapping[str, Any]:
    """The arguments by name; a text that is no JSON object is one argument with the name ""."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return {"": text}
    return values if isinstance(values, dict) else {"": values}


def argument_lines(text: str) -> list[tuple[str, list[str]]]:
    """Each argument's name and the lines of its value; a command line's name is ""."""
    values = arguments_of(text).items()
    return [("" if name == "command" else name, _text(value).splitlines()) for name, value in values]


@cached_texts(chars=500_000)
def plain_arguments(text: str) -> str:
    """The arguments as lines "name=value", without the escapes of JSON.

    A value's line breaks are line breaks. A text of one line has quotation marks, as the tool gets it as a whole.
    """
    return "\n".join(_plain(name, value) for name, value in arguments_of(text).items() if value != "")


def _plain(name: str, value: Any) -> str:
    is_quoted = name and isinstance(value, str) and not _UNQUOTED.search(value)
    shown = f'"{value}"' if is_quoted else _text(value)
    return shown if name in ("", "command") else f"{name}={shown}"


def _text(value: Any) -> str:
    """The value itself if it is a text, else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
