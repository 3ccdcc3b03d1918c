"""The whole site in one process: migrations, then web and background work, until Ctrl-C."""

from __future__ import annotations

import socket
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from chatsite.servers.spared import spared
from chatsite.single_server import CannotStart, only_server
from chatsite.startup_checks import is_migrated, require_database, require_settings

BACKLOG = 1_024
"""Connections that may wait to be accepted: all pages come back at once where the server was away."""


class Command(BaseCommand):
    help = "Serve the site: migrate the database, then answer on HOST:PORT."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)

    _invitation = ""
    requires_system_checks = ()  # told in one line each

    def handle(self, *, host: str, port: int, **_: Any) -> None:
        try:
            require_database()
            require_settings()
            require_free(host, port)
            with only_server() as alone:
                if not is_migrated():
                    call_command("migrate", interactive=False, verbosity=0)
                from conversations.ops import first_account, maintenance

                maintenance.begin(alone=alone)
                settings.LISTENS_ON_LOOPBACK = host in first_account.LOOPBACK
                if host not in settings.ALLOWED_HOSTS and host not in ("0.0.0.0", "::"):
                    settings.ALLOWED_HOSTS.append(host)
                self._invitation = first_account.invitation(_url(host, port))
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


def run(host: str, port: int, *, ready: Any) -> None:
    with spared():
        # It takes the reactor of whoever imports it first: daphne comes before everything else that serves.
        from daphne.server import twisted_loop
    from twisted.internet import defer, reactor

    from chatsite.asgi import application
    from chatsite.servers.daphne import Server
    from conversations.ops.process import Process

    process: list[Process] = []
    twisted_loop.call_soon(lambda: process.append(Process(twisted_loop)))

    async def stop() -> None:
        try:
            await process[0].stop()
        finally:
            await server.close()

    def stopped() -> Any:
        return defer.Deferred.fromFuture(twisted_loop.create_task(stop()))

    reactor.addSystemEventTrigger("before", "shutdown", stopped)  # type: ignore[arg-type]
    interface = host.replace(":", "\\:")
    server = Server(
        application,
        endpoints=[f"tcp:port={port}:interface={interface}:backlog={BACKLOG}"],
        ready_callable=ready,
        server_name="chatsite",
    )
    server.run()
