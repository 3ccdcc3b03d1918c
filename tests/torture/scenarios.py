"""What is done to a site: a function a fault."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass
from math import ceil
from random import Random
from typing import Any

from django.contrib.auth import get_user_model

from compression.models import Compaction
from conversations.models import ApiKey
from tests.torture import checks
from tests.torture.fleet import Fleet, all_up
from tests.torture.people import Client, Model, Person, Refused, Talk, Tally, begin, say

RACERS = 32
TALKERS = 6


@dataclass
class Torture:
    """A site, a model, and all that was said so far."""

    site: Fleet
    model: Model
    random: Random
    tally: Tally

    def client(self) -> Client:
        """Of a person of their own, so that no limit by the person is met."""
        name = f"person{self.random.randrange(10**12)}"
        user = get_user_model().objects.create(username=name)
        return Client(self.site.doors, ApiKey.make(user, name)[1], Random(self.random.random()))

    def crowd(self, count: int = TALKERS) -> Crowd:
        ending = threading.Event()
        return Crowd([Person(self.client(), self.tally, ending) for _ in range(count)], ending)


@dataclass
class Crowd:
    people: list[Person]
    ending: threading.Event

    def __enter__(self) -> Crowd:
        for person in self.people:
            person.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        for person in self.people:
            person.join(90)


def kills(torture: Torture, count: int) -> Counter[str]:
    """`kill -9` of a process that is up, over and over, while people talk and compress; it is started again at once."""
    site, random, done = torture.site, torture.random, Counter[str]()
    torture.model.summary_takes(seconds=0.3)
    longest = 2.0 if len(site.victims) == 1 else 1.0  # so that there is time to do something between two
    latest = 0.0
    with torture.crowd():
        while done.total() < count:
            latest = max(latest, checks.overdue())
            time.sleep(random.uniform(0.2, longest))
            if up := [name for name in site.victims if site.is_up(name)]:
                name = random.choice(up)
                site.kill(name)
                site.start(name)
                done[f"kill -9 of a {name.rstrip('0123456789')} process"] += 1
        all_up(site)
    assert latest < 10, f"a lease had run out for {latest:.0f} s when nobody had taken the work up"
    done["seconds after the end of a lease until its work was taken up or ended, at most"] = ceil(latest)
    done["seconds after the last kill until nothing was left in the making"] = ceil(checks.settle())
    return done


def races(torture: Torture, count: int) -> Counter[str]:
    """32 people's clicks on Compact at once: one compaction commits, the others are refused or find nothing to do."""
    client, done = torture.client(), Counter[str]()
    torture.model.summary_takes(seconds=0.2)
    talk = begin(client, torture.tally)
    client.insist("PATCH", f"/api/conversations/{talk.id}", {"policy": {"enabled": False}})  # but by hand
    for _ in range(count):
        torture.model.drip = 0
        for _ in range(4):
            say(client, torture.tally, talk)
        checks.settle()
        began = set(Compaction.objects.filter(conversation=talk.id).values_list("pk", flat=True))
        done.update(_at_once(lambda: _race(client, talk), RACERS))
        checks.settle()
        rows = Compaction.objects.filter(conversation=talk.id).exclude(pk__in=began)
        statuses = Counter(rows.values_list("status", flat=True))
        assert statuses["succeeded"] <= 1, statuses
        done.update({f"compactions {status}": number for status, number in statuses.items()})
        rows.update(trigger=Compaction.Trigger.AUTO)  # so that the limit by the minute is not met
    return done


def _race(client: Client, talk: Talk) -> str:
    try:
        Client(client.doors, client.key, Random()).ask("POST", f"/api/context/{talk.id}/compact", {})
        return "answers of 202"
    except Refused as refusal:
        assert refusal.code == "compaction_running", refusal
        return f"answers of {refusal.status}"


def _at_once(act: Any, count: int) -> list[Any]:
    """What came of it, done by as many threads at the same moment."""
    gate, results = threading.Barrier(count), list[Any]()

    def run() -> None:
        gate.wait()
        try:
            results.append(act())
        except Exception as error:
            results.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
