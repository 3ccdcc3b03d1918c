from django.db import connection
from django.test.utils import CaptureQueriesContext


def plans(ran: CaptureQueriesContext, *, of: tuple[str, ...] = ("SELECT",)) -> list[str]:
    """The database's plan for each captured query that begins with a word in `of`.

    PostgreSQL reads a small table whole where that is as quick, and how small depends on the rows that earlier tests
    left. The plans here read a table whole only where no index serves, as with many rows.
    """
    is_sqlite = connection.vendor == "sqlite"
    prefix = "EXPLAIN QUERY PLAN " if is_sqlite else "EXPLAIN "
    found = []
    with connection.cursor() as cursor:
        if not is_sqlite:
            cursor.execute("SET enable_seqscan = off")
        for query in ran.captured_queries:
            if query["sql"].startswith(of):
                cursor.execute(prefix + query["sql"])
                found.append("\n".join(" ".join(map(str, row)) for row in cursor.fetchall()))
        if not is_sqlite:
            cursor.execute("RESET enable_seqscan")
    return found
