"""`manage.py compactions ID`: the compactions of one conversation, newest first."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from compression.models import Compaction
from conversations.models import Conversation


class Command(BaseCommand):
    help = "List the compactions of a conversation, newest first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("id", type=UUID, help="the conversation's id")

    def handle(self, *args: Any, id: UUID, **options: Any) -> None:
        if not Conversation.objects.filter(pk=id).exists():
            raise CommandError(f"There is no conversation {id}.")
        rows = Compaction.objects.filter(conversation_id=id).order_by("-created_at", "-id")
        if not rows:
            self.stdout.write("It has not been compacted yet.")
        for row in rows:
            self.stdout.write(_line(row))


def _line(row: Compaction) -> str:
    start = f"{row.created_at:%Y-%m-%d %H:%M:%S}  {row.trigger:<9} {row.status:<10}"
    if row.after is None:
        return f"{start} {row.error}".rstrip()
    return (
        f"{start} {row.messages_condensed} messages, {row.before:,} to {row.after:,} tokens "
        f"(what was compacted {row.reduction_percent} % shorter), {row.summariser}"
    )
