"""When something was used, as lists say it."""

from __future__ import annotations

from datetime import datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.timesince import timesince

register = template.Library()

NOW = timedelta(minutes=2)
"""The use of a key is noted once a minute."""


@register.filter
def ago(moment: datetime) -> str:
    return "just now" if timezone.now() - moment < NOW else f"{timesince(moment, depth=1)} ago"
