"""The guard of every view: requires sign-in, and turns refusals into responses."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ObjectNotUpdated
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render, resolve_url
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect, reswap, retarget
from django_htmx.middleware import HtmxDetails

from conversations.errors import Refused, headers_of
from conversations.models import Conversation, Message
from conversations.runtime.database import refusal_of

View = Callable[..., HttpResponseBase]


class Request(HttpRequest):
    """The request of a signed-in person as views receive it; `htmx` says whether htmx sent it."""

    htmx: HtmxDetails
    user: AbstractBaseUser  # type: ignore[assignment]


def member(view: View) -> View:
    """Decorate a view: it requires sign-in, and a Refused error becomes a sentence on the page.

    So does the error of a database that is busy or cannot be written, if a form was sent.
    """

    @wraps(view)
    def guarded(request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return sign_in(request)
        try:
            return view(request, *args, **kwargs)
        except Refused as refusal:
            return refused(request, refusal)
        except (ObjectNotUpdated, Conversation.DoesNotExist, Message.DoesNotExist):  # deleted during the change
            raise Http404("It was deleted meanwhile.") from None
        except DatabaseError as fault:
            # Parts that the page reads by itself are asked for again by its scripts, without a word.
            if request.method == "POST" and (known := refusal_of(fault)):
                return refused(request, known)
            raise

    return guarded


def sign_in(request: Request) -> HttpResponse:
    """Redirect the whole page to the sign-in, which then leads back, also for an htmx request."""
    if request.htmx:
        return HttpResponseClientRedirect(redirect_to_login(requesting_page(request) or resolve_url("home")).url)
    return redirect_to_login(request.get_full_path() if request.method == "GET" else reverse("home"))


def requesting_page(request: Request) -> str:
    """The path and query of the page that sent an htmx request; "" where the header names none of this site."""
    try:
        return request.htmx.current_url_abs_path or ""
    except ValueError:  # not a URL
        return ""


def refused(request: Request, refusal: Refused) -> HttpResponse:
    """The refusal's reason as an error page, or for htmx in the alert line, which leaves the draft as it is."""
    template = "conversations/shared/_alert.html" if request.htmx else "error.html"
    response = render(request, template, {"message": refusal.without_field}, status=refusal.status)
    for name, value in headers_of(refusal).items():
        response[name] = value
    return reswap(retarget(response, "#alert"), "innerHTML") if request.htmx else response
