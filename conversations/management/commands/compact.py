"""`manage.py compact ID`: compact one conversation now, in this process."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from compression.core.values import Steering
from compression.models import Compaction
from conversations.compaction import compaction, lease
from conversations.errors import Conflict
from conversations.models import Conversation


class Command(BaseCommand):
    help = "Compact a conversation now; what came of it is printed, and is a row like any other."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("id", type=UUID, help="the conversation's id")
        parser.add_argument("--instructions", default="", help="what the summary should mind")

    def handle(self, *args: Any, id: UUID, instructions: str, **options: Any) -> None:
        if not Conversation.objects.filter(pk=id).exists():
            raise CommandError(f"There is no conversation {id}.")
        try:
            row = lease.claim(
                id, trigger=Compaction.Trigger.MANUAL, steering=Steering(instructions=instructions, quality="standard")
            )
        except Conflict as busy:
            raise CommandError(busy.message) from None
        asyncio.run(compaction.run(row.pk))
        row.refresh_from_db()
        if row.status != Compaction.Status.SUCCEEDED:
            raise CommandError(f"{row.status}: {row.error}")
        self.stdout.write(
            f"{row.messages_condensed} messages by {row.summariser}: {row.before:,} to {row.after:,} tokens, "
            f"{row.facts_kept} of {row.facts_found} facts kept, {row.duration_ms:,} ms"
        )
