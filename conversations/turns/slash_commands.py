"""Recognizes the composer's commands: text such as "/help" is for the site and not for the model."""

from __future__ import annotations

import re
from difflib import get_close_matches

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from conversations.errors import Invalid

COMMANDS = ("compact", "help")
LIKENESS = 0.75
"""At this similarity or more, a word counts as a misspelt command, with any words after it; 1 is the same word."""
AS_TEXT = gettext_noop("To send it as text, begin with a space.")
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
        behind = _(", or with its instructions behind a blank") if name.lower() == "compact" else ""
        raise Invalid(
            _("/%(name)s stands alone%(behind)s. %(as_text)s")
            % {"name": name, "behind": behind, "as_text": _(AS_TEXT)},
            field="content",
        )
    meant = get_close_matches(name.lower(), COMMANDS, 1, LIKENESS)
    if meant or _PLAIN.fullmatch(rest):
        guess = _(" Did you mean /%(command)s?") % {"command": meant[0]} if meant else ""
        raise Invalid(
            _("There is no command /%(name)s.%(guess)s %(as_text)s")
            % {"name": name, "guess": guess, "as_text": _(AS_TEXT)},
            field="content",
        )
