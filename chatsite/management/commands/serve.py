"""The whole site in one process: migrations, then web and background work, until Ctrl-C."""

from __future__ import annotations

import signal
import socket
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from chatsite.single_server import CannotStart, only_server
from chatsite.startup_checks import is_migrated, require_database, require_known_schema, require_settings

BACKLOG = 1_024
"""Connections that may wait to be accepted: after a restart, all pages come back at once."""
GRACEFUL_SECONDS = 5
"""Seconds that requests have to end when the server stops."""
STARTUP_FAILURE = 3
"""The exit code of a start that failed, as uvicorn's own."""


class Command(BaseCommand):
    help = "Serve the site: migrate the database, then answer on HOST:PORT."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)

    _invitation = ""
    requires_system_checks = ()  # printed in one line each

    def handle(self, *, host: str, port: int, **_: Any) -> None:
        try:
            require_database()
            require_settings()
            require_known_schema()
            require_free(host, port)
            with only_server():
                if not is_migrated():
                    call_command("migrate", interactive=False, verbosity=0)
            from conversations.ops import first_account

            settings.LISTENS_AT = _url(host, port)
            settings.LISTENS_ON_LOOPBACK = host in first_account.LOOPBACK
            if host not in settings.ALLOWED_HOSTS and host not in ("0.0.0.0", "::"):
                settings.ALLOWED_HOSTS.append(host)
            self._invitation = first_account.invitation(settings.LISTENS_AT)
            run(host, port, ready=lambda: self.stdout.write(self._greeting(host, port)))
        except CannotStart as other:
            raise CommandError(str(other)) from None

    def _greeting(self, host: str, port: int) -> str:
        shown = f"[{host}]" if ":" in host else host
        lines = [f"chatsite is at http://{shown}:{port}/ (Ctrl-C stops it)"]
        if (not settings.LISTENS_ON_LOOPBACK or settings.BEHIND_TLS) and self._invitation:
            lines.append(self._invitation)
        if host in ("0.0.0.0", "::"):
            lines.append(f"It answers to the names in ALLOWED_HOSTS only: {', '.join(settings.ALLOWED_HOSTS)}")
        return "\n".join(lines)


def _url(host: str, port: int) -> str:
    """The address that a person opens: the site's first name if the server listens on all addresses."""
    name = settings.ALLOWED_HOSTS[0].lstrip(".") if host in ("0.0.0.0", "::") and settings.ALLOWED_HOSTS else host
    return f"http://[{name}]:{port}" if ":" in name.strip("[]") and "[" not in name else f"http://{name}:{port}"


def require_free(host: str, port: int) -> None:
    if not 0 < port < 65_536:
        raise CannotStart(f"--port must be from 1 to 65535, not {port}.")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except socket.gaierror:
        raise CannotStart(f"--host {host} is not an address of this machine.") from None
    except OSError as error:
        raise CannotStart(f"Port {port} of {host} cannot be used ({error.strerror}). Try PORT=8001.") from None


def run(host: str, port: int, *, ready: Callable[[], object]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called once the site answers. Exits with 3 if it cannot start."""
    server = Server(ready, host, port)
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: None)  # uvicorn handles both, and sends them on to this once it has ended
    server.run()
    if not server.started:
        sys.exit(STARTUP_FAILURE)


class Server(uvicorn.Server):
    """A server of the site as `compose.yaml` starts it, which says when it answers."""

    def __init__(self, ready: Callable[[], object], host: str, port: int) -> None:
        from chatsite.servers.uvicorn import Http, Socket

        super().__init__(
            uvicorn.Config(
                "chatsite.asgi:application",
                host=host,
                port=port,
                http=Http,
                ws=Socket,
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                backlog=BACKLOG,
                timeout_graceful_shutdown=GRACEFUL_SECONDS,
            )
        )
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()
