"""Stage 4: the new checkpoint, and what becomes of the older ones."""

from __future__ import annotations

from dataclasses import replace

from compression.core.aging import SEPARATOR, aged, fitted
from compression.core.context import FRAME
from compression.core.digest import extend
from compression.core.ports import Summariser
from compression.core.tokens import TokenCounter
from compression.core.values import Checkpoint, Draft


def checkpoint(draft: Draft, *, summariser: Summariser, count: TokenCounter) -> Draft:
    """The older checkpoints, a step older and within what the budget leaves them, and after them the new one."""
    newest = _newest(draft, summariser, count)
    room = draft.room - count(FRAME) - newest.tokens - SEPARATOR
    older = fitted([aged(one, count=count) for one in draft.older], room, count=count)
    return replace(draft, checkpoints=(*older, newest), cut=newest.last_at)


def _newest(draft: Draft, summariser: Summariser, count: TokenCounter) -> Checkpoint:
    """It stands for the newly condensed messages, and for what the folded ones stood for."""
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
        original_tokens=draft.condensed_tokens + sum(one.original_tokens for one in folded),
        first_id=folded[0].first_id if folded else run[0].id,
        last_id=last_id,
        last_at=cut,
        digest=extend(transcript.digest, (turn for turn in passed if turn.created_at <= cut)),
        provisional=summariser.provisional,
        stragglers=_stragglers(draft),
    )


def _stragglers(draft: Draft) -> tuple[str, ...]:
    cut = draft.transcript.cut
    if not draft.older:
        return ()  # its run begins where the conversation does
    late = (turn.id for turn in draft.condensed if cut and turn.created_at <= cut)
    return (*(id for one in draft.folded for id in one.stragglers), *late)
