"""HTTP and sockets of one process, and what it does beside them."""

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

from chatsite.start import give_up

try:
    django.setup(set_prefix=False)
except ImproperlyConfigured as error:
    give_up(error)

# These need the apps.
from chatsite import logs, probes
from chatsite.addresses import believe_proxy
from chatsite.admitted import Admitted
from chatsite.bodies import is_sign_in
from chatsite.handler import Handler
from chatsite.lifespan import lifespan
from chatsite.middleware import API
from chatsite.origins import same_origin
from chatsite.programs import GATEWAY, Programs
from chatsite.receiving import Incoming
from chatsite.refusals import refuse
from chatsite.signed_in import signed_in
from chatsite.threads import Kind, request_thread
from conversations import background
from conversations.admission import watched
from conversations.consumers import ConversationConsumer
from conversations.errors import Refused

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
"""Where files come in."""
SWITCH_SECONDS = 0.001
"""After which a thread that makes a page lets others go on: the loop waits for every one of them in turn."""
programs = Programs()

sys.setswitchinterval(SWITCH_SECONDS)
# What is loaded by now stays: no collection of garbage looks at it again, while everything waits.
gc.collect()
gc.freeze()


async def application(scope, receive, send):  # type: ignore[no-untyped-def]
    if scope["type"] == "lifespan":
        await lifespan(scope, receive, send)
        return
    loop = asyncio.get_running_loop()
    if not background.attached_to(loop):
        background.attach(loop)
    believe_proxy(scope)
    if scope["type"] == "http":
        with logs.of_request(scope, send) as sending:
            await _answer(scope, receive, sending)
    else:
        await routes(scope, receive, send)


async def _answer(scope, receive, send):  # type: ignore[no-untyped-def]
    if probes.is_probe(scope):
        await probes.answer(scope, send)
        return
    path = scope["path"]
    async with request_thread(_kind_of(scope["method"], path)) as thread:
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


def _kind_of(method: str, path: str) -> Kind:
    """Which places a request waits for."""
    if is_sign_in(method, path):
        return Kind.SIGN_IN
    if method == "POST" and path.endswith(FILES):
        return Kind.FILE
    return Kind.CALL if path.startswith((API, GATEWAY)) else Kind.PAGE
