"""The rows of a turn: a question with its pending reply, and how a reply ends."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from compression.core.rules import find_rules
from compression.core.values import MESSAGE_OVERHEAD
from conversations import background, rules, system_prompt, transcript
from conversations.errors import Conflict, TooLarge
from conversations.events import publish
from conversations.llm.base import NotConfigured, Spent
from conversations.llm.correction import learned
from conversations.llm.profiles import profile_for
from conversations.models import Conversation, Message, ModelProfile
from conversations.shapes import message_json
from conversations.system_prompt import Instructions
from conversations.validation import clean_text

Status, Role = Message.Status, Message.Role

UNFINISHED = (Status.FAILED, Status.INTERRUPTED, Status.STOPPED)
TITLE_LENGTH = 60
INTERRUPTED = "The server stopped before the reply was whole."


@dataclass(frozen=True, slots=True)
class Begun:
    question: Message
    reply: Message
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person says, once it is known to fit a request to the model."""

    content: str
    tokens: int
    profile: ModelProfile


def begin(conversation: Conversation, *, content: str, client_id: str | None = None) -> Begun:
    """Store a question and its pending reply, and have it answered after the commit.

    The same `client_id` with the same text gives the first one's rows again. Raises Invalid, Conflict (a reply is
    being written, the client_id was used for another text, no model is set) or TooLarge; nothing is stored then.
    """
    if client_id is not None:
        client_id = clean_text("client_id", client_id, limit=64)
    asked = checked(conversation, content)
    try:
        return _store(conversation, asked, client_id)
    except (IntegrityError, Conflict) as refusal:
        if begun := _replayed(conversation, asked.content, client_id):
            return begun
        raise refusal


def checked(conversation: Conversation, content: str) -> Asked:
    """Raises Invalid, Conflict (no model is set) or TooLarge."""
    content = clean_text("content", content)
    asked = Asked(content, transcript.message_tokens(content), _profile_of(conversation))
    _require_fit(conversation, asked)
    return asked


def retry(conversation: Conversation, message_id: UUID) -> Message:
    """A new reply in place of an unfinished one, which stays, out of the history. Raises Conflict."""
    with transaction.atomic():
        lock(conversation)
        rows = Message.objects.filter(conversation=conversation, replaced_by=None)
        old = rows.order_by("-created_at").first()
        if old is None or old.pk != message_id or old.role != Role.ASSISTANT:
            raise Conflict("Only the last reply can be tried again.")
        if old.status not in UNFINISHED:
            raise Conflict("This reply did not fail.")
        conversation.refresh_from_db(fields=["compressed_at"])
        earlier = rows.filter(transcript.HISTORY, created_at__lt=old.created_at).order_by("-created_at")
        asked_at = earlier.values_list("created_at", flat=True).first()
        if conversation.compressed_at and asked_at and asked_at <= conversation.compressed_at:
            raise Conflict("What was asked is part of a summary already. Undo the compaction, or ask again.")
        reply = store_reply(conversation)
        Message.objects.filter(pk=old.pk).update(replaced_by=reply)
        transaction.on_commit(partial(publish, conversation.pk, "resync"))
        answer_later(reply)
    return reply


def store_question(conversation: Conversation, asked: Asked, **fields: Any) -> Begun:
    """A question after all there is, and its pending reply; under `lock`. Raises Conflict while a reply runs."""
    asked_at = _next_moment(conversation.pk)
    question = Message(
        conversation=conversation,
        role=Role.USER,
        content=asked.content,
        token_count=asked.tokens,
        created_at=asked_at,
        **fields,
    )
    reply = _pending(conversation, asked_at + timedelta(microseconds=1))
    Message.objects.bulk_create([question, reply])
    rules.detect(conversation.pk, asked.content, asked.profile.usable_window)
    return Begun(question, reply)


def store_reply(conversation: Conversation) -> Message:
    """A pending reply to the history as it is; under `lock`. Raises Conflict while one runs."""
    reply = _pending(conversation, _next_moment(conversation.pk))
    reply.save(force_insert=True)
    return reply


def answer_later(reply: Message) -> None:
    """Have a pending reply written, after the commit and what is published with it."""
    background.enqueue("answer", str(reply.conversation_id), str(reply.pk))


def lock(conversation: Conversation, **changed: Any) -> None:
    """Take the conversation's row, by a write: what follows in this transaction nobody else does at the same time."""
    changed["updated_at"] = timezone.now()
    if not Conversation.objects.filter(pk=conversation.pk).update(**changed):
        raise Conflict("This conversation was deleted meanwhile.", code="deleted")
    for name, value in changed.items():
        setattr(conversation, name, value)


def finish(
    reply_id: UUID,
    *,
    status: str,
    content: str,
    tokens: int,
    error: str,
    profile: ModelProfile | None,
    spent: Spent | None,
    estimated: int,
) -> Message | None:
    """End a reply, once. None where it has ended already, or is gone."""
    ended = Message.objects.filter(pk=reply_id, status=Status.STREAMING).update(
        status=status,
        content=content,
        token_count=tokens,
        error=error,
        model=profile.name if profile else "",
        prompt_tokens=spent.prompt if spent else None,
        completion_tokens=spent.completion if spent else None,
        cached_tokens=spent.cached if spent else None,
    )
    if profile and spent:
        _learn(profile, spent, estimated)
    return Message.objects.get(pk=reply_id) if ended else None


def is_pending(reply_id: UUID) -> bool:
    return Message.objects.filter(pk=reply_id, status=Status.STREAMING).exists()


def abandon(conversation_id: UUID | None = None, *, status: str = Status.INTERRUPTED, error: str = INTERRUPTED) -> bool:
    """End replies that no process is writing: those of one conversation, or, at the start of a server, all."""
    rows = Message.objects.filter(status=Status.STREAMING)
    if conversation_id is not None:
        rows = rows.filter(conversation_id=conversation_id)
    # Found before they are changed: there is no index of them, and nobody else can write during an update.
    found = list(rows.values_list("pk", "conversation_id"))
    ended = found and rows.filter(pk__in=[pk for pk, _ in found]).update(status=status, error=error)
    for _, conversation in found:
        publish(conversation, "resync")
    return bool(ended)


def settle_model(conversation_id: UUID) -> None:
    """Make sure that the window a request is measured against is that of the model it goes to.

    A model that is gone or disabled is replaced by the default one. Raises NotConfigured.
    """
    rows = Conversation.objects.filter(pk=conversation_id)
    own = rows.values_list("model_id", flat=True).first()
    profile = profile_for(own)
    if profile.pk != own:
        rows.update(model=profile)


def tokens_of(text: str) -> int:
    return transcript.message_tokens(text) if text else MESSAGE_OVERHEAD


def _profile_of(conversation: Conversation) -> ModelProfile:
    try:
        return profile_for(conversation.model_id)
    except NotConfigured as missing:
        raise Conflict(missing.reason, code="no_model") from None


def _require_fit(conversation: Conversation, asked: Asked) -> None:
    """A message that is too large even alone is refused before it is stored."""
    profile, window = asked.profile, asked.profile.usable_window
    instructions = Instructions(
        conversation.mode,
        conversation.system_prompt,
        conversation.goal_text,
        tuple(rules.with_found(conversation.rules, find_rules(asked.content), window)),
        window.size,
    )
    system = window.corrected(system_prompt.tokens(instructions))
    message = window.corrected(asked.tokens)
    if system + message > window.budget:
        raise TooLarge(
            f"This message takes {message:,} tokens; with the system prompt's {system:,} that is more than the "
            f"{window.budget:,} that {profile.name} can be sent (a window of {window.size:,}, less {window.reserve:,} "
            "kept for the reply).",
            message_tokens=message,
            system=system,
            budget=window.budget,
            window=window.size,
            reserve=window.reserve,
        )


@transaction.atomic
def _store(conversation: Conversation, asked: Asked, client_id: str | None) -> Begun:
    changed: dict[str, Any] = {}
    if conversation.model_id != asked.profile.pk:
        changed["model"] = asked.profile
    if not conversation.title:
        changed["title"] = " ".join(asked.content.split())[:TITLE_LENGTH]
        transaction.on_commit(partial(publish, conversation.pk, "title.updated", title=changed["title"]))
    lock(conversation, **changed)
    begun = store_question(conversation, asked, client_id=client_id)
    for message in (begun.question, begun.reply):
        told = message_json(message)
        transaction.on_commit(partial(publish, conversation.pk, "message.created", message=told))
    answer_later(begun.reply)
    return begun


def _pending(conversation: Conversation, moment: datetime) -> Message:
    return Message(conversation=conversation, role=Role.ASSISTANT, status=Status.STREAMING, created_at=moment)


def _next_moment(conversation_id: UUID) -> datetime:
    """Now, or just after the last message where the clock says less: strictly increasing within a conversation.

    Raises Conflict while the last message is a reply that is still being written.
    """
    last = Message.objects.filter(conversation_id=conversation_id).order_by("-created_at")
    found = last.values_list("created_at", "status").first()
    if found is None:
        return timezone.now()
    created_at, status = found
    if status == Status.STREAMING:
        raise Conflict("A reply is still being written: stop it, or wait for it.", code="reply_running")
    return max(timezone.now(), created_at + timedelta(microseconds=1))


def _replayed(conversation: Conversation, content: str, client_id: str | None) -> Begun | None:
    """The rows that a client_id was used for before; None where it was not. Raises Conflict for another text."""
    rows = Message.objects.filter(conversation=conversation)
    question = rows.filter(client_id=client_id).first() if client_id is not None else None
    if question is None:
        return None
    if question.content != content:
        raise Conflict("This client_id was used for another message.", code="client_id_reused", client_id=client_id)
    replies = rows.filter(created_at__gt=question.created_at, role=Role.ASSISTANT)
    if question.replaced_by_id is None:
        replies = replies.filter(replaced_by=None)
    reply = replies.order_by("created_at").first()
    assert reply is not None
    return Begun(question, reply, replayed=True)


def _learn(profile: ModelProfile, spent: Spent, estimated: int) -> None:
    correction = learned(profile.token_correction, estimated=estimated, reported=spent.prompt)
    if abs(correction - profile.token_correction) > 0.005:
        ModelProfile.objects.filter(pk=profile.pk).update(token_correction=correction)
