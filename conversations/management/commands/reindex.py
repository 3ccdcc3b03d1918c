from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from conversations.messages import index


class Command(BaseCommand):
    help = "Make the full-text index of all messages anew. The site may go on serving meanwhile."

    def handle(self, *args: Any, **options: Any) -> None:
        index.rebuild()
        batches = 1
        while not index.fill():
            batches += 1
        while index.catch_up(most=100_000, seconds=60):
            pass
        self.stdout.write(f"Indexed {index.count():,} messages.")
