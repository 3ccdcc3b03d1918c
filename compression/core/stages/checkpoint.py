"""Stage 4: creates the new checkpoint and ages the older ones."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Sequence
from dataclasses import replace

from compression.core.citations.check import cited
from compression.core.context import FRAME
from compression.core.digest import extend_digest
from compression.core.plan.aging import SEPARATOR_TOKENS, Shortening, planned, shortened
from compression.core.ports import Originals, Summariser
from compression.core.tokens import TokenCounter
from compression.core.values import Checkpoint, Draft, Turn


async def checkpoint(draft: Draft, *, summariser: Summariser, originals: Originals, count: TokenCounter) -> Draft:
    """The draft with its checkpoints: the older ones, within the room left to them, then the new one."""
    newest = await to_thread(_newest, draft, summariser, count)
    room = draft.room - count(FRAME) - newest.tokens - SEPARATOR_TOKENS
    older = [
        await _carried_out(entry, draft, originals, count) if isinstance(entry, Shortening) else entry
        for entry in await to_thread(planned, draft.older, room, count=count)
    ]
    if older and older[0].stragglers:  # its messages begin with the conversation: none can come before them
        older[0] = replace(older[0], stragglers=())
    return replace(draft, checkpoints=(*older, newest), cut=newest.last_at)


async def _carried_out(shortening: Shortening, draft: Draft, originals: Originals, count: TokenCounter) -> Checkpoint:
    turns = await originals_of(shortening.checkpoints, draft, originals) if shortening.rereads else ()
    return await to_thread(shortened, shortening, turns, count=count, taken_back=draft.transcript.taken_back)


async def originals_of(checkpoints: Sequence[Checkpoint], draft: Draft, originals: Originals) -> tuple[Turn, ...]:
    """The messages that neighbouring checkpoints of the transcript cover, without those that are sent verbatim."""
    every = draft.transcript.checkpoints
    first = next(number for number, one in enumerate(every) if one.first_id == checkpoints[0].first_id)
    after = every[first - 1].last_at if first else None
    stragglers = [id for one in checkpoints for id in one.stragglers]
    turns = await originals(after, checkpoints[-1].last_at, stragglers)
    verbatim = {turn.id for turn in (*draft.transcript.turns, *draft.kept, *draft.tail)}
    return tuple(turn for turn in turns if turn.id not in verbatim)


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
        author=summariser.name,
        citations=cited(
            draft.summary,
            draft.originals + draft.condensed,
            earlier=() if draft.originals else folded,
            unfound=draft.unfound,
            dropped=draft.dropped,
        ),
    )


def _stragglers(draft: Draft) -> tuple[str, ...]:
    """Ids of condensed messages from before the new checkpoint's run, and those of the folded checkpoints."""
    cut = draft.transcript.cut
    if not draft.older:
        return ()  # the run begins at the conversation's first message: none can come before it
    late = (turn.id for turn in draft.condensed if cut and turn.created_at <= cut)
    return (*(id for folded in draft.folded for id in folded.stragglers), *late)
