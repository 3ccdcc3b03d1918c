"""What is done where a conversation does not fit even though it was compressed. Nothing of it is lost.

Each is a compaction of its own, that can be undone: the snapshot of before is kept with it.
"""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.template.defaultfilters import pluralize

from compression.core import emergency
from compression.core.context import render_context
from compression.core.error_codes import ErrorCode
from compression.core.extractive.summariser import Extractive
from compression.core.tokens import count_tokens
from compression.core.values import Draft, Steering, Transcript, Turn, total_tokens
from compression.models import Compaction, Snapshot
from compression.records import active_checkpoints, store_checkpoints
from conversations.compaction import commit as compaction_commit
from conversations.compaction import lease, snapshots
from conversations.compaction.snapshots import Superseded
from conversations.context import prompt, usage
from conversations.context.transcript import Head, Loaded, bare_tokens, message_tokens
from conversations.errors import Conflict
from conversations.models import Conversation
from conversations.runtime.lease import LeaseLost

logger = logging.getLogger(__name__)

CHANGED = "The conversation changed meanwhile."
FAILED = "Something went wrong; the log says what."


@dataclass(frozen=True, slots=True)
class Relief:
    """What makes room: the columns of the conversation that change, and what the row says of it, in tokens."""

    strategy: str
    before: int
    after: int
    step: dict[str, Any]
    changed: dict[str, Any]
    draft: Draft | None = None
    """Where the active checkpoints change: holds the new ones."""

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
    """All summaries become a single short one. False, and no row, where that saves nothing."""
    head = loaded.head
    older = active_checkpoints(head.id)
    merged = emergency.merge_checkpoints(older, count=count_tokens)
    context = render_context(merged)
    tokens = message_tokens(context)
    if not merged or tokens >= head.compressed_tokens:
        return False
    said = f"{len(older):,} summar{pluralize(len(older), 'y,ies')} shortened" + " to one" * (len(older) > 1)
    changed = {"compressed_context": context, "compressed_tokens": tokens}
    draft = Draft(_request(loaded), checkpoints=merged)
    return _carry_out(head, Relief("age", head.compressed_tokens, tokens, step(said), changed, draft))


def elide(loaded: Loaded) -> bool:
    """Results of tools are left out, as many as it takes. False, and no row, where there are none."""
    head = loaded.head
    chosen = emergency.results_to_omit(_request(loaded), _costs(loaded))
    if not chosen:
        return False
    turns = [turn for turn in loaded.turns if turn.id in chosen]
    results = sum(len(turn.tools) or 1 for turn in turns)
    said = step(f"{results:,} tool result{pluralize(results)} left out", message_ids=list(chosen))
    changed = {"elided": head.elided | chosen}
    return _carry_out(head, Relief("elide", total_tokens(turns), sum(chosen.values()), said, changed))


@transaction.atomic
def commit(row: Compaction, head: Head, draft: Draft, *, summariser: str, **figures: Any) -> None:
    """A truncation, committed as any compaction is. Raises Superseded or LeaseLost."""
    number = len(draft.condensed)
    said = f"{number:,} message{pluralize(number)} left out, but for a note of their facts"
    figures["steps"] = [*figures["steps"], step(said)]
    snapshots.keep(head, Snapshot.Purpose.EMERGENCY, compaction=row)
    compaction_commit.commit(row, head, draft, summariser=summariser, **figures)


def step(action: str, **more: Any) -> dict[str, Any]:
    """What was done, in words, as a row of steps has it: they all name a summariser, and this is none's."""
    return {"summariser": "", "action": action, **more}


def _carry_out(head: Head, relief: Relief) -> bool:
    """Under a row of its own, which says what came of it; the turn goes on in any case."""
    try:
        claimed = lease.claim(head.id, trigger=Compaction.Trigger.EMERGENCY, steering=Steering())
    except Conflict:
        return True  # someone else is at it, who will be waited for
    row = lease.start(claimed.pk, claimed.lease_token)
    if row is None:
        return True
    try:
        _commit(row, head, relief)
    except (LeaseLost, Superseded):
        _end(row, Compaction.Status.DISCARDED, error=CHANGED, strategy=relief.strategy)
    except Exception:
        logger.exception("compaction %s failed", row.pk)
        code = ErrorCode.FAULT_OF_THIS_SITE
        _end(row, Compaction.Status.FAILED, error=FAILED, error_code=code, strategy=relief.strategy)
    return True


@transaction.atomic
def _commit(row: Compaction, head: Head, relief: Relief) -> None:
    """Put the new state in place of the one in `head`, all of it or nothing."""
    before = snapshots.hold(head)
    snapshots.keep(head, Snapshot.Purpose.EMERGENCY, compaction=row)
    rows = Conversation.objects.filter(pk=head.id, compression_version=head.version)
    if not rows.update(compression_version=head.version + 1, **relief.changed):
        raise Superseded
    if relief.draft:
        store_checkpoints(row, relief.draft, model=Extractive.name)
    figures = relief.figures | {"request_before": before, "request_after": usage.total(head.id)}
    lease.finish(row, Compaction.Status.SUCCEEDED, **figures)


def _end(row: Compaction, status: str, **fields: Any) -> None:
    with contextlib.suppress(LeaseLost):
        lease.finish(row, status, **fields)


def _request(loaded: Loaded) -> Transcript:
    """The next request, as it is measured."""
    assert loaded.head.window is not None, "a conversation without a model is over no budget"
    return Transcript(
        turns=loaded.turns,
        window=loaded.head.window,
        system_tokens=prompt.system_tokens(loaded.head),
        context_tokens=loaded.head.compressed_tokens,
        waiting=loaded.waiting,
    )


def _costs(loaded: Loaded) -> dict[str, int]:
    """What messages would cost without their tools' results, by id, where that is less."""
    with_results = (turn for turn in loaded.turns if not turn.elided and (turn.tools or turn.role == "tool"))
    is_whole = loaded.head.kind == Conversation.Kind.GATEWAY  # its caller's results are counted as long as they are
    costs = {turn.id: _bare_tokens(turn, is_whole=is_whole) for turn in with_results}
    return {turn.id: costs[turn.id] for turn in loaded.turns if costs.get(turn.id, turn.tokens) < turn.tokens}


def _bare_tokens(turn: Turn, *, is_whole: bool) -> int:
    """What was counted for it, with a placeholder in place of each result; never less than what is sent takes."""
    sent = message_tokens(turn.content, turn.tools, role=turn.role)
    beside = 0 if is_whole else max(turn.tokens - sent, 0)
    return beside + bare_tokens(turn.content, turn.tools, role=turn.role)
