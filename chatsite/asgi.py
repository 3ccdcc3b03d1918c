"""HTTP and sockets of one process, and what it does beside them."""

from __future__ import annotations

import asyncio
import os

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
from chatsite import logs
from chatsite.handler import Handler
from chatsite.lifespan import lifespan
from chatsite.middleware import API
from chatsite.origins import same_origin
from chatsite.programs import GATEWAY, Programs
from chatsite.receiving import Incoming
from chatsite.refusals import refuse
from chatsite.signed_in import signed_in
from chatsite.threads import request_thread
from conversations import background
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


programs = Programs()


async def application(scope, receive, send):  # type: ignore[no-untyped-def]
    if scope["type"] == "lifespan":
        await lifespan(scope, receive, send)
        return
    loop = asyncio.get_running_loop()
    if not background.attached_to(loop):
        background.attach(loop)
    if scope["type"] == "http":
        with logs.of_request(scope, send) as sending:
            await _answer(scope, receive, sending)
    else:
        await routes(scope, receive, send)


async def _answer(scope, receive, send):  # type: ignore[no-untyped-def]
    async with request_thread(is_page=not scope["path"].startswith((API, GATEWAY))) as thread:
        incoming = Incoming(scope, receive, thread)
        scope["let_go"], scope["after_thread"] = thread.let_go, thread.after
        try:
            incoming.require_size()
            answer = programs if scope["path"].startswith(GATEWAY) else routes
            await answer(scope, incoming.receive, thread.letting_go(send))
        except Refused as refusal:
            await refuse(scope, None if incoming.is_whole else receive, send, refusal)
        finally:
            incoming.close()
