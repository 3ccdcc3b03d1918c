"""An administrator looks at what a server offers: what is seen is what models are told of from then on."""

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
    """`names` of the tools that can be offered; of those that were allowed, the `withdrawn` say something else now and
    the `gone` are not there; `refused` are names of others with the reason."""

    names: list[str]
    withdrawn: list[str]
    gone: list[str]
    refused: dict[str, str]


def look_at(server: ToolServer) -> Seen:
    """Ask the server, and store what it offers. Raises ToolFailed, and then all stays as it was.

    What says something else than before is not allowed any more: the administrator agreed to other words.
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
