"""That a text holds some words, in whatever case: in time that grows with the text alone, and bounded all the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.models import CharField, TextField
from django.db.models.lookups import IContains

from conversations.errors import Invalid
from conversations.runtime import database

SECONDS = 5.0
"""That a search may take."""
FUNCTION = "chatsite_holds"


class Holds(IContains):
    """`field__holds`. SQLite's LIKE compares the pattern anew at every place of the text, and knows upper and lower
    case of ASCII alone."""

    lookup_name = "holds"

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        return IContains(self.lhs, self.rhs).as_sql(compiler, connection)

    def as_sqlite(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        text, params = self.process_lhs(compiler, connection)
        return f"{FUNCTION}({text}, %s)", [*params, str(self.rhs).lower()]


CharField.register_lookup(Holds)
TextField.register_lookup(Holds)


def holds(text: str | None, words: str) -> bool:
    """`words` in small letters."""
    return text is not None and words in text.lower()


def prepare(*, connection: Any, **_: Any) -> None:
    """Of a connection that was opened."""
    if database.is_sqlite(connection):
        connection.connection.create_function(FUNCTION, 2, holds, deterministic=True)


@contextmanager
def bounded(field: str, seconds: float = SECONDS) -> Iterator[None]:
    """Each query ends after so many seconds. Raises Invalid then, which names the `field` of the words."""
    try:
        with database.time_limit(seconds):
            yield
    except database.TookTooLong:
        words = f"{field}: looking for this took more than {seconds:g} seconds. Look for longer words."
        raise Invalid(words, field=field, limit=seconds) from None
