"""The exact request of a past turn, part by part, put together again from what was noted of it; and what changed since.

A message was in the history of then if it was said, and not replaced yet: what replaces a message is stored at that
moment, and so has a later date than every reply that was asked for with it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, cast
from uuid import UUID

from django.db.models import Q, QuerySet

from compression.core.context import render
from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD, Image, Role, ToolUse, Turn, Window
from compression.models import Checkpoint
from compression.records import value_of
from conversations import records
from conversations.errors import NotFound
from conversations.models import Conversation, Message, ToolCall, Wording
from conversations.prompt import as_messages, shown
from conversations.transcript import BEGINNING, SAID, images_of, message_tokens, truncated

Kind = Literal["system", "summary", "protected", "live"]
NOTED = Q(role=Message.Role.ASSISTANT, request__isnull=False)
"""Replies whose request is on record, those that were replaced too."""
OTHERWISE = "What is stored now makes another request than the one that was sent."


@dataclass(frozen=True, slots=True)
class Part:
    """One message of a request, as it was sent; a tool's result is one of its own. `tokens` as the model counts them.

    It comes from a message of the conversation (`message_id`), or renders `checkpoints`, by their numbers. `images` are
    those that the model is shown with it.
    """

    kind: Kind
    message: dict[str, Any]
    tokens: int
    message_id: str = ""
    checkpoints: tuple[int, ...] = ()
    images: tuple[Image, ...] = ()

    @property
    def role(self) -> str:
        return str(self.message["role"])

    @property
    def text(self) -> str:
        """Its words, and the names of its images."""
        content = self.message["content"]
        if isinstance(content, str):
            return content
        words = [part["text"] for part in content if part["type"] == "text"]
        return "\n".join([*words, *(image.caption for image in self.images)])

    @property
    def calls(self) -> list[dict[str, str]]:
        """The name and arguments of each tool that was called."""
        return [call["function"] for call in self.message.get("tool_calls", ())]

    @property
    def digest(self) -> str:
        return records.digest(self.message)


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
    def messages(self) -> list[dict[str, Any]]:
        return [part.message for part in self.parts]

    @property
    def tokens(self) -> dict[str, int]:
        return dict(self.noted["tokens"])

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
    opening = [*_system(reply, noted, missing), *_summary(reply, noted, missing)]
    turns = _turns(reply, noted)
    if less := noted["count"] - len(turns):
        missing.append(f"{less} message{'s' * (less != 1)}")
    window = Window(noted["window"], noted["window"] - noted["budget"], noted["correction"])
    parts = tuple(as_counted([*opening, *parts_of(turns, with_images=noted.get("images", False))], window))
    exact = records.digest([part.message for part in parts]) == noted["hash"]
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


def _system(reply: Message, noted: dict[str, Any], missing: list[str]) -> Iterator[Part]:
    rows = Wording.objects.filter(conversation_id=reply.conversation_id, digest=noted["system"])
    text = rows.values_list("text", flat=True).first()
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
    if not numbers or len(found) < len(numbers):
        missing.append("the summary")
        return
    text = render(found[number] for number in numbers)
    yield Part("summary", {"role": noted["role"], "content": text}, message_tokens(text), checkpoints=numbers)


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
    return Turn(id, role, row.content, row.created_at, tokens, row.name, tools, protected, elided, images)


def parts_of(turns: Sequence[Turn], *, with_images: bool) -> Iterator[Part]:
    """Each message of each turn; what was counted for a turn is that of its results, and the rest of its own."""
    visible = shown(turns) if with_images else ()
    for turn in turns:
        kind: Kind = "protected" if turn.protected else "live"
        images = turn.images if turn.id in visible else ()
        own, *results = as_messages(turn, with_images=bool(images))
        left = turn.tokens
        costs = []
        for result in results:
            costs.append(min(left, count_tokens(result["content"]) + MESSAGE_OVERHEAD))
            left -= costs[-1]
        yield Part(kind, own, left, message_id=turn.id, images=images)
        for message, tokens in zip(results, costs, strict=True):
            yield Part(kind, message, tokens, message_id=turn.id)


def as_counted(parts: Iterable[Part], window: Window) -> Iterator[Part]:
    """With the tokens that the model counts, rounded so that those of a kind add up to what was noted for it."""
    sums: Counter[str] = Counter()
    for part in parts:
        before = window.corrected(sums[part.kind])
        sums[part.kind] += part.tokens
        yield replace(part, tokens=window.corrected(sums[part.kind]) - before)
