from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from conversations.memory import message_index


class Command(BaseCommand):
    help = "Make the full-text index of all messages anew. The site may go on serving meanwhile."

    def handle(self, *args: Any, **options: Any) -> None:
        message_index.rebuild()
        batches = 1
        while not message_index.fill():
            batches += 1
        while message_index.catch_up(most=100_000, seconds=60):
            pass
        self.stdout.write(f"Indexed {message_index.count():,} messages.")
