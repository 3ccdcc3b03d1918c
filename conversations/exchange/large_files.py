"""Large files read, in a process of its own, which knows the rows that they become but no database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from conversations.exchange.source import Source

django.setup()


def work(payload: bytes) -> Iterator[Source]:
    from conversations.exchange.documents import sources

    yield from sources(payload)
