"""Reconstructs the exact request of a past reply, part by part, from its record, and compares two requests.

A message was part of the history if it existed and had not been replaced yet. A replacement is dated when it happens,
so it is newer than every reply requested before it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django.db.models import Q, QuerySet
from django.template.defaultfilters import pluralize
from django.utils.translation import gettext as _

from compression.core.context import render_context
from compression.core.recall.recall import Recalled
from compression.core.values import Role, ToolUse, Turn, Window
from compression.history import BEGINNING
from compression.models import Checkpoint
from compression.records import value_of
from conversations.context.elisions import elision
from conversations.context.provenance import quoted_places, source_of
from conversations.context.transcript import FINISHED, images_of, message_tokens, truncated
from conversations.errors import NotFound
from conversations.llm import tools as llm_tools
from conversations.llm.providers import chat_templates
from conversations.memory import recall
from conversations.models import Conversation, Message, ModelProfile, ToolCall, Wording
from conversations.requests import request_log
from conversations.requests.request_parts import Part, as_counted, messages_of, parts_of, tools_part

WITH_RECORD = Q(role=Message.Role.ASSISTANT, request__isnull=False)
"""Replies whose request is on record, including replaced ones."""
MISSING_TOOLS = "the tools that were offered"
OTHERWISE = "What is stored now makes another request than the one that was sent."


@dataclass(frozen=True, slots=True)
class Replayed:
    """A reconstructed request. `noted` is its record; `gone` is the reason why it is not exact, "" if it is."""

    reply: Message
    noted: dict[str, Any]
    parts: tuple[Part, ...]
    gone: str

    @property
    def is_exact(self) -> bool:
        return not self.gone

    @property
    def chat_template(self) -> str:
        """The chat template that the messages were shaped for; "free": they were sent unchanged."""
        return str(self.noted.get("template", ModelProfile.ChatTemplate.FREE))

    @property
    def shaped_count(self) -> int:
        """The number of messages after shaping for the chat template; 0 if they were sent unchanged."""
        is_free = self.chat_template == ModelProfile.ChatTemplate.FREE
        return 0 if is_free else len(chat_templates.shaped(self.messages, self.chat_template))

    @property
    def messages(self) -> list[dict[str, Any]]:
        return messages_of(self.parts)

    @property
    def shares(self) -> dict[str, int]:
        """Tokens by kind, with the tools as a kind of their own."""
        tools = sum(part.tokens for part in self.parts if part.kind == "tools")
        return self.tokens | {"system": self.tokens["system"] - tools, "tools": tools}

    @property
    def tokens(self) -> dict[str, int]:
        return {"recalled": 0} | dict(self.noted["tokens"])

    @property
    def total(self) -> int:
        return sum(self.tokens.values())


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences between two requests. Their first `prefix_tokens` are equal: a prompt cache could serve them."""

    added: tuple[Part, ...]
    removed: tuple[Part, ...]
    kept: tuple[Part, ...]
    prefix_tokens: int


def replay(conversation: Conversation, message_id: UUID) -> Replayed:
    """The request of a reply. Raises NotFound, with the code `no_record` if the request was not recorded."""
    reply = Message.objects.filter(conversation=conversation, pk=message_id).first()
    if reply is None:
        raise NotFound(_("No such message."))
    if not reply.request:
        raise NotFound(_("There are records only for replies that a model was asked for here."), code="no_record")
    noted: dict[str, Any] = reply.request
    missing: list[str] = []
    opening = [*_system(reply, noted, missing), *_tools(reply, noted, missing), *_summary(reply, noted, missing)]
    turns = _turns(reply, noted)
    if missing_messages := noted["count"] - len(turns):
        missing.append(f"{missing_messages} message{pluralize(missing_messages)}")
    window = Window(noted["window"], noted["window"] - noted["budget"], noted["correction"])
    quoted = _recalled(reply, noted, missing)
    message_parts = parts_of(turns, with_images=noted.get("images", False), recalled=quoted)
    parts = tuple(as_counted([*opening, *message_parts], window))
    exact = request_log.digest(messages_of(parts)) == noted["hash"] and MISSING_TOOLS not in missing
    gone = f"No longer there: {', '.join(missing)}." if missing else ""
    return Replayed(reply, noted, parts, "" if exact else gone or OTHERWISE)


def compare(before: Replayed, after: Replayed) -> Changes:
    """The differences between two requests, by the content of their parts, in any order."""
    old, new = ([part.digest for part in replayed.parts] for replayed in (before, after))
    same = next((place for place, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), None)
    prefix = after.parts[: min(len(old), len(new)) if same is None else same]
    kept, added = _divided(after.parts, new, old)
    _, removed = _divided(before.parts, old, new)
    return Changes(added, removed, kept, sum(part.tokens for part in prefix))


def noted_replies(conversation: Conversation) -> QuerySet[Message]:
    """The conversation's replies whose request is on record."""
    return Message.objects.filter(WITH_RECORD, conversation=conversation)


def previous(reply: Message) -> Message | None:
    """The latest earlier reply whose request is on record."""
    earlier = Message.objects.filter(
        WITH_RECORD, conversation_id=reply.conversation_id, created_at__lt=reply.created_at
    )
    return earlier.order_by("-created_at").first()


def _divided(
    parts: Sequence[Part], digests: Sequence[str], others: Sequence[str]
) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """(parts whose digests are in `others`, the rest); a digest matches as often as it occurs there."""
    left = Counter(others)
    shared: list[Part] = []
    rest: list[Part] = []
    for part, digest in zip(parts, digests, strict=True):
        (shared if left[digest] > 0 else rest).append(part)
        left[digest] -= 1
    return tuple(shared), tuple(rest)


def _stored_text(reply: Message, digest: str) -> str | None:
    rows = Wording.objects.filter(conversation_id=reply.conversation_id, digest=digest)
    return rows.values_list("text", flat=True).first()


def _tools(reply: Message, noted: dict[str, Any], missing: list[str]) -> Iterator[Part]:
    if not noted.get("tools"):
        return
    definitions = _stored_text(reply, noted["tools"])
    if definitions is None:
        missing.append(MISSING_TOOLS)
    else:
        yield tools_part(definitions, llm_tools.tokens_of(json.loads(definitions)))


def _system(reply: Message, noted: dict[str, Any], missing: list[str]) -> Iterator[Part]:
    text = _stored_text(reply, noted["system"])
    if text is None:
        missing.append("the system prompt")
    else:
        yield Part("system", {"role": "system", "content": text}, message_tokens(text))


def _summary(reply: Message, noted: dict[str, Any], missing: list[str]) -> Iterator[Part]:
    if noted["role"] is None:
        return
    numbers = tuple(noted["checkpoints"] or ())
    rows = Checkpoint.objects.filter(conversation_id=reply.conversation_id, number__in=numbers)
    found = {row.number: value_of(row) for row in rows}
    text = render_context(found[number] for number in numbers) if numbers and len(found) == len(numbers) else None
    if own := noted.get("summary"):  # a copy's: the checkpoints of these numbers may be others here
        text, rendered = _stored_text(reply, own), text
        numbers = numbers if text == rendered else ()
    if text is None:
        missing.append("the summary")
        return
    yield Part("summary", {"role": noted["role"], "content": text}, message_tokens(text), checkpoints=numbers)


def _recalled(reply: Message, noted: dict[str, Any], missing: list[str]) -> Recalled | None:
    if "recalled" not in noted:
        return None
    found = recall.put_together(reply.conversation_id, noted["recalled"])
    if found is None:
        missing.append("recalled passages")
    return found


def _turns(reply: Message, noted: dict[str, Any]) -> list[Turn]:
    """The messages that were sent, kept ones first, with tools' results cut as they were then."""
    of_then = Q(replaced_by=None) | Q(replaced_by__created_at__gt=reply.created_at)
    chosen = Q(pk__in=noted["kept"])
    if noted["up_to"]:
        after = datetime.fromisoformat(noted["after"]) if noted["after"] else BEGINNING
        chosen |= Q(of_then, FINISHED, created_at__gt=after, created_at__lte=datetime.fromisoformat(noted["up_to"]))
    rows = Message.objects.filter(chosen, conversation_id=reply.conversation_id)
    tools: defaultdict[UUID, list[ToolUse]] = defaultdict(list)
    for call in ToolCall.objects.filter(message__in=rows.values("pk")).order_by("id"):
        use = ToolUse(call.call_id, call.name, call.arguments, truncated(call.result, noted["limit"]))
        tools[call.message_id].append(use)
    return [_turn(row, tuple(tools[row.pk]), noted) for row in rows.order_by("created_at").defer("request", "error")]


def _turn(row: Message, tools: tuple[ToolUse, ...], noted: dict[str, Any]) -> Turn:
    id = str(row.pk)
    protected, elided = id in noted["protected"], id in noted["elided"]
    left_out = elision(noted["elided"][id]) if elided else None
    tokens = left_out.tokens if left_out else row.token_count
    images, role = images_of(row.images), cast(Role, row.role)
    places = quoted_places(row.origin)
    return Turn(
        id,
        role,
        row.content,
        row.created_at,
        tokens,
        row.name,
        tools,
        protected,
        elided,
        images,
        source_of(row.origin),
        places,
        left_out.number if left_out else None,
        left_out.excerpt if left_out else 0,
    )
