"""Turns off a person's two-step sign-in, for somebody who lost their phone and their recovery codes."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from django.core.management.base import BaseCommand, CommandError, CommandParser

from conversations.models import User


class Command(BaseCommand):
    help = "Turn off a person's two-step sign-in: their password alone signs them in."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        if not User.objects.filter(username=username).exists():
            raise CommandError(f"There is no account with the name {username}.")
        gone, _ = Authenticator.objects.filter(user__username=username).delete()
        self.stdout.write(f"Two-step sign-in of {username} {'is off' if gone else 'was off already'}.")
