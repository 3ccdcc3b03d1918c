"""Stores a person's preferences: the pages' appearance, and the settings of new conversations.

The preferences that every page needs are kept in cookies too, set on saving and at sign-in. So each page, the sign-in
page included, has its appearance from its first byte without a query.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from django.utils.translation import get_language, get_language_bidi, get_language_from_request

from conversations.llm.profiles import chat_profiles, default_profile
from conversations.models import Preference

THEME, ENTER = "chatsite_theme", "chatsite_enter"
KEPT = timedelta(days=365)
Theme = Preference.Theme


class Appearance(NamedTuple):
    """A page's appearance: a value of Theme, and whether Enter sends a message (else Ctrl+Enter does)."""

    theme: str
    enter_sends: bool


def preference_of(user: AbstractBaseUser) -> Preference:
    """A person's stored preferences, or unsaved default ones."""
    found = Preference.objects.select_related("model").filter(user_id=user.pk).first()
    return found or Preference(user_id=user.pk)


def change(user: AbstractBaseUser, **fields: Any) -> Preference:
    """Store these fields of a person's preferences; the other fields stay."""
    Preference.objects.update_or_create(user_id=user.pk, defaults=fields)
    return preference_of(user)


def begin_with(user: AbstractBaseUser) -> dict[str, Any]:
    """The fields of a person's new conversation; `model` is the site's default if theirs is not available."""
    chosen = preference_of(user)
    own = chosen.model
    is_there = own is not None and own in chat_profiles(user.pk)
    model = own if is_there else default_profile(user.pk)
    return {"model": model, "mode": chosen.mode, "system_prompt": chosen.system_prompt}


def remember[R: HttpResponse](response: R, preference: Preference) -> R:
    """Set the cookies of a person's appearance on a response, which is returned."""
    cookies = {THEME: preference.theme, ENTER: "sends" if preference.enter_sends else "breaks"}
    cookies[settings.LANGUAGE_COOKIE_NAME] = preference.language
    for name, value in cookies.items():
        if not value:
            response.delete_cookie(name)
            continue
        response.set_cookie(
            name, value, max_age=KEPT, samesite="Lax", httponly=True, secure=bool(settings.SESSION_COOKIE_SECURE)
        )
    return response


def language_of(cookies: Mapping[str, str], accepted: str) -> str:
    """The language of the pages by a browser's cookies and its Accept-Language header."""
    request = HttpRequest()
    request.COOKIES, request.META = dict(cookies), {"HTTP_ACCEPT_LANGUAGE": accepted}
    return get_language_from_request(request)


def appearance(request: HttpRequest) -> Appearance:
    """The appearance in the browser's cookies; invalid values count as missing."""
    theme = request.COOKIES.get(THEME, "")
    return Appearance(theme if theme in Theme.values else Theme.SYSTEM.value, request.COOKIES.get(ENTER) != "breaks")


def in_templates(request: HttpRequest) -> dict[str, Any]:
    """A context processor: every page has `theme`, `enter_sends`, its `language` and its `direction`, ltr or rtl."""
    direction = "rtl" if get_language_bidi() else "ltr"
    return {**appearance(request)._asdict(), "language": get_language(), "direction": direction}
