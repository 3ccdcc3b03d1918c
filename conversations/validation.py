"""What text from outside may hold, whatever way it comes in."""

from __future__ import annotations

from conversations.errors import Invalid

MAX_CONTENT = 200_000
"""Characters of one message."""


def clean_text(field: str, value: object, *, limit: int = MAX_CONTENT, allow_blank: bool = False) -> str:
    """`value`, unchanged, if it is text that can be stored, shown and sent.

    `limit` is in characters. Raises Invalid, whose message and detail name `field`.
    """
    if not isinstance(value, str):
        raise Invalid(f"{field}: must be text.", field=field)
    if len(value) > limit:
        raise Invalid(f"{field}: at most {limit:,} characters, not {len(value):,}.", field=field, limit=limit)
    if "\0" in value:
        raise Invalid(f"{field}: must not contain a NUL character.", field=field)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Invalid(f"{field}: contains half a character (a lone surrogate).", field=field) from None
    if not allow_blank and not value.strip():
        raise Invalid(f"{field}: must not be empty.", field=field)
    return value
