"""Commands of the composer: what begins with a slash and a word is for the site, and not for the model."""

from __future__ import annotations

import re
from difflib import get_close_matches

from conversations.errors import Invalid

COMMANDS = ("compact", "help")
LIKENESS = 0.75
"""From which on a word is taken for a misspelt command, whatever follows on it; 1 is the same word."""
AS_TEXT = "To send it as text, begin with a space."
_COMMAND = re.compile(r"/(?P<name>[^\W\d_][\w-]{0,30})(?P<rest>[:,.!?]*(?:\s.*)?)", re.DOTALL)
_PLAIN = re.compile(r"[\w\s.,:!?'\"’“”…–—-]*")
"""Words as people write them; code has other signs."""


def is_help(typed: str) -> bool:
    return typed.rstrip().lower() == "/help"


def require_text(typed: str) -> None:
    """Raises Invalid for what reads as a command that there is not. A path, code, and text behind a blank are text."""
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
