"""The sections of the administration, in the order of its sidebar."""

from __future__ import annotations

from dataclasses import dataclass

from django import template
from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

register = template.Library()


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    icon: str
    address: str
    is_current: bool


SECTIONS = (
    (gettext_noop("Overview"), "overview", "overview", ""),
    (gettext_noop("People"), "people", "admin:conversations_user_changelist", "conversations.User"),
    (gettext_noop("Models"), "models", "admin:conversations_modelprofile_changelist", "conversations.ModelProfile"),
    (gettext_noop("Tools"), "tools", "admin:conversations_toolserver_changelist", "conversations.ToolServer"),
    (
        gettext_noop("Conversations"),
        "conversations",
        "admin:conversations_conversation_changelist",
        "conversations.Conversation",
    ),
    (gettext_noop("Compactions"), "compactions", "admin:compression_compaction_changelist", "compression.Compaction"),
    (gettext_noop("Analytics"), "analytics", "analytics", "compression.Compaction"),
    (gettext_noop("Site"), "site", "admin_site", ""),
)
"""The name, the icon and the address of each section, and the model that one must be allowed to view; "": none."""


def may_view(request: HttpRequest, model: str) -> bool:
    """Whether the person may view the rows of a model in the administration."""
    return not model or admin.site.get_model_admin(apps.get_model(model)).has_view_permission(request)


@register.filter
def admin_sections(request: HttpRequest) -> list[Section]:
    """The sections that the person may see. The current one is that of the page, else Site."""
    allowed = [(_(name), icon, reverse(address)) for name, icon, address, model in SECTIONS if may_view(request, model)]
    overview, rest, path = reverse("overview"), reverse("admin_site"), request.path
    if path.startswith(reverse("admin:conversations_invitation_changelist")):
        path = reverse("admin:conversations_user_changelist")
    here = next((address for *_rest, address in allowed if address != overview and path.startswith(address)), rest)
    here = overview if path == overview else here
    return [Section(name, icon, address, address == here) for name, icon, address in allowed]
