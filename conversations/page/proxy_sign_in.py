"""Signs in the person whom a trusted proxy names in TRUSTED_USER_HEADER."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth import login
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.decorators import sync_only_middleware
from django.utils.translation import gettext as _

from conversations.models import User

View = Callable[[HttpRequest], HttpResponseBase]
BACKEND = "django.contrib.auth.backends.ModelBackend"


@sync_only_middleware
def signed_in_by_proxy(get_response: View) -> View:
    """Gives a request of the proxy the person that its header names, or nobody; other requests stay as they are."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        name = getattr(request, "scope", {}).get("proxy_user")
        if name is not None:
            name = User.normalize_username(name)
        if name is None or (name and request.user.get_username() == name):
            return get_response(request)
        request.user = AnonymousUser()
        if name and User.objects.filter(is_superuser=True).exists():  # before that, somebody has to set up the site
            user = _account(name)
            if user is None:
                return _refused(request, _("There can be no account with the name that the proxy sent."))
            if not user.is_active:
                return _refused(request, _("This account is disabled."))
            login(request, user, backend=BACKEND)
        return get_response(request)

    return middleware


def _account(name: str) -> User | None:
    """The account with this name, made at the first visit; None for a name that no account may have."""
    if user := User.objects.filter(username=name).first():
        return user
    user = User(username=name)
    user.set_unusable_password()
    try:
        user.clean_fields(exclude=["password"])
    except ValidationError:
        return None
    return User.objects.get_or_create(username=name, defaults={"password": user.password})[0]


def _refused(request: HttpRequest, message: str) -> HttpResponse:
    return render(request, "error.html", {"message": message}, status=403)
