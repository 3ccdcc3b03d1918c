"""What an operator is told."""

from __future__ import annotations

from django.core.exceptions import ValidationError

NAMED = {"auth.user": "users", "conversations.conversation": "conversations", "conversations.message": "messages"}


def summary(counts: dict[str, int]) -> str:
    named = ", ".join(f"{counts.get(label, 0):,} {what}" for label, what in NAMED.items())
    return f"{sum(counts.values()):,} rows ({named})"


def first_line(error: Exception) -> str:
    """What went wrong, without the details that databases add."""
    text = " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
    return next(iter(text.splitlines()), type(error).__name__)
