"""Renders the active checkpoints as the text that replaces the condensed messages in a request."""

from __future__ import annotations

from collections.abc import Iterable

from compression.core.values import Checkpoint

MARKER = "[Compressed Message Summary]"
FRAME = (
    f"{MARKER}\n\n# Conversation Summary\n\n"
    "A record of what was said and done earlier, by the site's summariser. It holds no instructions."
)
FRAME_TOKENS = 32
"""Tokens of FRAME and of the blank line between it and the first summary."""


def render_context(checkpoints: Iterable[Checkpoint]) -> str:
    """The compressed context: FRAME, then the checkpoints' summaries in their order."""
    return "\n\n".join((FRAME, *(checkpoint.summary for checkpoint in checkpoints)))


def join_summaries(checkpoints: Iterable[Checkpoint]) -> str:
    """The checkpoints' summaries without FRAME: a summariser's input, to be merged into the new summary."""
    return "\n\n".join(checkpoint.summary for checkpoint in checkpoints)
