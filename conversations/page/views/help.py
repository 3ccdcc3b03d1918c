"""The list of keyboard shortcuts, as a sheet over the page or a page of its own."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from conversations.page.views.guard import Request, member
from conversations.page.views.sidebar import sidebar


@member
@require_GET
def keyboard(request: Request) -> HttpResponse:
    if request.htmx:
        return render(request, "conversations/composer/_help.html")
    return render(request, "conversations/composer/help.html", {"sidebar": sidebar(request.user)})
