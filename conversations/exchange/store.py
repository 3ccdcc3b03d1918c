"""Stores imported conversations: everything in one transaction, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import batched, chain, islice
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from conversations.context.provenance import IMPORTED
from conversations.context.transcript import HISTORY, message_tokens, tool_tokens
from conversations.exchange.agent_runs import store_runs
from conversations.exchange.document import ImportedCall, ImportedMessage, ImportedRun, ImportedSource
from conversations.exchange.export_signatures import is_sealed
from conversations.exchange.fields import within
from conversations.exchange.ledger import store_entries
from conversations.exchange.restore_state import RestoredState, put_in_force, restored
from conversations.instructions import goals
from conversations.llm.profiles import chat_profiles, named
from conversations.messages import images
from conversations.messages.attachments import noted
from conversations.messages.copying import FILES
from conversations.models import Attachment, Conversation, Message, ModelProfile, Paste, ToolCall
from conversations.quota import require_storage
from conversations.validation import one_line

BATCH = 500
TICK = timedelta(microseconds=1)
TITLE_FROM_TEXT = 80


Cost = tuple[int, list[int]]
"""The tokens of a message without its calls, and of each call with its result."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A message's row, with all rows that refer to it."""

    message: Message
    calls: list[ToolCall]
    files: list[Attachment]
    pastes: list[Paste]


@dataclass(frozen=True, slots=True)
class PreparedConversation:
    """A conversation that is ready to be stored: all slow work is done."""

    source: ImportedSource
    conversation: Conversation
    costs: list[Cost]
    state: RestoredState | None
    threads: tuple[PreparedConversation, ...] = ()
    """The threads of its runs, in their order."""
    known: int = 0
    """The number of its lines that the conversation has already: it is not new then."""
    after: datetime | None = None
    """The date of the last message that the conversation has already."""


def imported_before(user: AbstractBaseUser, sources: Iterable[ImportedSource]) -> dict[str, Conversation]:
    """The latest conversations that earlier imports made from these of another site, by their `origin`."""
    own = Conversation.objects.filter(owner_id=user.pk, trashed_at=None).order_by("pk")
    origins = sorted({source.origin for source in sources if source.origin})
    found = (row for some in batched(origins, BATCH) for row in own.filter(imported_from__in=some))
    return {row.imported_from: row for row in found}


def prepared(
    user: AbstractBaseUser, source: ImportedSource, default: ModelProfile | None, before: Conversation | None = None
) -> PreparedConversation | None:
    """A source ready for storage; None if an earlier import stored all of it.

    `before` is the conversation of an earlier import: unless it was changed here, it gets the new messages alone.
    Tokens are counted here, before a write lock is taken, as that takes long. Raises Invalid if a state of compression
    does not fit the model.
    """
    if before:
        said = [(line.role, line.content) for line in source.lines]
        stored = before.messages.filter(HISTORY).order_by("created_at").values_list("role", "content", "created_at")
        known = [(role, content) for role, content, _ in stored]
        if known[: len(said)] == said:
            return None
        if said[: len(known)] == known:
            costs = [_cost(source, line) for line in source.lines]
            before.updated_at = max(before.updated_at, min(source.updated or before.updated_at, timezone.now()))
            return PreparedConversation(
                source, before, costs, None, known=len(known), after=max(date for *_, date in stored)
            )
    return _ready(user, source, default)


def store(user: AbstractBaseUser, made: Sequence[PreparedConversation]) -> None:
    """Store new conversations of `user`, and new messages of known ones, all or none. Raises StorageFull."""
    require_storage(user.pk, sum(_size(one.source) for one in made))
    ready = [each for one in made for each in (one, *one.threads)]
    with transaction.atomic():
        Conversation.objects.bulk_create([one.conversation for one in ready if not one.known], BATCH)
        for one in ready:
            if one.known:
                one.conversation.save(update_fields=["updated_at"])
        for batch in batched(chain.from_iterable(map(_rows, ready)), BATCH):
            Message.objects.bulk_create([one.message for one in batch])
            ToolCall.objects.bulk_create([call for one in batch for call in one.calls])
            Attachment.objects.bulk_create([row for one in batch for row in one.files], FILES)
            Paste.objects.bulk_create([paste for one in batch for paste in one.pastes])
        for one in ready:
            with within(one.source.place):
                _complete(one)


def _size(source: ImportedSource) -> int:
    """The characters and bytes that a source's lines, and those of its agents' runs, take."""
    own = sum(
        len(line.content)
        + sum(len(result.content) for call in line.calls if (result := source.results.get(call.number)))
        + sum(file.size for file in line.files)
        for line in source.lines
    )
    return own + sum(_size(run.thread) for run in source.runs)


def _ready(
    user: AbstractBaseUser, source: ImportedSource, default: ModelProfile | None, parent: Conversation | None = None
) -> PreparedConversation:
    conversation = _conversation(user, source, default)
    conversation.parent = parent
    costs = [_cost(source, line) for line in source.lines]
    tokens = [own + sum(calls) for own, calls in costs]
    with within(source.place):
        state = restored(conversation, source, source.state, tokens) if source.state else None
    threads = tuple(_thread(user, conversation, run, default) for run in source.runs)
    return PreparedConversation(source, conversation, costs, state, threads)


def _thread(
    user: AbstractBaseUser, parent: Conversation, run: ImportedRun, default: ModelProfile | None
) -> PreparedConversation:
    return _ready(user, run.thread, default, parent)


def _complete(one: PreparedConversation) -> None:
    """Store the rows that refer to the stored messages."""
    if aim := one.source.goal:
        goals.set_goal(one.conversation, description=aim.description, priority=aim.priority, progress=aim.progress)
        # For the person it is no change of today.
        Conversation.objects.filter(pk=one.conversation.pk).update(updated_at=one.conversation.updated_at)
    if one.source.ledger or one.source.rules:
        store_entries(one.conversation, one.source.ledger, one.source.rules)
    if one.state:
        put_in_force(one.conversation, one.state)
    threads = [thread.conversation for thread in one.threads]
    store_runs(one.conversation, list(zip(one.source.runs, threads, strict=True)))


def _conversation(user: AbstractBaseUser, source: ImportedSource, default: ModelProfile | None) -> Conversation:
    model, now = named(source.model, chat_profiles(user.pk)) or default, timezone.now()
    is_own = is_sealed(source.seal, user.pk, source.system_prompt)
    return Conversation(
        owner_id=user.pk,
        title=one_line(source.title) or _first_words(source.lines),
        system_prompt=source.system_prompt if is_own else "",
        proposed_system_prompt=("" if is_own else source.system_prompt) or source.proposed_system_prompt,
        model=model,
        created_at=source.started or _first_date(source.lines),
        updated_at=min(source.updated or now, now),
        imported_from=source.origin,
        **source.fields,
    )


def _cost(source: ImportedSource, line: ImportedMessage) -> Cost:
    own = message_tokens(line.content, role=line.role) + images.TOKENS * len(line.images)
    return own, [tool_tokens(source.tool_use(call)) for call in line.calls]


def _rows(ready: PreparedConversation) -> Iterator[Rows]:
    source = ready.source
    after = ready.after
    all_of_it = zip(source.lines, _increasing(source.lines), ready.costs, strict=True)
    for line, date, (own, calls) in islice(all_of_it, ready.known, None):
        if after is not None:
            date = after = max(date, after + TICK)
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
            **line.figures,
        )
        message.copy_of = message.pk if line.figures else None  # it was paid where it was asked for
        yield Rows(
            message,
            [_tool_call(message, source, *pair) for pair in zip(line.calls, calls, strict=True)],
            [_file(message, number, row) for number, row in enumerate(line.files)],
            [Paste(message=message, number=one.number, start=one.start, length=one.length) for one in line.pastes],
        )


def _origin(line: ImportedMessage) -> dict[str, Any] | None:
    """The origin of a person's message from a file, with its quotations: nobody typed it here. None for others."""
    if line.role != Message.Role.USER:
        return None
    places = [(one.start, one.length) for one in line.pastes]
    places += [(row.start, row.length or 0) for row in line.files if row.start is not None]
    return IMPORTED | ({"quoted": [list(place) for place in sorted(places)]} if places else {})


def _file(message: Message, number: int, row: Attachment) -> Attachment:
    """A message's file from a file that was read; dates keep the order of its files."""
    row.message, row.conversation, row.owner_id = message, message.conversation, message.conversation.owner_id
    row.created_at = message.created_at + number * TICK
    return row


def _tool_call(message: Message, source: ImportedSource, call: ImportedCall, tokens: int) -> ToolCall:
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


def _increasing(lines: Iterable[ImportedMessage]) -> Iterator[datetime]:
    """A date for each message: its own, but always after the previous one, so that the file's order is kept."""
    previous = _first_date(lines) - TICK
    for line in lines:
        previous = max(line.created_at or previous, previous + TICK)
        yield previous


def _first_date(lines: Iterable[ImportedMessage]) -> datetime:
    return next((line.created_at for line in lines if line.created_at), None) or timezone.now()


def _first_words(lines: Iterable[ImportedMessage]) -> str:
    text = next((line.content for line in lines if line.role == Message.Role.USER), "")
    return " ".join(text[: 10 * TITLE_FROM_TEXT].split())[:TITLE_FROM_TEXT]
