"""The patterns of one language, read from its table when it is first needed: most processes never read a sentence.

Each table in `languages/` has the expressions of a language, for people who know it and no Python. `{name}` in an
expression inserts the expression of that name in the table, `{tail}` the rest of the sentence.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from compression.core.lazy_pattern import lazy_pattern
from compression.core.ledger.addressee import TECHNICAL

TABLES = Path(__file__).parent / "languages"
TAIL = "[^.!?]*"
PATTERNS = ("addressed", "anybody", "preference", "decision", "correction", "refuses")
"""The expressions of a table, beside its `orders`, that sentences are compared with. The others are parts of them."""
_LEAD = "lead"
"""The words that may stand before an order: most orders of a language begin with them."""

_NAME = re.compile(r"{([a-z_]+)}")
_INDENTED = re.compile(r"(?:^|\n) *")


def _pattern(expression: str) -> re.Pattern[str]:
    return lazy_pattern(expression, re.IGNORECASE)


class Language:
    """The patterns of a language, for a sentence on one line.

    `orders` are the forms of an order; a sentence that `refuses` matches is none. An order is the assistant's if it
    matches `addressed` or names code, a file or a machine, and no "your" in it means anybody (`anybody`).
    """

    def __init__(
        self,
        *,
        orders: tuple[str, ...],
        addressed: str,
        anybody: str,
        preference: str = "",
        decision: str = "",
        correction: str = "",
        refuses: str = "",
        lead: str = "",
    ) -> None:
        self._orders = [_pattern(order) for order in _joined(orders, lead)]
        self._addressed = _pattern(addressed)
        self._anybody = _pattern(anybody)
        self._refuses = _pattern(refuses) if refuses else None
        noted = {"correction": correction, "preference": preference, "decision": decision}
        self._noted = {kind: _pattern(pattern) for kind, pattern in noted.items() if pattern}

    def is_sure_order(self, sentence: str) -> bool:
        """Whether a sentence orders the assistant without doubt how it answers or works, for good."""
        return self._is_order(sentence) and self._is_addressed(sentence)

    def kind_of(self, sentence: str) -> str:
        """The kind of an entry that is noted; "" if the sentence is none."""
        kind = next((kind for kind, pattern in self._noted.items() if pattern.search(sentence)), "")
        return kind or ("rule" if self._is_order(sentence) else "")

    def _is_order(self, sentence: str) -> bool:
        if self._refuses and self._refuses.search(sentence):
            return False
        return any(pattern.search(sentence) for pattern in self._orders)

    def _is_addressed(self, sentence: str) -> bool:
        if self._anybody.search(sentence):
            return False
        return bool(self._addressed.search(sentence) or TECHNICAL.search(sentence))


def _joined(orders: tuple[str, ...], lead: str) -> tuple[str, ...]:
    """The orders, those that begin with `lead` as one expression: a sentence's lead is read once for all of them."""
    led = [order.removeprefix(lead) for order in orders if lead and order.startswith(lead)]
    others = tuple(order for order in orders if not lead or not order.startswith(lead))
    return (f"{lead}(?:{'|'.join(f'(?:{order})' for order in led)})", *others) if led else others


@cache
def language(name: str) -> Language:
    """The language of the table with this name."""
    table = expressions(name)
    return Language(**{key: table[key] for key in ("orders", *PATTERNS, _LEAD) if key in table})


@cache
def expressions(name: str) -> dict[str, Any]:
    """The expressions of a table by name, each whole; lists are tuples, `words` stays as it is written."""
    table = tomllib.loads((TABLES / f"{name}.toml").read_text(encoding="utf-8"))
    whole: dict[str, Any] = {"tail": TAIL}

    def resolved(expression: str) -> str:
        return _NAME.sub(lambda found: whole[found[1]], _INDENTED.sub("", expression))

    for key, value in table.items():
        if isinstance(value, list):
            whole[key] = tuple(map(resolved, value))
        else:
            whole[key] = resolved(value) if isinstance(value, str) else value
    return whole
