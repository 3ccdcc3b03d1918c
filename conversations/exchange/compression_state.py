"""The state of compression in our own export: the active checkpoints and the messages that each covers.

The digest of a checkpoint in a file covers whole results of tools, however short they are cut for the model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from compression.core.digest import extend_digest
from compression.core.plan.policy import STRATEGIES
from compression.core.values import ToolUse, Turn
from compression.history import BEGINNING
from compression.models import Checkpoint
from conversations.context.transcript import images_of
from conversations.exchange.citations import read_citations
from conversations.exchange.document import ImportedMessage, ImportedSource, ImportedState, ImportedSummary
from conversations.exchange.fields import (
    fault,
    read_choice,
    read_date,
    read_flag,
    read_list,
    read_number,
    read_object,
    read_text,
)
from conversations.models import Message

MAX_CHECKPOINTS = 10_000
ALL_STRATEGIES = ("", *STRATEGIES, "age", "elide")
"""All strategies of a compaction; the last two made room in an emergency."""

Places = Mapping[str, int]
"""The place among the lines of the message with each id."""


def checkpoints_json(rows: Iterable[Checkpoint], messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The values of each active checkpoint that `read_state` needs and the export does not have otherwise."""
    rows = list(rows)
    places = {message.pk: at for at, message in enumerate(messages)}
    ends = [places[row.last_message] for row in rows]
    digests = running_digests([_turn_of(message) for message in messages[: max(ends, default=-1) + 1]], ends)
    return [
        {
            "birth_tokens": row.birth_tokens or row.token_count,
            "provisional": row.provisional,
            "stragglers": row.stragglers,
            "digest": digest,
        }
        for row, digest in zip(rows, digests, strict=True)
    ]


def running_digests(turns: Sequence[Turn], ends: Iterable[int]) -> list[str]:
    """The digest of the history up to and including each of `ends`, which are in ascending order."""
    found: list[str] = []
    start, digest = 0, ""
    for end in ends:
        digest = extend_digest(digest, turns[start : end + 1])
        found.append(digest)
        start = end + 1
    return found


def turn_of(line: ImportedMessage, tools: Iterable[ToolUse]) -> Turn:
    """A line as the turn that enters a digest."""
    return Turn(line.id or "", line.role, line.content, BEGINNING, 0, tools=tuple(tools), images=line.images)  # type: ignore[arg-type]


def read_state(data: dict[str, Any], source: ImportedSource) -> ImportedState | None:
    """The state in a file; None if it is not compacted. Raises Invalid, naming the place, if it does not fit the
    messages.
    """
    lines = source.lines
    summaries = _read_summaries(data.get("checkpoints", []), lines)
    _require_cut(data["conversation"], summaries, lines)
    end = summaries[-1].last + 1 if summaries else 0
    for at, line in enumerate(lines):
        _require_flags(line, is_before_cut=at < end)
    if not summaries and not any(line.is_elided for line in lines):
        return None
    _require_covered(summaries, lines)
    _require_digests(data.get("checkpoints", []), summaries, source)
    state_of_file = read_object("compression", data.get("compression") or {})
    return ImportedState(
        summaries,
        read_choice("compression.strategy", state_of_file.get("strategy", ""), ALL_STRATEGIES),
        read_date("compression.compacted_at", state_of_file.get("compacted_at")),
    )


def read_ranges(raw: object, lines: Sequence[ImportedMessage]) -> list[tuple[dict[str, Any], int, int]]:
    """Each checkpoint with the places of its first and last message, one after the other. Raises Invalid."""
    places = {line.id: at for at, line in enumerate(lines) if line.id}
    found: list[tuple[dict[str, Any], int, int]] = []
    end = -1
    for number, entry in enumerate(read_list("checkpoints", raw, limit=MAX_CHECKPOINTS)):
        where = f"checkpoints[{number}]"
        checkpoint = read_object(where, entry)
        first, last = (_at(f"{where}.{key}", checkpoint.get(key), places) for key in ("first_message", "last_message"))
        if first > last or first <= end:
            raise fault(where, "covers messages out of order: summaries follow each other, and none overlaps another.")
        found.append((checkpoint, first, last))
        end = last
    return found


def _read_summaries(raw: object, lines: Sequence[ImportedMessage]) -> tuple[ImportedSummary, ...]:
    places = {line.id: at for at, line in enumerate(lines) if line.id}
    found = [_summary(f"checkpoints[{number}]", *one, places) for number, one in enumerate(read_ranges(raw, lines))]
    number, times = max(Counter(summary.number for summary in found).items(), key=itemgetter(1), default=(0, 0))
    if times > 1:
        raise fault("checkpoints", f"the number {number} appears twice.")
    return tuple(found)


def _summary(where: str, entry: dict[str, Any], first: int, last: int, places: Places) -> ImportedSummary:
    text = read_text(f"{where}.summary", entry.get("summary"))
    if not text.strip():
        raise fault(f"{where}.summary", "must not be empty.")
    return ImportedSummary(
        number=read_number(f"{where}.number", entry.get("number"), low=1),
        level=read_number(f"{where}.level", entry.get("level"), low=1, high=3),
        age=read_number(f"{where}.age", entry.get("age"), high=2),
        text=text,
        birth_tokens=read_number(f"{where}.birth_tokens", entry.get("birth_tokens")),
        original_tokens=read_number(f"{where}.original_tokens", entry.get("original_tokens")),
        first=first,
        last=last,
        stragglers=_stragglers(f"{where}.stragglers", entry.get("stragglers", []), last, places),
        model=read_text(f"{where}.model", entry.get("model"), limit=200),
        is_provisional=read_flag(f"{where}.provisional", entry.get("provisional")),
        created_at=read_date(f"{where}.created_at", entry.get("created_at")),
        citations=read_citations(where, entry, text, places),
    )


def _stragglers(where: str, raw: object, last: int, places: Places) -> tuple[int, ...]:
    """The places of messages before its run that a checkpoint covers too."""
    ids = read_list(where, raw, limit=len(places))
    found = tuple(_at(f"{where}[{number}]", id, places) for number, id in enumerate(ids))
    for number, at in enumerate(found):
        if at > last:
            raise fault(f"{where}[{number}]", "stands after the end of its summary.")
    return found


def _at(where: str, id: object, places: Places) -> int:
    if not isinstance(id, str) or id not in places:
        raise fault(where, "is no message of this file.")
    return places[id]


def _require_cut(row: dict[str, Any], summaries: Sequence[ImportedSummary], lines: Sequence[ImportedMessage]) -> None:
    """Raise Invalid unless the cut is where the last checkpoint ends."""
    cut = read_date("conversation.compressed_at", row.get("compressed_at"))
    require_within(cut, lines)
    if cut != (lines[summaries[-1].last].created_at if summaries else None):
        raise fault("conversation.compressed_at", "is not the date of the last message that a summary stands for.")


def require_within(cut: datetime | None, lines: Sequence[ImportedMessage]) -> None:
    last = max((line.created_at for line in lines if line.created_at), default=None)
    if cut and (last is None or cut > last):
        raise fault("conversation.compressed_at", "is beyond the last message.")


def _require_flags(line: ImportedMessage, *, is_before_cut: bool) -> None:
    if line.is_kept and not is_before_cut:
        raise fault(f"messages, id {line.id}, is_kept", "stands after the cut, where every message is sent.")
    if is_before_cut and not line.is_said:
        raise fault(f"messages, id {line.id}", "says nothing: no summary can stand for it.")
    if line.is_elided and not line.calls and line.role != Message.Role.TOOL:
        raise fault(f"messages, id {line.id}, is_elided", "has no result of a tool that could be left out.")


def _require_covered(summaries: Sequence[ImportedSummary], lines: Sequence[ImportedMessage]) -> None:
    """Raise Invalid unless every message up to the cut is covered or sent. The first one begins with the file."""
    late = {at for summary in summaries for at in summary.stragglers}
    for number in range(1, len(summaries)):
        for at in range(summaries[number - 1].last + 1, summaries[number].first):
            line = lines[at]
            if not (line.is_kept or line.is_protected or at in late):
                raise fault(f"checkpoints[{number}]", f"leaves a gap: the message {line.id} is in no summary.")


def _require_digests(
    entries: list[dict[str, Any]], summaries: Sequence[ImportedSummary], source: ImportedSource
) -> None:
    turns = [turn_of(line, map(source.tool_use, line.calls)) for line in source.lines]
    found = running_digests(turns, [summary.last for summary in summaries])
    for number, digest in enumerate(found):
        if entries[number].get("digest") != digest:
            raise fault(f"checkpoints[{number}].digest", "is not that of the messages: they were changed since.")


def _turn_of(message: Message) -> Turn:
    tools = [ToolUse(call.call_id, call.name, call.arguments, call.result) for call in message.tool_calls.all()]
    return Turn(
        str(message.pk),
        message.role,  # type: ignore[arg-type]
        message.content,
        message.created_at,
        0,
        tools=tuple(tools),
        images=images_of(message.images),
    )
