"""Stage 4: the new checkpoint, and what becomes of the older ones."""

from __future__ import annotations

from dataclasses import replace

from compression.core.digest import extend
from compression.core.ports import Summariser, TokenCounter
from compression.core.values import Checkpoint, Draft


def checkpoint(draft: Draft, *, summariser: Summariser, count: TokenCounter) -> Draft:
    """Rolling: one checkpoint that covers what the earlier ones covered and the newly condensed messages."""
    transcript, last = draft.transcript, draft.condensed[-1]
    older = transcript.checkpoints
    cut = max(last.created_at, transcript.cut) if transcript.cut else last.created_at
    passed = [turn for turn in transcript.turns if (not transcript.cut or turn.created_at > transcript.cut)]
    newest = Checkpoint(
        number=older[-1].number + 1 if older else 1,
        level=draft.level,
        summary=draft.summary,
        tokens=count(draft.summary),
        original_tokens=draft.condensed_tokens + sum(one.original_tokens for one in older),
        first_id=older[0].first_id if older else draft.condensed[0].id,
        last_id=last.id if cut == last.created_at else older[-1].last_id,
        last_at=cut,
        digest=extend(transcript.digest, (turn for turn in passed if turn.created_at <= cut)),
        provisional=summariser.provisional,
    )
    return replace(draft, checkpoints=(newest,), cut=cut)
