"""Workers: `celery -A chatsite worker` does what web processes ask for, `celery -A chatsite beat` is the clock.

A message only wakes a worker up: what there is to do, and who is at it, is in the database. Each worker has one loop,
on which its tasks wait for models; Celery's own thread does nothing but begin them, so that none waits for another.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatsite.settings")

from celery import Celery
from celery.signals import (
    after_task_publish,
    beat_init,
    heartbeat_sent,
    import_modules,
    worker_init,
    worker_shutdown,
    worker_shutting_down,
)
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from chatsite.alive import touch
from chatsite.alone import CannotStart
from chatsite.start import give_up, require_migrated, require_settings

logger = logging.getLogger(__name__)

try:
    BROKER = settings.CELERY_BROKER_URL
except ImproperlyConfigured as error:
    give_up(error)

app = Celery("chatsite", broker=BROKER or None)
app.set_default()
app.conf.update(
    worker_pool="solo",
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],  # who can write to the broker can send a pickle, and loading one runs code
    task_publish_retry=False,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={"socket_connect_timeout": 2, "socket_timeout": 30, "retry_on_timeout": True},
    beat_scheduler="celery.beat:Scheduler",  # it keeps no file: all of it begins anew
    beat_schedule={
        "sweep": {"task": "chatsite.work", "schedule": 5.0, "args": ["sweep"], "options": {"expires": 15}},
        "tidy": {"task": "chatsite.work", "schedule": 60.0, "args": ["tidy"], "options": {"expires": 60}},
    },
)


@app.task(name="chatsite.work")
def work(name: str, *args: str) -> None:
    from conversations import background

    background.work(name, *args, request_id=(work.request.headers or {}).get("request_id"))


class Loop:
    """The loop of a worker, in a thread of its own: Celery's main one waits for messages."""

    def __init__(self) -> None:
        from conversations.process import Process

        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="loop", daemon=True).start()
        self.process = asyncio.run_coroutine_threadsafe(self._begun(Process), self.loop).result()
        self.stopping: Any = None

    async def _begun(self, process: Any) -> Any:
        return process(self.loop, hears=False)

    def is_alive(self) -> None:
        from conversations.health import worker_is_here

        touch(settings.ALIVE_FILE)
        self.loop.run_in_executor(None, worker_is_here)

    def stop(self) -> None:
        """Begin to: Celery takes leave of its broker meanwhile."""
        if self.stopping is None:
            self.stopping = asyncio.run_coroutine_threadsafe(self.process.stop(), self.loop)

    def join(self) -> None:
        self.stop()
        self.stopping.result()


_loop: Loop | None = None


@import_modules.connect
def _check(**_: Any) -> None:
    """The first thing that Celery says of a worker or the clock, before it looks at the broker's address."""
    _require(require_settings, _require_broker)


@worker_init.connect
def _begin(**_: Any) -> None:
    _look_for_broker()
    _require(require_migrated, _begin_work)


def _begin_work() -> None:
    global _loop
    from django.db import connections

    from conversations import background, upkeep

    upkeep.begin(alone=False)
    # What is open here Celery closes twice, the second time by a number that may be a file of the loop's by then.
    connections.close_all()
    _loop = Loop()
    background.work("sweep")  # what waits for a worker waits for no clock


@beat_init.connect
def _begin_clock(**_: Any) -> None:
    _look_for_broker()
    after_task_publish.connect(_clock_is_alive)


def _require(*needs: Callable[[], None]) -> None:
    """Or end. An exception would be written to the log, and the process go on without what it needs."""
    try:
        for need in needs:
            need()
    except Exception as error:
        if not isinstance(error, CannotStart):
            logger.exception("the start failed")
        give_up(error)


def _require_broker() -> None:
    if not BROKER:
        raise CannotStart("CELERY_BROKER_URL must be set: without it, the processes that serve pages do all work.")


def _look_for_broker() -> None:
    """Celery does not name the setting."""
    try:
        with app.connection_for_write() as connection:
            connection.connect()
    except Exception as error:  # of the broker's own library
        logger.warning(
            "CELERY_BROKER_URL: the broker cannot be used (%s). It is tried until it can.", type(error).__name__
        )


def _clock_is_alive(**_: Any) -> None:
    """Only a message that the broker has taken is told of."""
    touch(settings.ALIVE_FILE)


@heartbeat_sent.connect
def _worker_is_alive(**_: Any) -> None:
    """By its loop, so that one that hangs is noticed; heartbeats end while the broker is away."""
    if _loop:
        _loop.loop.call_soon_threadsafe(_loop.is_alive)


@worker_shutting_down.connect
def _stop(**_: Any) -> None:
    if _loop:
        _loop.stop()


@worker_shutdown.connect
def _stopped(**_: Any) -> None:
    if _loop:
        _loop.join()
