"""Decides which system messages in the middle of another program's conversation stay in force.

Programs give instructions as system messages, and coding agents add notices as such for as long as they work: changed
files, diagnostics, reminders. No summary may swallow an instruction, and notices must not fill the window.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


def in_force(sizes: Sequence[int | None], *, first_reply: int, most: int) -> set[int]:
    """The numbers of the instructions that stay in force; `sizes` has None for a message that is none.

    All those before the `first_reply` stay, and of later ones the newest, `most` in size. If they exceed it, half of it
    stays, so that a provider's cache loses the beginning of the requests only now and then.
    """
    kept = {number for number, size in enumerate(sizes[:first_reply]) if size is not None}
    later: deque[tuple[int, int]] = deque()
    total = 0
    for number, size in enumerate(sizes[first_reply:], start=first_reply):
        if size is None:
            continue
        later.append((number, size))
        total += size
        if total > most:
            while len(later) > 1 and total > most // 2:
                total -= later.popleft()[1]
    return kept | {number for number, _ in later}
