"""Stage 4: creates the new checkpoint and ages the older ones."""

from __future__ import annotations

from dataclasses import replace

from compression.core.aging import SEPARATOR_TOKENS, aged, fitted
from compression.core.context import FRAME
from compression.core.digest import extend_digest
from compression.core.ports import Summariser
from compression.core.tokens import TokenCounter
from compression.core.values import Checkpoint, Draft


def checkpoint(draft: Draft, *, summariser: Summariser, count: TokenCounter) -> Draft:
    """The draft with its checkpoints: the older ones, aged and fitted into the room left to them, then the new one."""
    newest = _newest(draft, summariser, count)
    room = draft.room - count(FRAME) - newest.tokens - SEPARATOR_TOKENS
    older = fitted([aged(older_one, count=count) for older_one in draft.older], room, count=count)
    return replace(draft, checkpoints=(*older, newest), cut=newest.last_at)


def _newest(draft: Draft, summariser: Summariser, count: TokenCounter) -> Checkpoint:
    """The new checkpoint: it covers the newly condensed messages and those of the folded checkpoints."""
    transcript, folded = draft.transcript, draft.folded
    passed = [turn for turn in transcript.turns if not transcript.cut or turn.created_at > transcript.cut]
    run = [turn for turn in draft.condensed if not transcript.cut or turn.created_at > transcript.cut]
    last_id, cut = (run[-1].id, run[-1].created_at) if run else (folded[-1].last_id, folded[-1].last_at)
    tokens = count(draft.summary)
    return Checkpoint(
        number=0,
        level=draft.level,
        summary=draft.summary,
        tokens=tokens,
        birth_tokens=tokens,
        original_tokens=draft.condensed_tokens + sum(earlier.original_tokens for earlier in folded),
        first_id=folded[0].first_id if folded else run[0].id,
        last_id=last_id,
        last_at=cut,
        digest=extend_digest(transcript.digest, (turn for turn in passed if turn.created_at <= cut)),
        provisional=summariser.provisional,
        stragglers=_stragglers(draft),
    )


def _stragglers(draft: Draft) -> tuple[str, ...]:
    """Ids of condensed messages from before the new checkpoint's run, and those of the folded checkpoints."""
    cut = draft.transcript.cut
    if not draft.older:
        return ()  # the run begins at the conversation's first message: none can come before it
    late = (turn.id for turn in draft.condensed if cut and turn.created_at <= cut)
    return (*(id for folded in draft.folded for id in folded.stragglers), *late)
