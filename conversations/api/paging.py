"""Lists in pages. A cursor names the last item of a page; callers must not rely on its form."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.db.models import Model, Q, QuerySet
from ninja import Query

from conversations.messages.cursors import microseconds, moment_at, not_ours

SHAPE = re.compile(r"(-?\d{1,17}) ([0-9a-f-]{1,36})", re.ASCII)

Limit = Annotated[int, Query(ge=1, le=200, description="How many of them at most.")]
Cursor = Annotated[
    str | None, Query(max_length=200, description="`next` of the page before; without it the first page is given.")
]


def newest_first[Row: Model](
    rows: QuerySet[Row], to_json: Callable[[Row], dict[str, Any]], *, by: str, cursor: str | None, limit: int
) -> dict[str, Any]:
    """One page of `rows`, latest `by` first; rows with equal dates are ordered by id."""
    if cursor is not None:
        moment, last_id = _read_uuid(cursor)
        # The first condition is what an index seeks by; it cannot by an OR alone.
        rows = rows.filter(Q(**{f"{by}__lte": moment}) & (Q(**{f"{by}__lt": moment}) | Q(pk__lt=last_id)))
    found = list(rows.order_by(f"-{by}", "-pk")[: limit + 1])
    page = found[:limit]
    more = write_cursor(getattr(page[-1], by), str(page[-1].pk)) if len(found) > limit else None
    return {"items": [to_json(row) for row in page], "next": more}


def write_cursor(moment: datetime, rest: str) -> str:
    text = f"{microseconds(moment)} {rest}"
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> tuple[datetime, str]:
    """The values that `write_cursor` was given. Raises Invalid for any other text."""
    try:
        text = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        if not (found := SHAPE.fullmatch(text)):
            raise ValueError
        return moment_at(found[1]), found[2]
    except (ValueError, OverflowError):
        raise not_ours() from None


def _read_uuid(cursor: str) -> tuple[datetime, UUID]:
    moment, rest = read_cursor(cursor)
    try:
        return moment, UUID(rest)
    except ValueError:
        raise not_ours() from None
