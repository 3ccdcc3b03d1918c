"""Stage 5: the new state of the conversation, computed and not yet stored."""

from __future__ import annotations

from dataclasses import replace

from compression.core.context import render
from compression.core.measure import usage
from compression.core.tokens import TokenCounter
from compression.core.values import MESSAGE_OVERHEAD, Draft


def update(draft: Draft, *, count: TokenCounter) -> Draft:
    """The compressed context, what stays verbatim before the cut, and the usage that comes of it."""
    cut = draft.cut
    assert cut is not None
    context = render(draft.checkpoints)
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
