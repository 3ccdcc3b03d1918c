"""Search results, in place of the conversation list or on a page of their own."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from conversations.messages import search as searching
from conversations.page.views.guard import Request, member
from conversations.page.views.sidebar import sidebar


@member
@never_cache
@require_GET
def search(request: Request) -> HttpResponse:
    """The hits of the query `q`; with `after`, only the next page of hits."""
    query, after = request.GET.get("q", ""), request.GET.get("after") or None
    context = {"query": query, "found": searching.find_hits(request.user, query, after=after)}
    if request.htmx:
        return render(request, f"conversations/list/{'_hits' if after else '_found'}.html", context)
    return render(request, "conversations/list/search.html", context | {"sidebar": sidebar(request.user)})
