"""Expiry of leases: a worker that does not renew its lease in time loses its work to another."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import timezone

from compression.defaults import setting

BEATS = 4
"""Renewals per lease duration, so that a lease survives some that fail or come late."""


def expiry() -> datetime:
    """The end of a lease that is taken or renewed now."""
    return timezone.now() + timedelta(seconds=setting("LEASE_SECONDS"))


def beat_seconds() -> float:
    """Seconds between two renewals of a lease."""
    return float(setting("LEASE_SECONDS")) / BEATS
