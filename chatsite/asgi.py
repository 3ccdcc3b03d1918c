"""The ASGI application: routes HTTP requests, sockets and the lifespan protocol of one process."""

from __future__ import annotations

import asyncio
import gc
import os
import sys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatsite.settings")

import django
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator, WebsocketDenier
from django.core.exceptions import ImproperlyConfigured
from django.urls import path, re_path

from chatsite.startup_checks import give_up

try:
    django.setup(set_prefix=False)
except ImproperlyConfigured as error:
    give_up(error)

# These imports need the apps.
from chatsite import logs, probes
from chatsite.addresses import believe_proxy
from chatsite.admitted_requests import Admitted
from chatsite.bodies import is_sign_in
from chatsite.fair_semaphore import Requester, requester
from chatsite.gateway_handler import GATEWAY, GatewayHandler
from chatsite.handler import Handler
from chatsite.lifespan import lifespan
from chatsite.middleware import API
from chatsite.origins import same_origin
from chatsite.refusal_responses import refuse
from chatsite.request_body import Incoming
from chatsite.request_threads import Kind, request_thread
from chatsite.socket_auth import signed_in
from conversations.admission import watched
from conversations.errors import Refused
from conversations.page.consumers import ConversationConsumer
from conversations.runtime import queue

sockets = [
    path("ws/conversations/<uuid:pk>/", ConversationConsumer.as_asgi()),
    re_path("", WebsocketDenier.as_asgi()),
]
routes = ProtocolTypeRouter(
    {
        "http": Handler(),
        "websocket": AllowedHostsOriginValidator(same_origin(signed_in(URLRouter(sockets)))),
    }
)

FILES = ("/attachments", "/import")
"""The ends of paths that accept files."""
SWITCH_SECONDS = 0.001
"""A page's thread yields to others after this time, so that the loop need not wait longer for each of them."""
programs = GatewayHandler()

sys.setswitchinterval(SWITCH_SECONDS)
# Exclude all objects loaded so far from garbage collections, which stop the whole process.
gc.collect()
gc.freeze()


async def application(scope, receive, send):  # type: ignore[no-untyped-def]
    if scope["type"] == "lifespan":
        await lifespan(scope, receive, send)
        return
    loop = asyncio.get_running_loop()
    if not queue.attached_to(loop):
        queue.attach(loop)
    believe_proxy(scope)
    if scope["type"] == "http":
        with logs.request_logging(scope, send) as sending:
            await _answer(scope, receive, sending)
    else:
        await routes(scope, receive, send)


async def _answer(scope, receive, send):  # type: ignore[no-untyped-def]
    if probes.is_probe(scope):
        await probes.answer(scope, send)
        return
    path = scope["path"]
    async with request_thread(_kind_of(scope["method"], path), _requester(scope)) as thread:
        admitted = Admitted(send)
        incoming = Incoming(scope, receive, thread, admitted)
        scope["let_go"], scope["after_thread"] = thread.let_go, thread.after
        scope["admission"] = admitted.admission
        try:
            await incoming.require_size()
            answer = programs if path.startswith(GATEWAY) else routes
            with watched(admitted.admission):
                await answer(scope, incoming.receive, thread.letting_go(admitted.send))
            await admitted.end(scope)
        except Refused as refusal:
            await refuse(scope, None if incoming.is_whole else receive, send, refusal)
        finally:
            incoming.close()


def _requester(scope) -> Requester:  # type: ignore[no-untyped-def]
    return requester(scope["headers"], str((scope.get("client") or ("",))[0]))


def _kind_of(method: str, path: str) -> Kind:
    """The kind of a request, which decides in which queue it waits."""
    if is_sign_in(method, path):
        return Kind.SIGN_IN
    if method == "POST" and path.endswith(FILES):
        return Kind.FILE
    if path.startswith(GATEWAY):
        return Kind.GATEWAY
    return Kind.CALL if path.startswith(API) else Kind.PAGE
