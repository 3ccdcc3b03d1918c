"""Cleans a person's own system prompt, whether it comes from the page, the API or a file."""

from __future__ import annotations

from conversations.models.conversation import MAX_SYSTEM_PROMPT_CHARS
from conversations.validation import clean_text


def clean_system_prompt(text: object, *, field: str = "system_prompt") -> str:
    """The system prompt without surrounding whitespace, its line breaks as \\n. Raises Invalid, naming the field."""
    cleaned = clean_text(field, text, limit=MAX_SYSTEM_PROMPT_CHARS, allow_blank=True)
    return cleaned.replace("\r\n", "\n").strip()
