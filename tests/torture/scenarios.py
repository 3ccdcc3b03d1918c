"""What is done to a site: a function a fault."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from random import Random
from typing import Any

from django.contrib.auth import get_user_model

from compression.models import Compaction
from conversations.models import ApiKey
from tests.torture import checks
from tests.torture.fleet import LEASE_SECONDS, Fleet, all_up
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
        user = get_user_model().objects.create(username=f"person{self.random.randrange(10**12)}")
        return Client(self.site.doors, ApiKey.make(user, "torture")[1], Random(self.random.random()))

    @contextmanager
    def crowd(self, count: int = TALKERS) -> Iterator[None]:
        """People who talk meanwhile."""
        ending = threading.Event()
        people = [Person(self.client(), self.tally, ending) for _ in range(count)]
        for person in people:
            person.start()
        try:
            yield
        finally:
            ending.set()
            for person in people:
                person.join(90)

    def folded_by_hand(self, client: Client) -> Talk:
        """A new conversation that is only compressed when it is asked for."""
        talk = begin(client, self.tally)
        client.insist("PATCH", f"/api/conversations/{talk.id}", {"policy": {"ahead": False, "threshold": 0.95}})
        return talk

    def fill(self, client: Client, talk: Talk, count: int = 6) -> None:
        """Say so much that there is something to condense."""
        drip, self.model.drip = self.model.drip, 0
        for _ in range(count):
            say(client, self.tally, talk)
        checks.settle()
        self.model.drip = drip


def kills(torture: Torture, count: int) -> Counter[str]:
    """`kill -9` of a process that is up, over and over, while people talk and compress; it is started again at once."""
    site, random, done, latest = torture.site, torture.random, Counter[str](), 0.0
    torture.model.summary_takes(seconds=0.3)
    longest = 2.0 if len(site.victims) == 1 else 1.0  # so that there is time to do something between two
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
    done["seconds after the end of a lease until its work was taken up or ended, while it was killed on"] = ceil(latest)
    done["seconds after the last kill until nothing was left in the making"] = ceil(checks.settle())
    return done


def races(torture: Torture, count: int) -> Counter[str]:
    """32 people's clicks on Compact at once: one compaction commits, the others are refused or find nothing to do."""
    client, done = torture.client(), Counter[str]()
    torture.model.summary_takes(seconds=0.2)
    talk = torture.folded_by_hand(client)
    for _ in range(count):
        torture.fill(client, talk)
        before = _rows(talk)
        done.update(_at_once(lambda: _race(client, talk), RACERS))
        checks.settle()
        rows = Compaction.objects.filter(conversation=talk.id).exclude(pk__in=before)
        statuses = Counter(rows.values_list("status", flat=True))
        assert statuses["succeeded"] <= 1, statuses
        done.update({f"compactions {status}": number for status, number in statuses.items()})
        _forget_who_asked()
    assert done["compactions succeeded"] > count / 2, f"hardly anything was raced for: {done}"
    return done


def stops(torture: Torture, count: int) -> Counter[str]:
    """A worker stands still until its lease is over, and then goes on: what it was at is another's, or was given up."""
    site, done = torture.site, Counter[str]()
    torture.model.summary_takes(seconds=1)
    torture.model.drip = 0.1
    clients = [torture.client() for _ in range(4)]
    talks = [torture.folded_by_hand(client) for client in clients]
    while done["workers that stood still for longer than their leases"] < count:
        for client, talk in zip(clients, talks, strict=True):
            torture.fill(client, talk)
        _compact_all_but_one(torture, clients, talks)
        paused = torture.random.sample(site.workers, max(1, len(site.workers) - 1))
        for name in paused:
            site.pause(name)
        done.update(_stood_still(torture, paused))
        done["workers that stood still for longer than their leases"] += len(paused)
        _forget_who_asked()
    torture.model.drip = Model.drip
    return done


def _compact_all_but_one(torture: Torture, clients: list[Client], talks: list[Talk]) -> None:
    """Until all wait for a model: three for a summary, one for the rest of a reply."""
    asked = len(torture.model.received)
    for client, talk in zip(clients[1:], talks[1:], strict=True):
        client.insist("POST", f"/api/context/{talk.id}/compact", {})
    say(clients[0], torture.tally, talks[0], wait=False)
    torture.model.wait_for(lambda model: len(model.received) >= asked + len(talks), seconds=10)


def _stood_still(torture: Torture, paused: list[str]) -> Counter[str]:
    held = checks.leases()
    time.sleep(LEASE_SECONDS + 0.3)
    theirs = checks.lost(held)
    if len(paused) < len(torture.site.workers):
        checks.settle()
    before = checks.outcomes(theirs)
    for name in paused:
        torture.site.wake(name)
    checks.settle()
    time.sleep(1)  # for who wakes up late
    after = checks.outcomes(theirs)
    done = Counter(f"what they were at: {kind} {outcome.status}" for (kind, _), outcome in after.items())
    done["stale commits"] = sum(checks.is_stale(theirs[key], before[key], after[key]) for key in theirs)
    assert not done["stale commits"], (theirs, before, after)
    return done


def _race(client: Client, talk: Talk) -> str:
    try:
        Client(client.doors, client.key, Random()).ask("POST", f"/api/context/{talk.id}/compact", {})
        return "answers of 202"
    except Refused as refusal:
        assert refusal.code == "compaction_running", refusal
        return f"answers of {refusal.status}"


def _rows(talk: Talk) -> set[Any]:
    return set(Compaction.objects.filter(conversation=talk.id).values_list("pk", flat=True))


def _forget_who_asked() -> None:
    """So that the limit by the minute is not met."""
    ended = Compaction.objects.exclude(status__in=Compaction.ACTIVE)
    ended.filter(trigger=Compaction.Trigger.API).update(trigger=Compaction.Trigger.AUTO)


def _at_once(act: Callable[[], Any], count: int) -> list[Any]:
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
