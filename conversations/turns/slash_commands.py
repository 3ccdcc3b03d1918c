"""Recognizes the composer's commands: text such as "/help" is for the site and not for the model."""

from __future__ import annotations

import re
from difflib import get_close_matches

from conversations.errors import Invalid

COMMANDS = ("compact", "help")
LIKENESS = 0.75
"""At this similarity or more, a word counts as a misspelt command, with any words after it; 1 is the same word."""
AS_TEXT = "To send it as text, begin with a space."
_COMMAND = re.compile(r"/(?P<name>[^\W\d_][\w-]{0,30})(?P<rest>[:,.!?]*(?:\s.*)?)", re.DOTALL)
_PLAIN = re.compile(r"[\w\s.,:!?'\"’“”…–—-]*")
"""Matches prose; code has other characters."""


def is_help(typed: str) -> bool:
    return typed.rstrip().lower() == "/help"


def require_text(typed: str) -> None:
    """Raises Invalid for text that looks like an unknown or misused command.

    A path, code, and text after a leading blank are text.
    """
    found = _COMMAND.fullmatch(typed)
    if found is None:
        return
    name, rest = found["name"], found["rest"]
    if name.lower() in COMMANDS:
        behind = ", or with its instructions behind a blank" if name.lower() == "compact" else ""
        raise Invalid(f"/{name} stands alone{behind}. {AS_TEXT}", field="content")
    meant = get_close_matches(name.lower(), COMMANDS, 1, LIKENESS)
    if meant or _PLAIN.fullmatch(rest):
        guess = f" Did you mean /{meant[0]}?" if meant else ""
        raise Invalid(f"There is no command /{name}.{guess} {AS_TEXT}", field="content")
