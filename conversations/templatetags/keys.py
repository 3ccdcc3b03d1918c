"""The template filter for the time since an API key was last used."""

from __future__ import annotations

from datetime import datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

register = template.Library()

JUST_NOW = timedelta(minutes=2)
"""The age up to which a use counts as "just now"; a key's use is recorded once a minute."""


@register.filter
def ago(moment: datetime) -> str:
    if timezone.now() - moment < JUST_NOW:
        return _("just now")
    return _("%(time)s ago") % {"time": timesince(moment, depth=1)}
