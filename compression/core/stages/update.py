"""Stage 5: computes the conversation's new state, without storing it."""

from __future__ import annotations

from dataclasses import replace

from compression.core.context import render_context
from compression.core.request_usage import usage
from compression.core.tokens import TokenCounter
from compression.core.values import MESSAGE_OVERHEAD, Draft


def update(draft: Draft, *, count: TokenCounter) -> Draft:
    """The draft with the compressed context, the verbatim messages before the cut, and the usage after it."""
    cut = draft.cut
    assert cut is not None
    context = render_context(draft.checkpoints)
    tokens = count(context) + MESSAGE_OVERHEAD
    return replace(
        draft,
        context=context,
        context_tokens=tokens,
        verbatim_ids=tuple(turn.id for turn in draft.kept + draft.tail if turn.created_at <= cut),
        after=usage(
            system=draft.transcript.system_tokens,
            summary=tokens,
            turns=draft.kept + draft.tail,
            window=draft.transcript.window,
        ),
    )
