"""The models of this site as Anthropic's API lists them."""

from __future__ import annotations

from collections.abc import Sequence

from conversations.gateway.protocol import Json
from conversations.models import ModelProfile

VERSION = "anthropic-version"
"""The header by which a client says that it speaks Anthropic's API."""
BEGINNING = "1970-01-01T00:00:00Z"
"""The date of every model: when it was published is not known here."""


UNKNOWN = ("capabilities", "deprecated_at", "line", "retires_at")
"""Fields of Anthropic's own models."""


def listed(profiles: Sequence[ModelProfile]) -> Json:
    """All on one page."""
    data = [described(profile) for profile in profiles]
    ids = [model["id"] for model in data]
    return {"data": data, "has_more": False, "first_id": next(iter(ids), None), "last_id": next(reversed(ids), None)}


def described(profile: ModelProfile) -> Json:
    return {
        "type": "model",
        "id": profile.name,
        "display_name": profile.name,
        "created_at": BEGINNING,
        "lifecycle": "active",
        "max_input_tokens": profile.usable_window.size,
        "max_tokens": profile.max_reply_tokens,
        **dict.fromkeys(UNKNOWN),
    }
