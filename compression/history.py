"""Filters a conversation's messages by the time up to which they are compacted.

A conversation that is compacted up to `compressed_at` sends the messages after that time, and the earlier ones that it
keeps word for word by their ids. Its summaries stand for all the others.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

from django.db import models

BEGINNING = datetime.min.replace(tzinfo=UTC)
"""A moment before every message: the cut of a conversation that is not compacted."""


class HistoryQuerySet[M: models.Model](models.QuerySet[M]):
    """Messages with a `created_at`. The methods filter any set of them, as `filter` does."""

    def after_cut(self, cut: datetime | None) -> HistoryQuerySet[M]:
        """The messages that no summary stands for; all of them where nothing is compacted."""
        return self.filter(created_at__gt=cut or BEGINNING)

    def within(self, after: datetime | None, up_to: datetime) -> HistoryQuerySet[M]:
        """The messages in (after, up_to], which one summary stands for."""
        return self.after_cut(after).filter(created_at__lte=up_to)

    def kept(self, ids: Collection[Any], *, cut: datetime | None = None) -> HistoryQuerySet[M]:
        """The messages with these ids, up to the cut if one is given: they are sent beside the summaries."""
        kept = self.filter(pk__in=ids)
        return kept if cut is None else kept.filter(created_at__lte=cut)
