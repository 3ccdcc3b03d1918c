"""Usage: what a request costs, part by part, summed from counts that were stored when messages were written."""

from __future__ import annotations

from collections.abc import Sequence

from compression.core.values import Transcript, Turn, Usage, Window, total_tokens


def usage(*, system: int, summary: int, turns: Sequence[Turn], window: Window, recalled: int = 0) -> Usage:
    """`system`, `summary` and `recalled` are our own counts, as those of the turns are."""
    protected = sum(turn.tokens for turn in turns if turn.protected)
    return Usage(
        system=window.corrected(system),
        summary=window.corrected(summary),
        protected=window.corrected(protected),
        live=window.corrected(total_tokens(turns) - protected),
        window=window,
        recalled=window.corrected(recalled),
    )


def usage_of(transcript: Transcript) -> Usage:
    return usage(
        system=transcript.system_tokens,
        summary=transcript.context_tokens,
        turns=transcript.turns,
        window=transcript.window,
    )
