"""How long a worker may be silent before its work is given to another."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

BEATS = 4
"""Renewals in the time of one lease: some may fail, or come late, before it is lost."""


def expiry() -> datetime:
    """When a lease ends that is taken or renewed now."""
    return timezone.now() + timedelta(seconds=settings.LEASE_SECONDS)


def beat_seconds() -> float:
    return float(settings.LEASE_SECONDS) / BEATS
