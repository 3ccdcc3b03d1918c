"""Protects the system messages of an imported conversation that stay in force."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from conversations.context.instructions import in_force
from conversations.exchange.document import ImportedMessage
from conversations.models import Message

MAX_CHARS = 4_000
"""The most characters of system messages after the first reply that are sent word for word, in a window of any size."""


def with_instructions(lines: Iterable[ImportedMessage]) -> tuple[ImportedMessage, ...]:
    """The messages of another program, of whose system messages those in force are protected."""
    given = list(lines)
    sizes = [len(line.content) if line.role == Message.Role.SYSTEM else None for line in given]
    first_reply = next((at for at, line in enumerate(given) if line.role == Message.Role.ASSISTANT), len(given))
    for at in in_force(sizes, first_reply=first_reply, most=MAX_CHARS):
        given[at] = replace(given[at], is_protected=True)
    return tuple(given)
