"""An entry of the ledger as it is detected in a text."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["rule", "preference", "decision", "correction", "withdrawal", "fact"]
MAX_ENTRY_CHARS = 1_000
"""A longer sentence is no entry: entries are whole sentences, and each costs tokens in every request."""
MAX_ENTRIES = 60
"""The most entries of one message."""


class Topic(NamedTuple):
    """The thing that an entry is about: a later entry about the same thing takes its place.

    `name` is a known subject ("language", "length", …) or "=" and a digest of the words. `value` is the language that
    an order names. `forbids`: the entry orders not to do it.
    """

    name: str
    value: str = ""
    forbids: bool = False

    def replaces(self, earlier: Topic) -> bool:
        """Whether an entry about this topic takes the place of an earlier one.

        "Never answer in French" leaves "Always answer in German" in force, as both can be followed.
        """
        if self.name != earlier.name:
            return False
        if self.name == "language" and (self.forbids or earlier.forbids):
            return self.value == earlier.value
        return True


class DetectedEntry(NamedTuple):
    """An entry with its whole sentence, verbatim. `is_sure`: it is an order to the assistant without doubt."""

    kind: Kind
    text: str
    is_sure: bool
    topic: Topic
