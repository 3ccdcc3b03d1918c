"""What was read becomes rows: everything in one transaction, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import batched, chain
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from conversations import goals, image_files
from conversations.attachments import noted
from conversations.copied_files import FILES
from conversations.exchange.reading import within
from conversations.exchange.restoring import Restored, put_in_force, restored
from conversations.exchange.run_rows import store_runs
from conversations.exchange.source import Call, Line, Run, Source
from conversations.llm.profiles import default_profile
from conversations.models import Attachment, Conversation, Message, ModelProfile, Paste, ToolCall
from conversations.provenance import IMPORTED
from conversations.transcript import message_tokens, tool_tokens
from conversations.validation import one_line

BATCH = 500
TICK = timedelta(microseconds=1)
TITLE_FROM_TEXT = 80


Cost = tuple[int, list[int]]
"""Tokens of a message without its calls, and of each call with its result."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A message, with all that refers to it."""

    message: Message
    calls: list[ToolCall]
    files: list[Attachment]
    pastes: list[Paste]


@dataclass(frozen=True, slots=True)
class Ready:
    """A conversation with all that takes long done."""

    source: Source
    conversation: Conversation
    costs: list[Cost]
    state: Restored | None
    threads: tuple[Ready, ...] = ()
    """Of its runs, in their order."""


def store(user: AbstractBaseUser, sources: Sequence[Source]) -> list[Conversation]:
    """New conversations of `user`'s, all or none. Tokens are counted before the write lock is taken: that takes longer.

    Raises Invalid where a state of compression does not fit the model.
    """
    default = default_profile()
    made = [_ready(user, source, default) for source in sources]
    ready = [each for one in made for each in (one, *one.threads)]
    with transaction.atomic():
        Conversation.objects.bulk_create([one.conversation for one in ready], BATCH)
        for batch in batched(chain.from_iterable(map(_rows, ready)), BATCH):
            Message.objects.bulk_create([one.message for one in batch])
            ToolCall.objects.bulk_create([call for one in batch for call in one.calls])
            Attachment.objects.bulk_create([row for one in batch for row in one.files], FILES)
            Paste.objects.bulk_create([paste for one in batch for paste in one.pastes])
        for one in ready:
            with within(one.source.place):
                _complete(one)
    return [one.conversation for one in made]


def _ready(
    user: AbstractBaseUser, source: Source, default: ModelProfile | None, parent: Conversation | None = None
) -> Ready:
    conversation = _conversation(user, source, default)
    conversation.parent = parent
    costs = [_cost(source, line) for line in source.lines]
    tokens = [own + sum(calls) for own, calls in costs]
    with within(source.place):
        state = restored(conversation, source, source.state, tokens) if source.state else None
    threads = tuple(_thread(user, conversation, run, default) for run in source.runs)
    return Ready(source, conversation, costs, state, threads)


def _thread(user: AbstractBaseUser, parent: Conversation, run: Run, default: ModelProfile | None) -> Ready:
    return _ready(user, run.thread, default, parent)


def _complete(one: Ready) -> None:
    """What refers to messages that are stored."""
    if aim := one.source.goal:
        goals.set_goal(one.conversation, description=aim.description, priority=aim.priority, progress=aim.progress)
        # For the person it is no change of today.
        Conversation.objects.filter(pk=one.conversation.pk).update(updated_at=one.conversation.updated_at)
    if one.state:
        put_in_force(one.conversation, one.state)
    threads = [thread.conversation for thread in one.threads]
    store_runs(one.conversation, list(zip(one.source.runs, threads, strict=True)))


def _conversation(user: AbstractBaseUser, source: Source, default: ModelProfile | None) -> Conversation:
    model, now = _model(source.model) or default, timezone.now()
    return Conversation(
        owner_id=user.pk,
        title=one_line(source.title) or _first_words(source.lines),
        system_prompt=source.system_prompt,
        model=model,
        rules=source.rules,
        created_at=source.started or _first_date(source.lines),
        updated_at=min(source.updated or now, now),
        **source.fields,
    )


def _model(name: str) -> ModelProfile | None:
    """The profile of that name."""
    rows = ModelProfile.objects.filter(name=name, enabled=True, role=ModelProfile.Role.CHAT)
    return rows.first() if name else None


def _cost(source: Source, line: Line) -> Cost:
    own = message_tokens(line.content, role=line.role) + image_files.TOKENS * len(line.images)
    return own, [tool_tokens(source.tool_use(call)) for call in line.calls]


def _rows(ready: Ready) -> Iterator[Rows]:
    source = ready.source
    for line, date, (own, calls) in zip(source.lines, _increasing(source.lines), ready.costs, strict=True):
        message = Message(
            conversation=ready.conversation,
            role=line.role,
            name=line.name,
            content=line.content,
            created_at=date,
            token_count=own + sum(calls),
            is_protected=line.is_protected,
            status=line.status,
            finish_reason=line.finish_reason,
            model=line.model,
            images=noted(line.files),
            origin=_origin(line),
        )
        yield Rows(
            message,
            [_tool_call(message, source, *pair) for pair in zip(line.calls, calls, strict=True)],
            [_file(message, number, row) for number, row in enumerate(line.files)],
            [Paste(message=message, number=one.number, start=one.start, length=one.length) for one in line.pastes],
        )


def _origin(line: Line) -> dict[str, Any] | None:
    """What comes in with a file was not typed here, whoever wrote it."""
    if line.role != Message.Role.USER:
        return None
    places = [(one.start, one.length) for one in line.pastes]
    places += [(row.start, row.length or 0) for row in line.files if row.start is not None]
    return IMPORTED | ({"quoted": [list(place) for place in sorted(places)]} if places else {})


def _file(message: Message, number: int, row: Attachment) -> Attachment:
    """A row that was read, as one of a message's: they keep their order by their dates."""
    row.message, row.conversation, row.owner_id = message, message.conversation, message.conversation.owner_id
    row.created_at = message.created_at + number * TICK
    return row


def _tool_call(message: Message, source: Source, call: Call, tokens: int) -> ToolCall:
    result = source.results.get(call.number)
    return ToolCall(
        message=message,
        call_id=call.call_id,
        name=call.name,
        arguments=call.arguments,
        result=result.content if result else None,
        created_at=(result and result.created_at) or message.created_at,
        token_count=tokens,
        status=call.status,
        error=call.error,
        duration_ms=call.duration_ms,
    )


def _increasing(lines: Iterable[Line]) -> Iterator[datetime]:
    """A date for each message: its own, but always after the one before it, so that the file's order is kept."""
    previous = _first_date(lines) - TICK
    for line in lines:
        previous = max(line.created_at or previous, previous + TICK)
        yield previous


def _first_date(lines: Iterable[Line]) -> datetime:
    return next((line.created_at for line in lines if line.created_at), None) or timezone.now()


def _first_words(lines: Iterable[Line]) -> str:
    text = next((line.content for line in lines if line.role == Message.Role.USER), "")
    return " ".join(text[: 10 * TITLE_FROM_TEXT].split())[:TITLE_FROM_TEXT]
