"""Saved prompts: the menu behind a slash in the composer, and the section of the settings that keeps them."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from conversations import saved_prompts
from conversations.errors import Refused
from conversations.page.views.guard import Request, member
from conversations.page.views.preferences import section


@member
@never_cache
@require_GET
def menu(request: Request) -> HttpResponse:
    """The commands and the person's prompts."""
    return render(request, "conversations/composer/_slash.html", {"prompts": saved_prompts.prompts_of(request.user)})


@member
@require_POST
def save(request: Request, prompt_id: UUID | None = None) -> HttpResponse:
    """Store a new prompt, or other words for the one with the id."""
    try:
        prompt = saved_prompts.save(
            request.user, request.POST.get("prompt_name", ""), request.POST.get("prompt_text", ""), prompt_id=prompt_id
        )
    except Refused as refusal:
        return section(request, "prompts", status=refusal.status, refusal=refusal, form="prompt_forms")
    return section(request, "prompts", said=_("“%(name)s” is saved.") % {"name": prompt.name})


@member
@require_POST
def delete(request: Request, prompt_id: UUID) -> HttpResponse:
    saved_prompts.delete(request.user, prompt_id)
    return section(request, "prompts", said=_("Deleted."))
