"""Reads the arguments of tool calls, which arrive as the JSON text of an object."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BREAK = re.compile(r'["\r\n]')
"""A value with one of these stands without quotation marks."""


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


def plain_arguments(text: str) -> str:
    """The arguments as lines "name=value", without the escapes of JSON.

    A value's line breaks are line breaks. A text of one line has quotation marks, as the tool gets it as a whole.
    """
    pairs = ((name, _text(value), isinstance(value, str)) for name, value in arguments_of(text).items())
    return "\n".join(_in_place(name, value, is_text) for name, value, is_text in pairs if value)


def _in_place(name: str, value: str, is_text: bool) -> str:
    if not name:
        return value
    shown = f'"{value}"' if is_text and not _BREAK.search(value) else value
    return shown if name == "command" else f"{name}={shown}"


def _text(value: Any) -> str:
    """The value itself if it is a text, else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:  # nested so deep that it can be read, and not be written
        return ""
