"""Tasks reach those who do them, with a broker and without; one module knows which it is."""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async

from conversations.ops import health
from conversations.runtime import queue
from conversations.runtime.queue import Backend, Broker, Embedded, Immediate

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
MAY_ASK = {
    "chatsite/celery.py": "its address",
    "conversations/checks.py": "whether the address is one",
    "conversations/runtime/queue.py": "which backend",
}


def test_no_other_module_asks_whether_there_is_a_broker() -> None:
    asked = {
        str(path.relative_to(ROOT))
        for room in ("chatsite", "conversations", "compression")
        for path in sorted((ROOT / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "CELERY_BROKER_URL"
    }
    assert asked == set(MAY_ASK)


@pytest.mark.parametrize(("address", "kind"), [("", Immediate), ("redis://nowhere:1/0", Broker)])
def test_the_backend_follows_the_setting(settings: object, address: str, kind: type[Backend]) -> None:
    settings.CELERY_BROKER_URL = address  # type: ignore[attr-defined]
    assert type(queue.backend()) is kind
    assert queue.is_here() == (kind is not Broker)
    assert (health._worker() == health.NOT_USED) == queue.is_here()


async def test_a_server_does_its_tasks_itself_unless_there_is_a_broker(settings: object) -> None:
    server = queue.attach(asyncio.get_running_loop())
    try:
        assert queue.backend() is server and isinstance(server, Embedded)
        settings.CELERY_BROKER_URL = "redis://nowhere:1/0"  # type: ignore[attr-defined]
        assert isinstance(queue.backend(), Broker)
    finally:
        queue.attach(None)


@pytest.mark.parametrize("is_served", [False, True])
async def test_a_task_that_breaks_is_logged_and_breaks_no_caller(
    is_served: bool, caplog: pytest.LogCaptureFixture
) -> None:
    server = queue.attach(asyncio.get_running_loop()) if is_served else None
    try:
        await sync_to_async(queue.backend().enqueue)("no_such_task")
        while server and not caplog.records:
            await asyncio.sleep(0)
    finally:
        queue.attach(None)
    assert [record.msg % record.args for record in caplog.records] == ["task no_such_task failed"]
