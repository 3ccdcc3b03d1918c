"""A person's keys of programs, among their settings."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from conversations import api_keys
from conversations.errors import Refused
from conversations.page.views.guard import Request, member
from conversations.page.views.preferences import page, section


@member
@never_cache
@require_POST
def make_key(request: Request) -> HttpResponse:
    """The key is in this answer and nowhere else: no address, no session and no later page has it."""
    name = request.POST.get("name", "")
    try:
        made = api_keys.create_key(request.user, name)
    except Refused as refusal:
        return _shown(request, status=refusal.status, refusal=refusal, name=name)
    return _shown(request, made=made)


@member
@never_cache
@require_POST
def revoke_key(request: Request, key_id: int) -> HttpResponse:
    key = api_keys.revoke_key(request.user, key_id)
    if not request.htmx:
        return redirect("settings")
    return _shown(request, said=f"“{key.name}” lets nobody in any more.")


def _shown(request: Request, *, status: int = 200, **more: Any) -> HttpResponse:
    """The section of keys for htmx, else the whole page."""
    if request.htmx:
        return section(request, "keys", status=status, **more)
    return page(request, status=status, **more)
