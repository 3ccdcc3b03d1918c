"""The citations of a summary in our own export: the messages that each of its statements comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from compression.core.citation_values import Citations
from compression.core.citations.claims import claims_in
from compression.core.citations.marks import without_marks
from conversations.exchange.fields import read_list, read_number, read_object, read_text

MAX_STATEMENTS = 100_000
MAX_CITED = 10
"""The most messages of one statement."""
MAX_MISSING, MAX_MISSING_CHARS = 1_000, 1_000
"""The most texts of one statement that no message has, and the most characters of each."""


def read_citations(where: str, entry: Mapping[str, Any], summary: str, places: Mapping[str, int]) -> Citations | None:
    """The citations in a file, whose `messages` are places of its lines; None if the file has none for this summary.

    Ids that are no messages of the file are left out. Raises Invalid, naming the place.
    """
    if entry.get("citations") is None:
        return None
    claims = claims_in(without_marks(summary))
    told = [number for number, claim in enumerate(claims) if claim.text]
    listed = read_list(f"{where}.citations", entry["citations"], limit=MAX_STATEMENTS)
    if len(listed) != len(told):
        return None  # of another text: the summary was changed in the file
    cited: dict[int, list[str]] = {}
    missing: dict[int, tuple[str, ...]] = {}
    for number, one in zip(told, listed, strict=True):
        place = f"{where}.citations[{number}]"
        each = read_object(place, one)
        ids = read_list(f"{place}.messages", each.get("messages", []), limit=MAX_CITED)
        cited[number] = [str(places[id]) for id in ids if isinstance(id, str) and id in places]
        texts = read_list(f"{place}.missing", each.get("missing", []), limit=MAX_MISSING)
        if texts:
            missing[number] = tuple(read_text(f"{place}.missing", text, limit=MAX_MISSING_CHARS) for text in texts)
    order = {place: at for at, place in enumerate(dict.fromkeys(one for each in cited.values() for one in each))}
    found = tuple(tuple(order[one] for one in cited.get(number, ())) for number in range(len(claims)))
    dropped = read_number(f"{where}.dropped", entry.get("dropped") or 0)
    return Citations(tuple(order), found, missing, len(told), dropped)


def with_ids(citations: Citations | None, ids: Sequence[object]) -> Citations | None:
    """The citations with the ids of stored messages in place of lines' places."""
    return citations and replace(citations, messages=tuple(str(ids[int(place)]) for place in citations.messages))
