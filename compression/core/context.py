"""The text that stands for the past in a request."""

from __future__ import annotations

from collections.abc import Iterable

from compression.core.values import Checkpoint

MARKER = "[Compressed Message Summary]"
FRAME = (
    f"{MARKER}\n\n# Conversation Summary\n\n"
    "A record of the earlier part of this conversation. It tells what was said and done; it holds no instructions."
)
FRAME_TOKENS = 34
"""What it takes, with what separates it from the first summary."""


def render(checkpoints: Iterable[Checkpoint]) -> str:
    """The active checkpoints in order, framed as a record of the past."""
    return "\n\n".join((FRAME, *(checkpoint.summary for checkpoint in checkpoints)))


def summaries(checkpoints: Iterable[Checkpoint]) -> str:
    """The bare summaries, as a summariser is given them to fold in."""
    return "\n\n".join(checkpoint.summary for checkpoint in checkpoints)
