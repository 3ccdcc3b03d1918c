"""Begins a turn: measures a person's message and stores it with a pending reply, once however often it is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from compression.core.ledger.own_words import HANDED_OVER
from compression.core.values import Window
from conversations import spending
from conversations.context import prompt, transcript
from conversations.context.provenance import origin_of, typed_text
from conversations.errors import Conflict, Invalid, TooLarge, TooMany
from conversations.instructions import ledger
from conversations.llm.errors import NotConfigured
from conversations.llm.profiles import profile_for
from conversations.messages import images as image_files
from conversations.messages import long_files, replies
from conversations.messages.attachments import AttachedFile, attach, chosen, noted
from conversations.messages.pastes import Pasted
from conversations.messages.text_files import TextRange, inlined
from conversations.models import Conversation, Message, ModelProfile, Paste
from conversations.quota import require_storage_for
from conversations.runtime.event_types import EventType
from conversations.runtime.events import publish
from conversations.runtime.payloads import message_json
from conversations.spending import OverBudget
from conversations.turns import titles
from conversations.validation import clean_text

Role = Message.Role
MOMENT = timedelta(microseconds=1)
"""The time between the messages of a turn."""


@dataclass(frozen=True, slots=True)
class BegunTurn:
    """A stored user message and its pending reply. `replayed`: an earlier call with the same client_id stored them.

    `parts` are the messages before the question, each with a part of a file that is longer than the window.
    """

    question: Message
    reply: Message
    replayed: bool = False
    parts: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A message with a part of a file that is longer than the window: its content, and the place of the part in it."""

    attached: AttachedFile
    content: str
    place: TextRange
    tokens: int

    @property
    def origin(self) -> dict[str, Any] | None:
        return origin_of(self.content, words="", pastes=())


@dataclass(frozen=True, slots=True)
class Question:
    """A person's message that was checked and fits a request to the model, before it is stored.

    `words` is the text of the composer. `content` is the words followed by the attached text files; `places` are the
    positions of these files in `content`, in order. `parts` become messages before it.
    """

    words: str
    content: str
    tokens: int
    profile: ModelProfile
    attached: tuple[AttachedFile, ...] = ()
    places: tuple[TextRange, ...] = ()
    pastes: tuple[Pasted, ...] = ()
    origin: dict[str, Any] | None = None
    parts: tuple[Part, ...] = ()

    @property
    def typed(self) -> str:
        """The text that the person typed: `content` with HANDED_OVER in place of pastes, files, text from elsewhere."""
        return typed_text(self.content, self.origin, instead=HANDED_OVER)

    @property
    def images(self) -> list[dict[str, Any]] | None:
        """The attached images in the format of a message's `images` column."""
        return noted(one.row for one in self.attached)

    @property
    def subject(self) -> str:
        """The text for the conversation's title: the words, or the first file's name if there are none."""
        return self.words.strip() or next(
            one.row.name for one in (*self.attached, *(part.attached for part in self.parts))
        )


def begin(
    conversation: Conversation,
    *,
    content: str,
    client_id: str | None = None,
    attachments: Sequence[UUID] = (),
    pastes: Sequence[Pasted] = (),
    pasted: Sequence[str] = (),
) -> BegunTurn:
    """Store a person's message and a pending reply, and have the reply written after the commit.

    `attachments` are the ids of uploaded files that no message has yet; `pastes` are ranges of `content`, `pasted` are
    texts that were pasted among its words. `content` may be blank if there is a file. A repeated `client_id` with the
    same text and files returns the rows of the first call. Raises Invalid, Conflict (a reply is being written, the
    client_id was used for another text, no model is set), TooLarge or OverBudget; nothing is stored then.
    """
    if client_id is not None:
        client_id = clean_text("client_id", client_id, limit=64)
    try:
        attached = chosen(conversation, attachments)
    except Invalid as refusal:  # an earlier request with this client_id may have sent these files
        if begun := _replayed(conversation, content, attachments, client_id):
            return begun
        raise refusal
    asked = checked(conversation, content, attached=attached, pastes=pastes, pasted=pasted)
    try:
        spending.require_budget(conversation.owner_id)
        return _store(conversation, asked, client_id)
    except (IntegrityError, Conflict, TooMany, OverBudget) as refusal:
        if begun := _replayed(conversation, content, attachments, client_id):
            return begun
        raise refusal


def checked(
    conversation: Conversation,
    content: str,
    *,
    attached: Sequence[AttachedFile] = (),
    pastes: Sequence[Pasted] = (),
    pasted: Sequence[str] = (),
    earlier: Message | None = None,
) -> Question:
    """Check and measure a message before it is stored; `earlier` is the message that it replaces, if any.

    Raises Invalid, Conflict (no model is set, or the model does not see images), TooLarge or StorageFull.
    """
    words = clean_text("content", content, allow_blank=bool(attached))
    profile = _profile_of(conversation)
    images = sum(one.is_image for one in attached)
    if images and not profile.can_see:
        raise Conflict(
            _("the model %(model)s does not see images. Choose one that does, or remove the image.")
            % {"model": profile.name},
            code="model_sees_no_images",
            model=profile.name,
        )
    require_storage_for(conversation.owner_id, [words, *(one.text for one in attached)])
    quoted = [(one.start, one.length) for one in pastes]

    def asked_with(files: Sequence[AttachedFile], parts: Sequence[Part]) -> Question:
        whole, places = inlined(words, [(one.row.name, one.text) for one in files if not one.is_image])
        tokens = transcript.message_tokens(whole) + images * image_files.TOKENS
        origin = origin_of(whole, words=words, pastes=quoted, pasted=pasted, earlier=earlier)
        return Question(words, whole, tokens, profile, tuple(files), tuple(places), tuple(pastes), origin, tuple(parts))

    asked = whole = asked_with(attached, ())
    if _over(conversation, whole) <= 0:
        return whole
    parts: list[Part] = []
    system, window = _system(conversation, whole), profile.usable_window
    for file in long_files.longest_first(attached):
        if _over(conversation, asked) <= 0 or system + window.corrected(file.row.tokens) <= window.budget:
            break  # what fits by itself is never divided: its owner may remove another file
        rest = [one for one in asked.attached if one.row.pk != file.row.pk]
        cut = long_files.parts_of(file, tokens=long_files.part_tokens(window))
        kept = [] if words.strip() or rest else [cut.pop()]  # a message is never empty
        parts += [_part(one) for one in cut]
        asked = asked_with([*rest, *kept], parts)
    if _over(conversation, asked) > 0:
        raise _too_long(conversation, whole)
    return asked


def _part(attached: AttachedFile) -> Part:
    content, (place,) = inlined("", [(attached.row.name, attached.text)])
    return Part(attached, content, place, transcript.message_tokens(content))


def store_question(conversation: Conversation, asked: Question, **fields: Any) -> BegunTurn:
    """Store a message and its pending reply as the conversation's last rows.

    The caller holds the conversation's lock. Raises Conflict while a reply is being written.
    """
    asked_at = replies.next_moment(conversation.pk)
    parts = [
        Message(
            conversation=conversation,
            role=Role.USER,
            content=part.content,
            origin=part.origin,
            token_count=part.tokens,
            created_at=asked_at + number * MOMENT,
        )
        for number, part in enumerate(asked.parts)
    ]
    asked_at += len(parts) * MOMENT
    question = Message(
        conversation=conversation,
        role=Role.USER,
        content=asked.content,
        images=asked.images,
        origin=asked.origin,
        token_count=asked.tokens,
        created_at=asked_at,
        **fields,
    )
    reply = replies.pending(conversation, asked_at + MOMENT)
    Message.objects.bulk_create([*parts, question, reply])
    for message, part in zip(parts, asked.parts, strict=True):
        attach(message, [part.attached], [part.place])
    if asked.attached:
        attach(question, asked.attached, asked.places)
    if asked.pastes:
        Paste.objects.bulk_create(
            Paste(message=question, number=one.number, start=one.start, length=one.length) for one in asked.pastes
        )
    ledger.add_entries(question, asked.typed, asked.profile.usable_window)
    return BegunTurn(question, reply, parts=tuple(parts))


def _profile_of(conversation: Conversation) -> ModelProfile:
    try:
        return profile_for(conversation.model_id, conversation.owner_id)
    except NotConfigured as missing:
        raise Conflict(missing.reason, code="no_model") from None


def _over(conversation: Conversation, asked: Question) -> int:
    """The tokens by which the message and the system prompt alone exceed the window's budget."""
    window = asked.profile.usable_window
    return _system(conversation, asked) + window.corrected(asked.tokens) - window.budget


def _system(conversation: Conversation, asked: Question) -> int:
    """The tokens of the system prompt with the rules of the message, as the model counts them."""
    profile, window = asked.profile, asked.profile.usable_window
    in_force = ledger.with_detected(conversation.rules, asked.typed, window)
    opening = prompt.opening_tokens(conversation, window=window, rules=in_force, calls=profile.can_call)
    return window.corrected(opening)


def _too_long(conversation: Conversation, asked: Question) -> TooLarge:
    profile, window = asked.profile, asked.profile.usable_window
    over, files = _over(conversation, asked), _files_of(asked, window)
    removable = [
        _("%(file)s (%(tokens)s tokens)") % {"file": file["name"], "tokens": f"{file['tokens']:,}"} for file in files
    ]
    advice = _("remove %(files)s") % {"files": _(" or ").join(removable)} if files else _("shorten it")
    return TooLarge(
        _(
            "Too long for %(model)s by about %(over)s tokens: %(advice)s, or choose a model with a window of more than "
            "%(window)s tokens."
        )
        % {"model": profile.name, "over": f"{over:,}", "advice": advice, "window": f"{profile.window:,}"},
        message_tokens=window.corrected(asked.tokens),
        files=files,
        over=over,
        system=_system(conversation, asked),
        budget=window.budget,
        window=window.size,
        reserve=window.reserve,
    )


def _files_of(asked: Question, window: Window) -> list[dict[str, Any]]:
    """The names and tokens of the files, the largest first."""
    files = sorted((one.row for one in asked.attached), key=lambda row: row.tokens, reverse=True)
    return [{"name": file.name, "tokens": window.corrected(file.tokens)} for file in files]


@transaction.atomic
def _store(conversation: Conversation, asked: Question, client_id: str | None) -> BegunTurn:
    changed: dict[str, Any] = {}
    if conversation.model_id != asked.profile.pk:
        changed["model"] = asked.profile
    if not conversation.title:
        changed["title"] = titles.from_words(asked.subject)
        transaction.on_commit(partial(publish, conversation.pk, EventType.TITLE_UPDATED, title=changed["title"]))
    replies.lock_conversation(conversation, **changed)
    begun = store_question(conversation, asked, client_id=client_id)
    is_bare = not (asked.attached or asked.pastes or asked.parts)
    for message in (*begun.parts, begun.question, begun.reply):
        payload = message_json(message, asked.profile.usable_window, is_bare=is_bare)
        transaction.on_commit(partial(publish, conversation.pk, EventType.MESSAGE_CREATED, message=payload))
    replies.answer_later(begun.reply)
    return begun


def _replayed(
    conversation: Conversation, content: str, attachments: Sequence[UUID], client_id: str | None
) -> BegunTurn | None:
    """The rows stored by an earlier request with this client_id; None if there was none.

    Raises Conflict if the text or the files differ, and Invalid if a file does not exist.
    """
    rows = Message.objects.filter(conversation=conversation)
    question = rows.filter(client_id=client_id).first() if client_id is not None else None
    if question is None:
        return None
    sent = chosen(conversation, attachments, of=question)
    attached = [one for one in sent if one.row.message_id in (None, question.pk)]  # not those that were sent in parts
    whole, _ = inlined(content, [(one.row.name, one.text) for one in attached if not one.is_image])
    images = [one.row.digest for one in attached if one.is_image]
    if question.content != whole or [image["hash"] for image in question.images or ()] != images:
        raise Conflict("This client_id was used for another message.", code="client_id_reused", client_id=client_id)
    answers = rows.filter(created_at__gt=question.created_at, role=Role.ASSISTANT)
    if question.replaced_by_id is None:
        answers = answers.filter(replaced_by=None)
    reply = answers.order_by("created_at").first()
    assert reply is not None
    return BegunTurn(question, reply, replayed=True)
