"""What is done to that which lies between the processes of a site: Redis goes away, messages come twice."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.db import connection
from django.test import Client as Browser
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from compression.models import Compaction
from conversations.models import Conversation, Message
from conversations.runtime import queue
from tests.servers import wait_until
from tests.torture import checks
from tests.torture.people import Talk, asked_in, begin, say
from tests.torture.scenarios import Torture

COPIES = 5
STAGES = ("identify", "prepare", "summarise", "checkpoint", "update", "validate")
SLOW_STAGES = """
CREATE OR REPLACE FUNCTION slowly() RETURNS trigger AS $$ BEGIN PERFORM pg_sleep(0.15); RETURN NEW; END $$ LANGUAGE plpgsql;
CREATE OR REPLACE TRIGGER slowly BEFORE UPDATE OF stage ON compression_compaction
FOR EACH ROW WHEN (NEW.stage <> OLD.stage) EXECUTE FUNCTION slowly();
"""  # noqa: E501


class Page(threading.Thread):
    """An open page of a conversation where nothing happens, at one door; `told` is how often it was told to fetch."""

    def __init__(self, door: str, cookie: str, talk: Talk) -> None:
        super().__init__(daemon=True)
        self.told = 0
        path = f"/ws/conversations/{talk.id}/"
        self.socket = connect(door.replace("http", "ws") + path, origin=door, additional_headers={"Cookie": cookie})

    def run(self) -> None:
        with suppress(ConnectionClosed):
            while self.socket.recv():
                self.told += 1


def redis_restarts(torture: Torture, count: int) -> Counter[str]:
    """Redis goes away for a moment, with all that it held, while people talk; pages fetch when it is back."""
    done, server = Counter[str](), torture.site.redis
    if server is None:
        return done
    client = torture.client()
    talk = begin(client, torture.tally)
    cookie = signed_in(talk)
    pages = [Page(door, cookie, talk) for door in torture.site.doors]
    for page in pages:
        page.start()
    with torture.crowd():
        for _ in range(count):
            told = [page.told for page in pages]
            time.sleep(torture.random.uniform(0.5, 1.5))
            server.stop(signal.SIGKILL)
            time.sleep(1.5)
            server.start()
            wait_until(lambda: all(page.told > before for page, before in zip(pages, told, strict=True)),  # noqa: B023
                       what="a page that is to be told to fetch", seconds=15)  # fmt: skip
            done["Redis killed and started"] += 1
    done["times that an open page was told to fetch"] = sum(page.told for page in pages)
    settled = checks.settle()
    done["seconds after the last until nothing was left in the making"] = round(settled)
    return done


def signed_in(talk: Talk) -> str:
    """The cookie of a browser of the talk's own person."""
    browser = Browser()
    browser.force_login(Conversation.objects.get(pk=talk.id).owner, "django.contrib.auth.backends.ModelBackend")
    return f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"


def duplicates(torture: Torture, count: int) -> Counter[str]:
    """Every message of the broker comes five times, while the work is done and after it: it is done once."""
    done = Counter[str]()
    if torture.site.redis is None:
        return done
    client = torture.client()
    talk = torture.folded_by_hand(client)
    torture.model.summary_takes(seconds=0.5)
    for _ in range(count):
        torture.fill(client, talk)
        asked = len(torture.model.received)
        say(client, torture.tally, talk, wait=False)
        reply = str(Message.objects.streaming().get(conversation=talk.id).pk)
        _twice(done, "answer", str(talk.id), reply)
        assert len(torture.model.received) == asked + 1, "a reply was written twice"
        task = client.insist("POST", f"/api/context/{talk.id}/compact", {})["task_id"]
        _twice(done, "compact", task)
        row, told = _row(task), torture.model.received[asked + 1 :]
        assert row.status == Compaction.Status.SUCCEEDED
        assert sum(request.tokens for request in told) == row.prompt_tokens, "a compaction was done twice"
        for name in ("sweep", "tidy"):
            _twice(done, name)
    return done


def _twice(done: Counter[str], name: str, *args: str) -> None:
    """While it is done, and once more when it was."""
    for _ in range(2):
        for _ in range(COPIES):
            queue.enqueue(name, *args)
        done[f"messages {name}"] += COPIES
        checks.settle()
        time.sleep(0.3)


def sends_while_compressing(torture: Torture, count: int) -> Counter[str]:
    """A message is sent at every stage of a compaction: it is stored at once, and in the next request (I5)."""
    done = Counter[str]()
    if torture.site.redis is None:
        return done
    with connection.cursor() as cursor:  # or a stage would be over before it is seen
        cursor.execute(SLOW_STAGES)
    torture.model.summary_takes(seconds=0.2)
    client = torture.client()
    talk = torture.folded_by_hand(client)
    for stage in STAGES * count:
        torture.fill(client, talk)
        task = client.insist("POST", f"/api/context/{talk.id}/compact", {})["task_id"]
        wait_until(lambda: _row(task).stage == stage, what=stage, seconds=10)  # noqa: B023
        number = talk.acknowledged
        say(client, torture.tally, talk, wait=False)
        done[f"messages sent at {stage}{'' if _row(task).is_active else ', and just after'}"] += 1
        checks.settle()
        assert _row(task).status == Compaction.Status.SUCCEEDED
        assert asked_in(torture.model.chats[-1])[-1] == (str(talk.number), str(number)), "not in the next request"
        Compaction.objects.filter(pk=task).update(trigger=Compaction.Trigger.AUTO)
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER slowly ON compression_compaction")
    return done


def _row(task: Any) -> Compaction:
    return Compaction.objects.get(pk=task)
