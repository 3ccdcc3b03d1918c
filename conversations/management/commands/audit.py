"""`manage.py audit`: the audit log as lines of JSON, the earliest first."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from conversations.models import AuditEntry


class Command(BaseCommand):
    help = "Print the audit log as lines of JSON, the earliest first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--since", default="", help="the first day, in UTC, such as 2026-11-01")

    def handle(self, *args: Any, since: str, **options: Any) -> None:
        rows = AuditEntry.objects.order_by("id")
        if since:
            try:
                rows = rows.filter(created_at__gte=datetime.fromisoformat(since).replace(tzinfo=UTC))
            except ValueError:
                raise CommandError(f"--since must be a day such as 2026-11-01, not {since}.") from None
        columns = ("id", "created_at", "action", "person_id", "person_name", "subject", "address")
        for row in rows.values(*columns).iterator():
            self.stdout.write(json.dumps(row, default=str))
