"""Ranges of days in UTC; a row belongs to the day on which its id was made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

from compression.ids import first_id, moment_of


@dataclass(frozen=True, slots=True)
class Days:
    """The days from `first` to `last`, both included."""

    first: date
    last: date

    @classmethod
    def until(cls, last: date, count: int) -> Days:
        """The `count` days that end with `last`."""
        return cls(last - timedelta(days=count - 1), last)

    def __len__(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def dates(self) -> list[date]:
        return [self.first + timedelta(days=number) for number in range(len(self))]

    @property
    def start(self) -> datetime:
        return _midnight(self.first)

    @property
    def end(self) -> datetime:
        """The first moment after the last day."""
        return _midnight(self.last + timedelta(days=1))

    @property
    def bounds(self) -> list[UUID]:
        """The smallest possible id of each day, and of the day after the last."""
        return [first_id(_midnight(day)) for day in (*self.dates, self.last + timedelta(days=1))]


def day_of(id: UUID) -> date:
    """The day on which an id was made."""
    return moment_of(id).date()


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
