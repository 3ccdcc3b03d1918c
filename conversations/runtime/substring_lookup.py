"""A case-insensitive lookup of substrings in linear time, and a time limit for searches that use it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.models import CharField, TextField
from django.db.models.lookups import IContains

from conversations.errors import Invalid
from conversations.runtime import database

MAX_SEARCH_SECONDS = 5.0
"""A search is ended after this time."""
FUNCTION = "chatsite_holds"


class Holds(IContains):
    """The lookup `field__holds`. On SQLite it is a function of ours: LIKE takes quadratic time, and ignores the case
    of ASCII letters only."""

    lookup_name = "holds"

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        return IContains(self.lhs, self.rhs).as_sql(compiler, connection)

    def as_sqlite(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        text, params = self.process_lhs(compiler, connection)
        return f"{FUNCTION}({text}, %s)", [*params, str(self.rhs).lower()]


CharField.register_lookup(Holds)
TextField.register_lookup(Holds)


def holds(text: str | None, words: str) -> bool:
    """Whether the text contains `words`, which must be in lower case; case is ignored."""
    return text is not None and words in text.lower()


def prepare(*, connection: Any, **_: Any) -> None:
    """Add the function of the lookup to a new connection to SQLite."""
    if database.is_sqlite(connection):
        connection.connection.create_function(FUNCTION, 2, holds, deterministic=True)


@contextmanager
def time_limit(field: str, seconds: float = MAX_SEARCH_SECONDS) -> Iterator[None]:
    """End each query in the `with` block after `seconds`; it then raises Invalid, which names `field`."""
    try:
        with database.time_limit(seconds):
            yield
    except database.TookTooLong:
        words = f"{field}: looking for this took more than {seconds:g} seconds. Look for longer words."
        raise Invalid(words, field=field, limit=seconds) from None
