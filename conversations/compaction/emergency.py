"""Makes room when even a compacted conversation does not fit: shorter summaries, tool results left out, truncation.

Nothing is lost: each measure is a compaction of its own that can be undone, as a snapshot of the state before it is
kept.
"""

from __future__ import annotations

import contextlib
import logging
from bisect import bisect_left
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import transaction
from django.template.defaultfilters import pluralize

from compression.core import emergency
from compression.core.context import render_context
from compression.core.error_codes import ErrorCode
from compression.core.extractive.summariser import Extractive
from compression.core.request_usage import usage_of
from compression.core.tokens import count_tokens
from compression.core.values import Draft, Steering, Transcript, Turn, total_tokens
from compression.models import Compaction, Snapshot
from compression.records import active_checkpoints
from conversations.compaction import commit as committing
from conversations.compaction import lease
from conversations.compaction.snapshots import Superseded
from conversations.context import prompt
from conversations.context.elisions import LONGEST_EXCERPT, SHORTEST_EXCERPT
from conversations.context.transcript import Head, Loaded, bare_tokens, message_numbers, message_tokens, without_results
from conversations.errors import Conflict
from conversations.models import Conversation, ToolCall
from conversations.runtime.lease import LeaseLost

logger = logging.getLogger(__name__)

BOTH = (Snapshot.Purpose.EMERGENCY, Snapshot.Purpose.ROLLBACK)
CHANGED = "The conversation changed meanwhile."
FAILED = "Something went wrong; the log says what."


@dataclass(frozen=True, slots=True)
class EmergencyMeasure:
    """A measure that makes room.

    `changed` are the conversation's columns that it changes; `before` and `after` are tokens, for the compaction's row.
    """

    strategy: str
    before: int
    after: int
    step: dict[str, Any]
    changed: dict[str, Any]
    draft: Draft | None = None
    """Holds the new checkpoints, if the active ones change."""

    @property
    def figures(self) -> dict[str, Any]:
        return {
            "strategy": self.strategy,
            "pre_tokens": self.before,
            "post_tokens": self.after,
            "reduction_percent": round(100 * (1 - self.after / self.before), 1),
            "steps": [self.step],
        }


def age(loaded: Loaded) -> bool:
    """Merge all summaries into a single short one. False, without a row, if that saves nothing."""
    head = loaded.head
    older = active_checkpoints(head.id)
    merged = emergency.merge_checkpoints(older, count=count_tokens)
    context = render_context(merged)
    tokens = message_tokens(context)
    if not merged or tokens >= head.compressed_tokens:
        return False
    note = f"{len(older):,} summar{pluralize(len(older), 'y,ies')} shortened" + " to one" * (len(older) > 1)
    changed = {"compressed_context": context, "compressed_tokens": tokens}
    draft = Draft(prompt.request_transcript(loaded), checkpoints=merged)
    return _carry_out(loaded, EmergencyMeasure("age", head.compressed_tokens, tokens, step(note), changed, draft))


def elide(loaded: Loaded) -> bool:
    """Leave out as many tool results as needed. False, without a row, if there are none.

    Results that no model has read yet are shortened: their beginnings and ends are sent. They are left out only if not
    even excerpts of SHORTEST_EXCERPT characters fit.
    """
    head = loaded.head
    asked = prompt.request_transcript(loaded)
    chosen = emergency.results_to_omit(asked, _costs(loaded))
    if not chosen:
        return False
    turns = [turn for turn in loaded.turns if turn.id in chosen]
    unread = [_with_whole_results(loaded, turn) for turn in emergency.unread(loaded.turns) if turn.id in chosen]
    excerpt = _longest_excerpt(loaded, asked, unread, chosen) if unread else 0
    shortened = {turn.id for turn in unread} if excerpt else set()
    if excerpt:
        chosen |= {turn.id: _elided_tokens(loaded, turn, excerpt) for turn in unread}
    note = step(_action(turns, shortened), message_ids=list(chosen))
    numbers = message_numbers(head.id, [turn.created_at for turn in turns])
    left_out = {
        turn.id: [chosen[turn.id], number, excerpt if turn.id in shortened else 0]
        for turn, number in zip(turns, numbers, strict=True)
    }
    changed = {"elided": head.elided | left_out}
    return _carry_out(loaded, EmergencyMeasure("elide", total_tokens(turns), sum(chosen.values()), note, changed))


def commit(row: Compaction, head: Head, draft: Draft, *, summariser: str, **figures: Any) -> None:
    """Commit a truncation as any compaction, with an emergency snapshot. Raises Superseded or LeaseLost."""
    number = len(draft.condensed)
    note = f"{number:,} message{pluralize(number)} left out, but for a note of their facts"
    figures["steps"] = [*figures["steps"], step(note)]
    change = committing.prepare(head, draft)
    with transaction.atomic():
        committing.write(row, change, author=summariser, purposes=BOTH, summariser=summariser, **figures)


def step(action: str, **more: Any) -> dict[str, Any]:
    """An entry of a row's `steps` that describes an action in words; its summariser is empty, as none was asked."""
    return {"summariser": "", "action": action, **more}


def _carry_out(loaded: Loaded, relief: EmergencyMeasure) -> bool:
    """Apply a measure as a compaction with its own row, which records the outcome; the turn goes on in any case."""
    try:
        claimed = lease.claim(loaded.head.id, trigger=Compaction.Trigger.EMERGENCY, steering=Steering())
    except Conflict:
        return True  # another compaction is running; the caller waits for it
    row = lease.start(claimed.pk, claimed.lease_token)
    if row is None:
        return True
    try:
        change = committing.changed(loaded, relief.changed, draft=relief.draft)
        with transaction.atomic():
            committing.write(
                row, change, author=Extractive.name, purposes=[Snapshot.Purpose.EMERGENCY], **relief.figures
            )
    except (LeaseLost, Superseded):
        _end(row, Compaction.Status.DISCARDED, error=CHANGED, strategy=relief.strategy)
    except Exception:
        logger.exception("compaction %s failed", row.pk)
        code = ErrorCode.FAULT_OF_THIS_SITE
        _end(row, Compaction.Status.FAILED, error=FAILED, error_code=code, strategy=relief.strategy)
    return True


def _end(row: Compaction, status: str, **fields: Any) -> None:
    with contextlib.suppress(LeaseLost):
        lease.finish(row, status, **fields)


def _action(turns: Sequence[Turn], shortened: Container[str]) -> str:
    """A row's description of how many results are left out and how many are shortened."""
    parts = []
    for verb, chosen in (
        ("left out", [turn for turn in turns if turn.id not in shortened]),
        ("shortened", [turn for turn in turns if turn.id in shortened]),
    ):
        if number := sum(len(turn.tools) or 1 for turn in chosen):
            parts.append(f"{number:,} tool result{pluralize(number)} {verb}")
    return ", ".join(parts)


def _longest_excerpt(loaded: Loaded, asked: Transcript, unread: Sequence[Turn], chosen: Mapping[str, int]) -> int:
    """The most characters of each unread result with which the request fits; 0 if not even the shortest excerpt does.

    A tool's result is measured once a step of the search, so the time grows with the length of the results alone.
    """
    rest = tuple(replace(turn, tokens=chosen.get(turn.id, turn.tokens)) for turn in asked.turns)

    def is_over(excerpt: int) -> bool:
        tokens = {turn.id: _elided_tokens(loaded, turn, excerpt) for turn in unread}
        turns = tuple(replace(turn, tokens=tokens.get(turn.id, turn.tokens)) for turn in rest)
        return usage_of(replace(asked, turns=turns)).over_budget

    lengths = range(SHORTEST_EXCERPT, LONGEST_EXCERPT, SHORTEST_EXCERPT // 4)
    number = bisect_left(lengths, True, key=is_over)
    return lengths[number - 1] if number else 0


def _costs(loaded: Loaded) -> dict[str, int]:
    """The tokens of messages without their tools' results, by message id; only messages that get smaller."""
    with_results = (
        turn for turn in loaded.turns if (not turn.elided or turn.excerpt) and (turn.tools or turn.role == "tool")
    )
    costs = {turn.id: _elided_tokens(loaded, turn) for turn in with_results}
    return {turn.id: costs[turn.id] for turn in loaded.turns if costs.get(turn.id, turn.tokens) < turn.tokens}


def _elided_tokens(loaded: Loaded, turn: Turn, excerpt: int = 0) -> int:
    """A message's tokens with a placeholder or an excerpt of each result; never below the tokens that are sent then."""
    if _is_of_caller(loaded):
        return bare_tokens(turn.content, turn.tools, role=turn.role, excerpt=excerpt, of_caller=True)
    now = without_results(turn) if turn.elided else turn
    images = max(turn.tokens - message_tokens(now.content, now.tools, role=turn.role), 0)
    return images + bare_tokens(turn.content, turn.tools, role=turn.role, excerpt=excerpt)


def _is_of_caller(loaded: Loaded) -> bool:
    return loaded.head.kind == Conversation.Kind.GATEWAY


def _with_whole_results(loaded: Loaded, turn: Turn) -> Turn:
    """The turn with the results that are sent: uncut in a gateway request, cut in a chat's."""
    if not _is_of_caller(loaded):
        return turn
    results = ToolCall.objects.filter(message=UUID(turn.id)).order_by("id").values_list("result", flat=True)
    return replace(turn, tools=tuple(replace(use, result=one) for use, one in zip(turn.tools, results, strict=True)))
