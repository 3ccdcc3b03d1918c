"""Gives models the present time, which they do not know."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from conversations.llm.tools import ToolFailed


def current_time(timezone: str = "UTC") -> str:
    """The time in a zone, as "Sunday, 2026-11-22 14:05:09, UTC+01:00 (Europe/Berlin)". Raises ToolFailed."""
    try:
        zone = ZoneInfo(timezone)
    except (LookupError, ValueError, OSError):
        raise ToolFailed(
            f"{timezone[:64]!r} is no time zone of the IANA database; one is 'Europe/Berlin', another 'UTC'."
        ) from None
    return f"{datetime.now(zone):%A, %Y-%m-%d %H:%M:%S, UTC%:z} ({timezone})"
