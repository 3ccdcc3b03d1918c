"""The time, which models do not know."""

from __future__ import annotations

from conversations.agents.tools.spec import ToolFailed, spec

SPEC = spec(
    "current_time",
    "The date and time now, with the day of the week, in a time zone of the IANA database.",
    timezone={"type": "string", "default": "UTC", "maxLength": 64},
)


def current_time(timezone: str = "UTC") -> str:
    """Raises ToolFailed."""
    raise ToolFailed("not there yet")
