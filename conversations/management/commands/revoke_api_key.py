"""`manage.py revoke_api_key cs_AbCd`: revoke the key with this beginning."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from conversations import api_keys
from conversations.models import ApiKey


class Command(BaseCommand):
    help = "Revoke an API key, by its beginning as lists show it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("hint", help="its first characters: cs_ and four more")

    def handle(self, *args: Any, hint: str, **options: Any) -> None:
        found = list(ApiKey.objects.select_related("user").filter(hint=hint.rstrip("…"), revoked_at=None))
        if len(found) != 1:
            raise CommandError(f"{len(found) or 'No'} keys in use begin with {hint}.")
        key = api_keys.revoke_key(found[0].user, found[0].pk)
        self.stdout.write(f"The key {key.name!r} of {key.user.get_username()} is revoked.")
