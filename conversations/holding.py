"""That a text holds some words, in whatever case: in time that grows with the text alone, and bounded all the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.db import OperationalError, connection
from django.db.models import CharField, TextField
from django.db.models.lookups import IContains

from conversations.errors import Invalid

SECONDS = 5.0
"""That a search may take."""
STEPS = 1_000
"""Of SQLite's machine, after which the clock is looked at: about as many rows as it reads in a few milliseconds."""
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
    if connection.vendor == "sqlite":
        connection.connection.create_function(FUNCTION, 2, holds, deterministic=True)


@contextmanager
def bounded(field: str, seconds: float = SECONDS) -> Iterator[None]:
    """Each query ends after so many seconds. Raises Invalid then, which names the `field` of the words."""
    connection.ensure_connection()
    until = time.monotonic() + seconds
    raw: Any = connection.connection
    is_sqlite = connection.vendor == "sqlite"
    if is_sqlite:
        raw.set_progress_handler(lambda: time.monotonic() > until, STEPS)
    else:
        raw.execute(f"SET statement_timeout = {int(1000 * seconds)}")
    try:
        yield
    except OperationalError as error:
        if "interrupted" not in str(error) and "statement timeout" not in str(error):
            raise
        words = f"{field}: looking for this took more than {seconds:g} seconds. Look for longer words."
        raise Invalid(words, field=field, limit=seconds) from None
    finally:
        if is_sqlite:
            raw.set_progress_handler(None, STEPS)
        else:
            with suppress(Exception):  # a transaction that failed has taken it back by itself
                raw.execute("RESET statement_timeout")
