"""Limits the failed sign-ins of an address, over all user names that it tries."""

from __future__ import annotations

from django.contrib.auth.signals import user_login_failed
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.decorators import sync_only_middleware

from chatsite.bodies import is_sign_in
from chatsite.middleware import View
from conversations import limits
from conversations.errors import TooMany


@sync_only_middleware
def limited(get_response: View) -> View:
    """Refuses sign-ins, before the password is hashed, of an address with too many failures in the present minute."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if is_sign_in(request.method or "", request.path_info):
            try:
                limits.require_sign_ins(request.META.get("REMOTE_ADDR", ""))
            except TooMany as refusal:
                return _refused(request, refusal)
        return get_response(request)

    return middleware


def _refused(request: HttpRequest, refusal: TooMany) -> HttpResponse:
    response = render(request, "error.html", {"message": refusal.message}, status=refusal.status)
    response["Retry-After"] = str(refusal.detail["retry_after"])
    return response


def _note(request: HttpRequest | None = None, **_: object) -> None:
    if request is not None:
        limits.note_sign_in(request.META.get("REMOTE_ADDR", ""))


def begin() -> None:
    """Count failed sign-ins from now on."""
    user_login_failed.connect(_note, dispatch_uid="sign-ins")
