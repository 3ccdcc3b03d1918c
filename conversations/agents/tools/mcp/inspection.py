"""Inspects a server for an administrator: the definitions stored then are those that models are offered."""

from __future__ import annotations

from dataclasses import dataclass

from asgiref.sync import async_to_sync
from django.db import transaction
from django.utils import timezone

from conversations.agents.tools.mcp.definitions import changed
from conversations.agents.tools.mcp.sessions import definitions
from conversations.models import ToolServer


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of an inspection.

    `names` are the tools that can be offered. Of the allowed tools, `withdrawn` have a changed definition and `gone`
    do not exist any more. `refused` maps the names of the other tools to the reasons.
    """

    names: list[str]
    withdrawn: list[str]
    gone: list[str]
    refused: dict[str, str]


def look_at(server: ToolServer) -> Seen:
    """Ask the server for its tools and store them. Raises ToolFailed; nothing is changed then.

    A tool with a changed definition is not allowed any more, as the administrator agreed to the old definition.
    """
    found = async_to_sync(definitions)(server)
    with transaction.atomic():
        row = ToolServer.objects.select_for_update().get(pk=server.pk)
        before = list(row.allowed)
        names = [tool["name"] for tool in found.tools]
        withdrawn = changed(row.tools, found.tools)
        row.tools, row.looked_at = found.tools, timezone.now()
        row.allowed = [name for name in before if name in names and name not in withdrawn]
        row.save(update_fields=["tools", "allowed", "looked_at"])
    return Seen(
        names=names,
        withdrawn=[name for name in before if name in withdrawn],
        gone=[name for name in before if name not in names],
        refused=found.refused,
    )
