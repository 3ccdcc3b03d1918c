"""The site with one more address, where a test has it tell a conversation as much as no model would.

`python -m tests.faults.loud serve …`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any
from uuid import UUID

from chatsite import asgi
from conversations.runtime.events import hub, publish

PATH = "/loud/"
PIECE = 40_000

site = asgi.application


async def application(scope: Any, receive: Any, send: Any) -> None:
    """/loud/{conversation}/{megabytes} tells that much; /loud/{conversation}/0 only how many listen."""
    if scope["type"] != "http" or not scope["path"].startswith(PATH):
        await site(scope, receive, send)
        return
    id, megabytes = scope["path"].removeprefix(PATH).split("/")
    for _ in range(int(megabytes) * 1_000_000 // PIECE):
        publish(UUID(id), "message.delta", id=id, text="x" * PIECE, at=0)
        await asyncio.sleep(0.001)
    body = json.dumps({"listeners": len(hub.listeners.get(UUID(id), ()))}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


if __name__ == "__main__":
    from django.core.management import execute_from_command_line

    asgi.application = application
    execute_from_command_line(sys.argv)
