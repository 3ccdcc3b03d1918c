"""Workers: `celery -A chatsite worker` does what web processes ask for, `celery -A chatsite beat` is the clock.

A message only wakes a worker up: what there is to do, and who is at it, is in the database. Each worker has one loop,
on which its tasks wait for models; a thread of Celery's stands for each of them.
"""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatsite.settings")

from celery import Celery
from celery.signals import worker_init, worker_shutdown, worker_shutting_down
from django.conf import settings

TASKS_AT_ONCE = 100
"""Of one worker: they wait for models most of the time."""

app = Celery("chatsite", broker=settings.CELERY_BROKER_URL or None)
app.set_default()
app.conf.update(
    worker_pool="threads",
    worker_concurrency=TASKS_AT_ONCE,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    task_ignore_result=True,
    task_publish_retry=False,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={"socket_connect_timeout": 2, "socket_timeout": 30, "retry_on_timeout": True},
    beat_scheduler="celery.beat:Scheduler",  # it keeps no file: all of it begins anew
    beat_schedule={
        "sweep": {"task": "chatsite.work", "schedule": 5.0, "args": ["sweep"], "options": {"expires": 5}},
        "tidy": {"task": "chatsite.work", "schedule": 60.0, "args": ["tidy"], "options": {"expires": 60}},
    },
)


@app.task(name="chatsite.work")
def work(name: str, *args: str) -> None:
    from conversations import background

    background.work(name, *args)


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

    def stop(self) -> None:
        """Begin to: tasks that end let go of the threads that Celery waits for."""
        if self.stopping is None:
            self.stopping = asyncio.run_coroutine_threadsafe(self.process.stop(), self.loop)

    def join(self) -> None:
        self.stop()
        self.stopping.result()


_loop: Loop | None = None


@worker_init.connect
def _begin(**_: Any) -> None:
    global _loop
    from conversations import upkeep

    upkeep.begin(alone=False)
    _loop = Loop()


@worker_shutting_down.connect
def _stop(**_: Any) -> None:
    if _loop:
        _loop.stop()


@worker_shutdown.connect
def _stopped(**_: Any) -> None:
    if _loop:
        _loop.join()
