"""Administration page of tool servers: connection, offered tools, and the tools that models may call."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from conversations.admin.tool_server_form import ToolServerForm
from conversations.agents.tools.mcp import inspection
from conversations.agents.tools.mcp.inspection import Seen
from conversations.llm.tools import ToolFailed
from conversations.models import ToolServer

logger = logging.getLogger(__name__)

MAX_INSPECTED_AT_ONCE = 10
"""The most servers that one action inspects."""
MAX_NAMED = 20
"""The most tools named in a message."""
SUPERUSERS = _(
    "Only superusers set one up. A program on this machine runs with the rights of this site: it is set up by "
    "<code>python manage.py add_stdio_tool</code>, and here it can be looked at, allowed and switched off."
)


@admin.register(ToolServer)
class ToolServerAdmin(admin.ModelAdmin):
    """A tool server. A form with `_look` is saved, then the server is asked for its tools.

    Models get the descriptions of that inspection, even if the server says others later.
    """

    form = ToolServerForm
    save_on_top = True
    list_display = ["name", "transport", "offered", "enabled", "looked_at"]
    list_filter = ["transport", "enabled"]
    actions = ["look"]
    readonly_fields = ["looked_at"]
    fieldsets = [
        (None, {"fields": ["name", "enabled", "transport"], "description": SUPERUSERS}),
        (_("A program on this machine"), {"fields": ["command", "environment"]}),
        (_("An address"), {"fields": ["url", "headers"]}),
        (_("Limits"), {"fields": ["timeout_seconds", "max_characters"]}),
        (_("Tools"), {"fields": ["looked_at", "allowed", "seen"]}),
        (_("Secrets"), {"fields": ["forget"], "classes": ["collapse"]}),
    ]

    @admin.display(description=_("Tools that models may call"))
    def offered(self, server: ToolServer) -> str:
        names = {tool["name"] for tool in server.tools}
        kept = len(names & set(server.allowed))
        return gettext("%(kept)s of %(found)s") % {"kept": kept, "found": len(names)}

    @admin.action(description=_("List the tools that they offer"), permissions=["change"])
    def look(self, request: HttpRequest, servers: QuerySet[ToolServer]) -> None:
        self._look(request, list(servers[:MAX_INSPECTED_AT_ONCE]))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return _is_superuser(request)

    def has_view_permission(self, request: HttpRequest, obj: ToolServer | None = None) -> bool:
        return _is_superuser(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return _is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: ToolServer | None = None) -> bool:
        return _is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: ToolServer | None = None) -> bool:
        return _is_superuser(request)

    def response_add(self, request: HttpRequest, obj: ToolServer, *args: Any) -> HttpResponse:
        return self._to_look(request, obj) or super().response_add(request, obj, *args)

    def response_change(self, request: HttpRequest, obj: ToolServer) -> HttpResponse:
        return self._to_look(request, obj) or super().response_change(request, obj)

    def _to_look(self, request: HttpRequest, server: ToolServer) -> HttpResponse | None:
        if "_look" not in request.POST:
            return None
        # Inspect after the commit, so that no transaction stays open while a server answers.
        transaction.on_commit(partial(self._look, request, [server]))
        return redirect("admin:conversations_toolserver_change", server.pk)

    def _look(self, request: HttpRequest, servers: Sequence[ToolServer]) -> None:
        for server in servers:
            try:
                seen = inspection.look_at(server)
            except ToolFailed as failure:
                self.message_user(request, str(failure), messages.ERROR)
                logger.info("tool server looked at", extra={"tool_server": server.name, "status": "failed"})
            else:
                has_doubts = bool(seen.refused or seen.withdrawn)
                self.message_user(
                    request, inspection_notice(server, seen), messages.WARNING if has_doubts else messages.SUCCESS
                )
                logger.info("tool server looked at", extra={"tool_server": server.name, "status": "answered"})


def inspection_notice(server: ToolServer, seen: Seen) -> SafeString:
    """The result of an inspection, in words."""
    number = len(seen.names)
    offers = ngettext("offers %(number)s tool: %(names)s.", "offers %(number)s tools: %(names)s.", number)
    if not number:
        offers = gettext("offers no tool that models can call.")
    parts = [offers % {"number": number, "names": _name_list(seen.names)}]
    for words, names in (
        (gettext("No longer allowed, because their descriptions changed: %(names)s."), seen.withdrawn),
        (gettext("No longer there: %(names)s."), seen.gone),
        (gettext("Cannot be offered: %(names)s."), [f"{name} ({why})" for name, why in seen.refused.items()]),
    ):
        if names:
            parts.append(words % {"names": _name_list(names)})
    return format_html("<b>{}</b> {}", server.name, " ".join(parts))


def _name_list(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMED
    named = ", ".join(names[:MAX_NAMED])
    return gettext("%(names)s and %(more)s more") % {"names": named, "more": more} if more > 0 else named


def _is_superuser(request: HttpRequest) -> bool:
    return request.user.is_active and bool(getattr(request.user, "is_superuser", False))
