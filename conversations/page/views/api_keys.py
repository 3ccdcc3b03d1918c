"""The settings section in which people create and revoke their API keys."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from conversations import api_keys
from conversations.errors import Invalid, Refused
from conversations.page.views.guard import Request, member
from conversations.page.views.preferences import page, section
from conversations.page.views.query_params import id_of
from conversations.projects import MAY_WRITE, get_project


@member
@never_cache
@require_POST
def make_key(request: Request) -> HttpResponse:
    """Create a key. Only this response contains it: no URL, session or later page does."""
    try:
        made = api_keys.create_key(request.user, request.POST.get("name", ""))
    except Refused as refusal:
        return _keys_page(request, status=refusal.status, refusal=refusal, form="key_form")
    return _keys_page(request, made=made)


@member
@never_cache
@require_POST
def revoke_key(request: Request, key_id: int) -> HttpResponse:
    key = api_keys.revoke_key(request.user, key_id)
    if not request.htmx:
        return redirect("settings")
    return _keys_page(request, said=_("“%(name)s” is revoked.") % {"name": key.name})


@member
@never_cache
@require_POST
def key_history(request: Request, key_id: int) -> HttpResponse:
    """Let models that answer calls of the key search compacted histories (`on` given), or not."""
    key = api_keys.let_search(request.user, key_id, on="on" in request.POST)
    if not request.htmx:
        return redirect("settings")
    if key.searches_history:
        said = _("Models that answer “%(name)s” may search compacted histories now.")
    else:
        said = _("Models that answer “%(name)s” no longer search compacted histories.")
    return _keys_page(request, said=said % {"name": key.name})


@member
@never_cache
@require_POST
def key_project(request: Request, key_id: int) -> HttpResponse:
    """Have the key's calls of the gateway belong to a project (`key_project`: its id, "" for none)."""
    project_id = id_of(request.POST, "key_project")
    project = get_project(request.user, project_id, MAY_WRITE) if project_id else None
    key = api_keys.give_project(request.user, key_id, project)
    if not request.htmx:
        return redirect("settings")
    said = (
        _("Calls with “%(name)s” follow the project %(project)s.")
        if project
        else _("Calls with “%(name)s” follow no project.")
    )
    return _keys_page(request, said=said % {"name": key.name, "project": project})


@member
@never_cache
@require_POST
def key_budget(request: Request, key_id: int) -> HttpResponse:
    """Set the key's monthly budget (`monthly_tokens`, `monthly_usd`: "" for no limit)."""
    typed = {name: request.POST.get(name, "") for name in ("monthly_tokens", "monthly_usd")}
    try:
        key = api_keys.set_budget(request.user, key_id, tokens=typed["monthly_tokens"], usd=typed["monthly_usd"])
    except Invalid as refusal:
        refused = typed | {"key": key_id, "field": refusal.detail["field"], "message": refusal.without_field}
        return _keys_page(request, status=refusal.status, refused=refused)
    if not request.htmx:
        return redirect("settings")
    return _keys_page(request, said=_("The budget of “%(name)s” is saved.") % {"name": key.name})


def _keys_page(request: Request, *, status: int = 200, **more: Any) -> HttpResponse:
    """The section of API keys for an htmx request, else the whole settings page."""
    if request.htmx:
        return section(request, "keys", status=status, **more)
    return page(request, status=status, **more)
