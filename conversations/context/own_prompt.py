"""A person's own instructions, whatever way they come in: by the page, the API or a file."""

from __future__ import annotations

from conversations.models.conversation import MAX_SYSTEM_PROMPT_CHARS
from conversations.validation import clean_text


def clean_system_prompt(text: object, *, field: str = "system_prompt") -> str:
    """Without what surrounds it, so that an empty one is empty, and with line breaks as they are here.

    Raises Invalid, naming the field.
    """
    cleaned = clean_text(field, text, limit=MAX_SYSTEM_PROMPT_CHARS, allow_blank=True)
    return cleaned.replace("\r\n", "\n").strip()
