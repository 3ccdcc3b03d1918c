"""Celery's workers and clock: `celery -A chatsite worker` runs tasks, `celery -A chatsite beat` starts periodic ones.

A message only starts a task; the database has the work and its owner. Each worker has one loop, on which its tasks wait
for models. Celery's own thread only starts tasks, so that no task waits for another.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable
from time import monotonic
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
from django.db import DatabaseError, InterfaceError, connections

from chatsite.healthcheck import touch
from chatsite.single_server import CannotStart
from chatsite.startup_checks import give_up, require_known_schema, require_migrated, require_settings

logger = logging.getLogger(__name__)

SCHEMA_SECONDS = 10
"""A worker looks this often whether a newer version has migrated the database."""

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
    accept_content=["json"],  # a pickle could run code of anybody who can write to the broker
    task_publish_retry=False,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={"socket_connect_timeout": 2, "socket_timeout": 30, "retry_on_timeout": True},
    beat_scheduler="celery.beat:Scheduler",  # keeps no file: the schedule begins anew at each start
    beat_schedule={
        "sweep": {"task": "chatsite.work", "schedule": 5.0, "args": ["sweep"], "options": {"expires": 15}},
        "tidy": {"task": "chatsite.work", "schedule": 60.0, "args": ["tidy"], "options": {"expires": 60}},
    },
)


@app.task(name="chatsite.work")
def work(name: str, *args: str) -> None:
    """Start the task of `conversations.tasks` that a message names, on the worker's loop."""
    from conversations.runtime import queue

    queue.work(name, *args, request_id=(work.request.headers or {}).get("request_id"))


class Loop:
    """A worker's loop, in a thread of its own beside Celery's main thread, which waits for messages."""

    def __init__(self) -> None:
        from conversations.ops.process import Process

        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="loop", daemon=True).start()
        self.process = asyncio.run_coroutine_threadsafe(self._begun(Process), self.loop).result()
        self.stopping: Any = None
        self.schema_checked_at = monotonic()

    async def _begun(self, process: Any) -> Any:
        return process(self.loop, hears=False)

    def is_alive(self) -> None:
        from conversations.ops.health import worker_is_here

        touch(settings.ALIVE_FILE)
        self.loop.run_in_executor(None, worker_is_here)
        if monotonic() - self.schema_checked_at > SCHEMA_SECONDS and self.stopping is None:
            self.schema_checked_at = monotonic()
            self.loop.run_in_executor(None, _stop_if_outdated)

    def stop(self) -> None:
        """Begin to stop the tasks, while Celery disconnects from its broker."""
        if self.stopping is None:
            self.stopping = asyncio.run_coroutine_threadsafe(self.process.stop(), self.loop)

    def join(self) -> None:
        self.stop()
        self.stopping.result()


_loop: Loop | None = None


@import_modules.connect
def _check(**_: Any) -> None:
    """Check the settings at Celery's first signal, before it uses the broker's address."""
    _require(require_settings, _require_broker)


@worker_init.connect
def _begin(**_: Any) -> None:
    _look_for_broker()
    _require(require_migrated, _begin_work)


def _stop_if_outdated() -> None:
    """Stop this worker, as SIGTERM does, once a newer version has migrated the database: its code may not fit."""
    try:
        require_known_schema()
    except CannotStart as error:
        logger.warning("the worker stops: %s", error)
        os.kill(os.getpid(), signal.SIGTERM)
    except (DatabaseError, InterfaceError) as error:
        logger.warning("the database could not be asked for its migrations (%s)", type(error).__name__)
    finally:
        connections.close_all()


def _begin_work() -> None:
    global _loop
    from conversations.ops import maintenance
    from conversations.runtime import queue as work_queue

    maintenance.begin(alone=False)
    # Celery closes open connections twice; the second time, their file numbers may belong to files of the loop.
    connections.close_all()
    _loop = Loop()
    work_queue.work("sweep")  # start waiting work now, without waiting for the clock


@beat_init.connect
def _begin_clock(**_: Any) -> None:
    _look_for_broker()
    after_task_publish.connect(_clock_is_alive)


def _require(*needs: Callable[[], None]) -> None:
    """End the process unless all needs are met; Celery would only log an exception and go on."""
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
    """Warn, with the setting's name, if the broker cannot be reached; Celery's own messages do not name it."""
    try:
        with app.connection_for_write() as connection:
            connection.connect()
    except Exception as error:  # the broker's library has exceptions of its own
        logger.warning(
            "CELERY_BROKER_URL: the broker cannot be used (%s). It is tried until it can.", type(error).__name__
        )


def _clock_is_alive(**_: Any) -> None:
    """Touch ALIVE_FILE for each message that the broker accepted."""
    touch(settings.ALIVE_FILE)


@heartbeat_sent.connect
def _worker_is_alive(**_: Any) -> None:
    """Touch ALIVE_FILE from the loop, so that a hanging loop is noticed; without a broker there are no heartbeats."""
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
