"""`manage.py create_api_key USERNAME`: create a key for a program; it is shown once."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from conversations import api_keys
from conversations.errors import Refused


class Command(BaseCommand):
    help = "Make an API key for a person and print it. Only its hash is kept: it cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help="whose conversations the key opens")
        parser.add_argument("--name", default="command line", help="what the key is for, as lists show it")

    def handle(self, *args: Any, username: str, name: str, **options: Any) -> None:
        user = get_user_model().objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"There is no user called {username!r}.")
        try:
            self.stdout.write(api_keys.create_key(user, name).plain)
        except Refused as refusal:
            raise CommandError(refusal.message) from None
