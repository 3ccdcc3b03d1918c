"""A person's settings: the keys of programs."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import reswap, retarget

from conversations import keys
from conversations.errors import Refused
from conversations.llm.profiles import default_profile
from conversations.views.guard import Request, member
from conversations.views.sidebar import sidebar


@member
@never_cache
@require_GET
def settings(request: Request) -> HttpResponse:
    return _shown(request)


@member
@never_cache
@require_POST
def make_key(request: Request) -> HttpResponse:
    """The key is in this answer and nowhere else: no address, no session and no later page has it."""
    name = request.POST.get("name", "")
    try:
        made = keys.make(request.user, name)
    except Refused as refusal:
        return _shown(request, status=refusal.status, refusal=refusal, name=name)
    return _shown(request, made=made)


@member
@never_cache
@require_POST
def revoke_key(request: Request, key_id: int) -> HttpResponse:
    key = keys.revoke(request.user, key_id)
    if not request.htmx:
        return redirect("settings")
    return _shown(request, said=f"“{key.name}” lets nobody in any more.")


def _shown(request: Request, *, status: int = 200, **more: Any) -> HttpResponse:
    """The section of keys for htmx, else the whole page."""
    context = {"keys": keys.listed(request.user), "max_name": keys.MAX_NAME} | more
    if request.htmx:
        response = render(request, "conversations/_keys.html", context, status=status)
        return reswap(retarget(response, "#keys-section"), "outerHTML")
    profile = default_profile()
    context |= {
        "sidebar": sidebar(request.user),
        "site": request.build_absolute_uri("/").rstrip("/"),
        "model": json.dumps(profile.name if profile else "gpt-5", ensure_ascii=False),
    }
    return render(request, "conversations/settings.html", context, status=status)
