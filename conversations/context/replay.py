"""The exact request of a past turn, part by part, put together again from what was noted of it; and what changed since.

A message was in the history of then if it was said, and not replaced yet: what replaces a message is stored at that
moment, and so has a later date than every reply that was asked for with it.
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

from compression.core.context import render_context
from compression.core.recall import Recalled
from compression.core.values import Role, ToolUse, Turn, Window
from compression.models import Checkpoint
from compression.records import value_of
from conversations.context import recall, request_log
from conversations.context.provenance import from_of, places_of
from conversations.context.request_parts import Part, as_counted, messages_of, parts_of, tools_part
from conversations.context.transcript import BEGINNING, SAID, images_of, message_tokens, truncated
from conversations.errors import NotFound
from conversations.llm import chat_templates
from conversations.llm import tools as llm_tools
from conversations.models import Conversation, Message, ModelProfile, ToolCall, Wording

NOTED = Q(role=Message.Role.ASSISTANT, request__isnull=False)
"""Replies whose request is on record, those that were replaced too."""
NOT_THERE = "the tools that were offered"
OTHERWISE = "What is stored now makes another request than the one that was sent."


@dataclass(frozen=True, slots=True)
class Replayed:
    """`noted` is the record; `gone` says in a sentence why this is not exactly what was sent, "" where it is."""

    reply: Message
    noted: dict[str, Any]
    parts: tuple[Part, ...]
    gone: str

    @property
    def is_exact(self) -> bool:
        return not self.gone

    @property
    def chat_template(self) -> str:
        """How the messages were put when they left, for the model's template: "free" where they went as they are."""
        return str(self.noted.get("template", ModelProfile.ChatTemplate.FREE))

    @property
    def put(self) -> int:
        """The number of messages that they were put as then; 0 where they went as they are."""
        is_free = self.chat_template == ModelProfile.ChatTemplate.FREE
        return 0 if is_free else len(chat_templates.shaped(self.messages, self.chat_template))

    @property
    def messages(self) -> list[dict[str, Any]]:
        return messages_of(self.parts)

    @property
    def shares(self) -> dict[str, int]:
        """Tokens by kind, the tools apart."""
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
    """From one request to another. `prefix_tokens` of both are the same from the start: a cache could serve those."""

    added: tuple[Part, ...]
    removed: tuple[Part, ...]
    kept: tuple[Part, ...]
    prefix_tokens: int


def replay(conversation: Conversation, message_id: UUID) -> Replayed:
    """What a reply was asked with. Raises NotFound, with the code `no_record` where that was not noted."""
    reply = Message.objects.filter(conversation=conversation, pk=message_id).first()
    if reply is None:
        raise NotFound("No such message.")
    if not reply.request:
        raise NotFound("What the model saw is on record only for replies that it was asked for here.", code="no_record")
    noted: dict[str, Any] = reply.request
    missing: list[str] = []
    opening = [*_system(reply, noted, missing), *_tools(reply, noted, missing), *_summary(reply, noted, missing)]
    turns = _turns(reply, noted)
    if less := noted["count"] - len(turns):
        missing.append(f"{less} message{'s' * (less != 1)}")
    window = Window(noted["window"], noted["window"] - noted["budget"], noted["correction"])
    quoted = _recalled(reply, noted, missing)
    told = parts_of(turns, with_images=noted.get("images", False), recalled=quoted)
    parts = tuple(as_counted([*opening, *told], window))
    exact = request_log.digest(messages_of(parts)) == noted["hash"] and NOT_THERE not in missing
    gone = f"Not there any more: {', '.join(missing)}." if missing else ""
    return Replayed(reply, noted, parts, "" if exact else gone or OTHERWISE)


def compare(before: Replayed, after: Replayed) -> Changes:
    """By what the parts say, wherever they stand."""
    old, new = ([part.digest for part in one.parts] for one in (before, after))
    same = next((place for place, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), None)
    prefix = after.parts[: min(len(old), len(new)) if same is None else same]
    kept, added = _divided(after.parts, new, old)
    _, removed = _divided(before.parts, old, new)
    return Changes(added, removed, kept, sum(part.tokens for part in prefix))


def noted_replies(conversation: Conversation) -> QuerySet[Message]:
    return Message.objects.filter(NOTED, conversation=conversation)


def previous(reply: Message) -> Message | None:
    """The reply before it whose request is on record."""
    earlier = Message.objects.filter(NOTED, conversation_id=reply.conversation_id, created_at__lt=reply.created_at)
    return earlier.order_by("-created_at").first()


def _divided(
    parts: Sequence[Part], digests: Sequence[str], others: Sequence[str]
) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Those that `others` have too, as often as they have them, and those that are more."""
    left = Counter(others)
    both: list[Part] = []
    more: list[Part] = []
    for part, digest in zip(parts, digests, strict=True):
        (both if left[digest] > 0 else more).append(part)
        left[digest] -= 1
    return tuple(both), tuple(more)


def _wording(reply: Message, digest: str) -> str | None:
    rows = Wording.objects.filter(conversation_id=reply.conversation_id, digest=digest)
    return rows.values_list("text", flat=True).first()


def _tools(reply: Message, noted: dict[str, Any], missing: list[str]) -> Iterator[Part]:
    if not noted.get("tools"):
        return
    definitions = _wording(reply, noted["tools"])
    if definitions is None:
        missing.append(NOT_THERE)
    else:
        yield tools_part(definitions, llm_tools.tokens_of(json.loads(definitions)))


def _system(reply: Message, noted: dict[str, Any], missing: list[str]) -> Iterator[Part]:
    text = _wording(reply, noted["system"])
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
        text, rendered = _wording(reply, own), text
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
    """The messages that were sent, kept ones first, with the results of their tools as they were cut then."""
    of_then = Q(replaced_by=None) | Q(replaced_by__created_at__gt=reply.created_at)
    chosen = Q(pk__in=noted["kept"])
    if noted["up_to"]:
        after = datetime.fromisoformat(noted["after"]) if noted["after"] else BEGINNING
        chosen |= Q(of_then, SAID, created_at__gt=after, created_at__lte=datetime.fromisoformat(noted["up_to"]))
    rows = Message.objects.filter(chosen, conversation_id=reply.conversation_id)
    tools: defaultdict[UUID, list[ToolUse]] = defaultdict(list)
    for call in ToolCall.objects.filter(message__in=rows.values("pk")).order_by("id"):
        use = ToolUse(call.call_id, call.name, call.arguments, truncated(call.result, noted["limit"]))
        tools[call.message_id].append(use)
    return [_turn(row, tuple(tools[row.pk]), noted) for row in rows.order_by("created_at").defer("request", "error")]


def _turn(row: Message, tools: tuple[ToolUse, ...], noted: dict[str, Any]) -> Turn:
    id = str(row.pk)
    tokens = noted["elided"].get(id, row.token_count)
    protected, elided = id in noted["protected"], id in noted["elided"]
    images, role = images_of(row.images), cast(Role, row.role)
    places = places_of(row.origin)
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
        from_of(row.origin),
        places,
    )
