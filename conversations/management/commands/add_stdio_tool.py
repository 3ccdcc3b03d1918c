"""`manage.py add_stdio_tool`: adds a tool server that is a program on this machine; whoever runs commands may run
programs.
"""

from __future__ import annotations

import shlex
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from conversations.agents.tools.mcp.environment import pairs
from conversations.models import ToolServer


class Command(BaseCommand):
    help = "Set up a program on this machine as a server of tools, or set up anew the one of that name."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="models see it before the name of each tool: small letters, digits, - and _")
        parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="once for each variable")
        parser.add_argument("command", nargs="+", help="after --: the program and its arguments; no shell reads it")

    def handle(self, *, name: str, env: list[str], command: list[str], **_: Any) -> None:
        server = ToolServer.objects.filter(name=name).first() or ToolServer(name=name)
        is_new = server.pk is None
        server.transport, server.command = ToolServer.Transport.STDIO, shlex.join(command)
        server.environment = "\n".join(env)
        # Another program may offer other tools under the same names: nobody has read those.
        server.allowed, server.tools, server.looked_at = [], [], None
        try:
            pairs(server.environment)
            if "__" in name or name.endswith("_"):
                raise ValidationError({"name": "Without __ and not with _ at its end."})
            server.full_clean()
        except ValidationError as error:
            field, complaints = next(iter(error.message_dict.items()))
            raise CommandError(f"{field}: {complaints[0]}") from None
        except ValueError as error:
            raise CommandError(f"env: {error}") from None
        server.save()
        outcome = "is set up" if is_new else "is set up anew"
        self.stdout.write(f"{name} {outcome}. Look what it offers, and allow it, in the administration: Tool servers.")
