"""Middleware that refuses input of the administration's pages that no database can read."""

from __future__ import annotations

from typing import Any

from django.db import DataError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _

ADMIN = "/admin/"
MAX_SEARCH = 200
"""Characters. SQLite refuses a condition with a thousand words, and a pattern of 50,000 bytes."""


class InputLimits(MiddlewareMixin):
    """Answers 400 to a long search and to a number beyond 64 bits, where Django's pages would fail."""

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        if request.path_info.startswith(ADMIN) and len(request.GET.get("q", "")) > MAX_SEARCH:
            return _refused(request, _("Search for at most %(limit)s characters.") % {"limit": MAX_SEARCH})
        return None

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if request.path_info.startswith(ADMIN) and isinstance(exception, (OverflowError, DataError)):
            return _refused(request, _("A number in the address or in the form is too large."))
        return None


def _refused(request: HttpRequest, message: str) -> HttpResponse:
    return render(request, "error.html", {"message": message}, status=400)
