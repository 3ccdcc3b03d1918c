"""Reads large files in a separate process, which builds their unsaved rows without a database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from conversations.exchange.document import ImportedSource, SkippedConversation

django.setup()


def work(job: tuple[bytes, dict[str, bytes]]) -> Iterator[ImportedSource | SkippedConversation]:
    from conversations.exchange.parse import sources

    yield from sources(*job)
