"""Computes a request's usage in tokens, part by part, from the counts stored with each message."""

from __future__ import annotations

from collections.abc import Sequence

from compression.core.values import Transcript, Turn, Usage, Window, total_tokens


def usage(*, system: int, summary: int, turns: Sequence[Turn], window: Window, recalled: int = 0) -> Usage:
    """The usage of a request, corrected to the model's tokens; all arguments are our own counts."""
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
    """The usage of a request with the transcript's system prompt, compressed context and turns."""
    return usage(
        system=transcript.system_tokens,
        summary=transcript.context_tokens,
        turns=transcript.turns,
        window=transcript.window,
    )
