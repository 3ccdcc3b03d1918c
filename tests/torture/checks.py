"""What must hold whatever died: looked for in the database, in what models were sent, and in the logs."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from uuid import UUID

from django.utils import timezone

from compression.core.context import render_context
from compression.core.digest import extend_digest
from compression.models import Checkpoint, Compaction
from compression.records import active_checkpoints
from conversations.context import transcript
from conversations.models import Conversation, Message, ModelProfile
from tests.llm_answers import SUMMARY_MARKER, text_of
from tests.torture.people import MARKER, Model, Talk, Tally, asked_in

SETTLES_IN = 60
"""Seconds after which what is still in the making is stuck, and not only slow."""
EXPLAINED = (
    r"(redis\.exceptions|kombu\.exceptions|builtins)?\.?\w*(Connection|Operational|Timeout|BrokenPipe)\w*Error\b.*",
    r"celery\.beat\.SchedulingError",
)
"""Last lines of tracebacks that a peer's death explains: the broker or the other end of a connection went away."""


def settle() -> float:
    """Wait until nothing is in the making; how long it took. What is stuck fails."""
    began = time.monotonic()
    while left := in_the_making():
        assert time.monotonic() - began < SETTLES_IN, f"stuck {SETTLES_IN} s after the last fault: {left}"
        time.sleep(0.1)
    return time.monotonic() - began


def in_the_making() -> list[str]:
    replies = [f"reply {row.pk}, {row.lease_token}, {row.lease_expires_at}" for row in Message.objects.streaming()]
    compactions = Compaction.objects.filter(status__in=Compaction.ACTIVE)
    return replies + [f"{row.trigger} compaction {row.pk}, {row.status} {row.stage}" for row in compactions]


def overdue() -> float:
    """How many seconds ago the lease ran out that did so first of those whose work has not ended."""
    now = timezone.now()
    leases = [row.lease_expires_at or row.created_at for row in Message.objects.streaming()]
    leases += Compaction.objects.filter(status__in=Compaction.ACTIVE).values_list("lease_expires_at", flat=True)
    return max([0.0, *((now - lease).total_seconds() for lease in leases)])


@dataclass(frozen=True, slots=True)
class Outcome:
    token: UUID | None
    expires_at: datetime | None
    status: str
    content: str


type Key = tuple[str, UUID]
type Outcomes = dict[Key, Outcome]


def leases() -> Outcomes:
    """All that somebody is at."""
    rows = {("reply", row.pk): row for row in Message.objects.streaming()}
    active = Compaction.objects.filter(status__in=Compaction.ACTIVE)
    return outcomes(rows | {("compaction", row.pk): row for row in active})


def outcomes(keys: Iterable[Key]) -> Outcomes:
    """How each stands."""
    return {key: _outcome(*key) for key in keys}


def _outcome(kind: str, id: UUID) -> Outcome:
    row = (Message if kind == "reply" else Compaction).objects.get(pk=id)
    content = row.content if isinstance(row, Message) else row.summary_preview
    return Outcome(row.lease_token, row.lease_expires_at, row.status, content)


def lost(held: Outcomes) -> Outcomes:
    """Of what somebody was at, that which was not gone on with: its lease is over, or another's by now."""
    now = outcomes(held)
    return {key: then for key, then in held.items() if _is_lost(then, now[key])}


def _is_lost(then: Outcome, now: Outcome) -> bool:
    if now.status in ("pending", "running", "streaming"):
        return now.token != then.token or now.expires_at is None or now.expires_at < timezone.now()
    return now.status in ("failed", "interrupted")


def is_stale(then: Outcome, before: Outcome, after: Outcome) -> bool:
    """Whether its first worker, who slept until then, has written what came of it or changed what had."""
    if after.status in ("succeeded", "ready"):
        return after.token == then.token
    return before.status not in ("pending", "running", "streaming") and before != after


def check(tally: Tally, model: Model) -> Counter[str]:
    """Violations, by what was violated; every one of them is printed."""
    found = [*_of_requests(tally, model), *_of_rows(tally)]
    for what, where in found:
        print(f"VIOLATION {what}: {where}", flush=True)
    return Counter(what for what, _ in found)


type Violations = Iterator[tuple[str, str]]


def _of_requests(tally: Tally, model: Model) -> Violations:
    """Every request held its conversation's messages in order, each once, from some summary's end to the last."""
    budget = ModelProfile.objects.get().usable_window.budget
    ends = {talk.number: list(_ends(talk)) for talk in tally.present()}
    for request in model.chats:
        if not (asked := asked_in(request)):
            yield "a request without a question", request.text[-200:]
            continue
        talks, numbers = {int(talk) for talk, _ in asked}, [int(number) for _, number in asked]
        if len(talks) != 1 or any(second != first + 1 for first, second in pairwise(numbers)):
            yield "messages lost, doubled or out of order (I1, I5)", f"{asked}"
        summarised = any(text_of(message).startswith(SUMMARY_MARKER) for message in request.messages)
        if not summarised and numbers[0] != 0:
            yield "messages before the first one lost (I1)", f"{asked}"
        if summarised and talks <= set(ends) and not any(_covers(end, numbers[0]) for end in ends[talks.pop()]):
            yield "no summary ever ended before the first message that was sent word for word (I1)", f"{asked}"
        if request.tokens > budget:
            yield "a request over the budget (I3)", f"{request.tokens} of {budget}"


def _ends(talk: Talk) -> Iterator[tuple[int, int]]:
    """Where the summaries of a talk end: between which two of its questions."""
    asked = list(_questions(talk))
    for end in Checkpoint.objects.filter(conversation=talk.id).values_list("last_message_at", flat=True):
        last = sum(moment <= end for _, moment in asked) - 1
        yield last, last + 1


def _covers(end: tuple[int, int], first: int) -> bool:
    return first == end[1]


def _questions(talk: Talk) -> Iterator[tuple[int, datetime]]:
    rows = Message.objects.filter(conversation=talk.id, role=Message.Role.USER).order_by("created_at")
    for content, moment in rows.values_list("content", "created_at"):
        if found := MARKER.match(content):
            yield int(found[2]), moment


def _of_rows(tally: Tally) -> Violations:
    for talk in tally.present():
        stored = [number for number, _ in _questions(talk)]
        if stored[: talk.acknowledged] != list(range(talk.acknowledged)) or len(stored) > talk.acknowledged + 1:
            yield "acknowledged messages lost or doubled (I2)", f"{stored} of {talk.acknowledged}"
        yield from _of_state(talk)
    for row in Conversation.objects.all():
        succeeded = Compaction.objects.filter(conversation=row, status=Compaction.Status.SUCCEEDED).count()
        if row.compression_version < succeeded:
            yield "more compactions committed than changes of the state (I4)", f"{row.pk}"


def _of_state(talk: Talk) -> Violations:
    """Every summary that was ever committed is of the history up to its end; those in force are what is sent."""
    row = Conversation.objects.get(pk=talk.id)
    for checkpoint in Checkpoint.objects.filter(conversation=row):
        history = transcript.between(row.pk, None, checkpoint.last_message_at)
        if checkpoint.digest != extend_digest("", history):
            yield "a summary that is not of the history up to its end (I1)", f"{talk.number}: {checkpoint.pk}"
    active = active_checkpoints(row.pk)
    if (active[-1].last_at if active else None) != row.compressed_at:
        yield "a cut that is not where the summaries end (I1)", f"{talk.number}"
    if (row.compressed_context or "") != (render_context(active) if active else ""):
        yield "a summary in force that is not what is sent", f"{talk.number}"


def tracebacks(log: str) -> list[str]:
    """Those of a log that nothing explains, each after the line that tells of it."""
    found = re.finditer(r"^(?:.*\n)?Traceback .*\n(?:[ \t].*\n|\n)*(.*)", log, re.MULTILINE)
    return [one[0] for one in found if not any(re.fullmatch(known, one[1]) for known in EXPLAINED)]
