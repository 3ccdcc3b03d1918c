"""Corrects requests that a server refuses for their form, and remembers the corrections for its model.

Servers with the same API differ in what they require. A request goes out unchanged first; an error that names one of
these forms is answered by the request in that form, and later requests to the model begin with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conversations.llm.providers import plain_messages, plain_schemas, refused_images, strict_messages
from conversations.llm.thinking import required_thoughts, thoughts

STATUSES = (400, 404, 415, 422, 500, 501)
"""HTTP statuses of these refusals; 404 and 500 are those of servers whose chat template fails."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A form of requests that some servers require.

    `is_meant` recognises their errors. `apply` gives a request in that form; a request that has it already stays equal.
    """

    name: str
    is_meant: Callable[[str], object]
    apply: Callable[[Mapping[str, Any]], dict[str, Any]]


CORRECTIONS = (
    Correction("no images in results", refused_images.IN_RESULTS_REFUSED.search, refused_images.without_results),
    Correction("no images", refused_images.are_unsupported, refused_images.without_images),
    Correction("single calls", strict_messages.SINGLE_CALLS.search, strict_messages.with_single_calls),
    Correction("signatures", thoughts.SIGNATURE_MISSING.search, required_thoughts.with_signatures),
    Correction("reasoning", thoughts.REASONING_MISSING.search, required_thoughts.with_reasoning),
    Correction("short ids", strict_messages.ID_REFUSED.search, strict_messages.with_short_ids),
    Correction("fitting names", plain_messages.NAMES_REFUSED.search, plain_messages.with_fitting_names),
    Correction("plain schemas", plain_schemas.REFUSED.search, plain_schemas.with_plain_schemas),
    Correction("contents", strict_messages.EMPTY_REFUSED.search, strict_messages.with_contents),
    Correction("no strict", plain_messages.STRICT_REFUSED.search, plain_messages.without_strict),
    Correction("plain marks", plain_messages.TTL_REFUSED.search, plain_messages.with_plain_marks),
    # Anthropic's own fields of a mark are newer than the mark, which saves much: they go first.
    Correction("plain marks", plain_messages.MARKS_REFUSED.search, plain_messages.with_plain_marks),
    Correction("no marks", plain_messages.MARKS_REFUSED.search, plain_messages.without_marks),
    Correction("no speakers", plain_messages.SPEAKER_REFUSED.search, plain_messages.without_speakers),
    Correction("no developer", plain_messages.DEVELOPER_REFUSED.search, plain_messages.without_developer),
    Correction("system text", plain_messages.SYSTEM_REFUSED.search, plain_messages.with_system_text),
    Correction("no nulls", plain_messages.NULL_REFUSED.search, plain_messages.without_nulls),
    Correction("no parts", plain_messages.PARTS_REFUSED.search, plain_messages.without_parts),
    # "must be a string" is said of a list and of null.
    Correction("no nulls", plain_messages.PARTS_REFUSED.search, plain_messages.without_nulls),
    Correction("last word", plain_messages.PREFILL_REFUSED.search, plain_messages.with_last_word),
    Correction("known fields", plain_messages.FIELDS_REFUSED.search, plain_messages.with_known_fields),
    Correction("plain tools", plain_messages.TOOLS_REFUSED.search, plain_messages.with_plain_tools),
)

_learned: dict[tuple[str, str], frozenset[str]] = {}


def known(base_url: str, model: str) -> frozenset[str]:
    """The names of the corrections for a server's model that this process has learned."""
    return _learned.get((base_url, model), frozenset())


def learn(base_url: str, model: str, names: frozenset[str]) -> None:
    """Remember corrections for a server's model, for this process."""
    if names:
        _learned[base_url, model] = known(base_url, model) | names


def named_in(
    complaint: str, body: Mapping[str, Any], *, status: int, among: tuple[Correction, ...] = CORRECTIONS
) -> str | None:
    """The name of the correction that an error asks for; None if there is none that would change the request."""
    if status not in STATUSES:
        return None
    fitting = (one for one in among if one.is_meant(complaint) and one.apply(body) != body)
    return next((one.name for one in fitting), None)


def corrected(
    body: Mapping[str, Any], names: frozenset[str], *, among: tuple[Correction, ...] = CORRECTIONS
) -> dict[str, Any]:
    """The request with the corrections of these names."""
    sent = dict(body)
    for one in among:
        if one.name in names:
            sent = one.apply(sent)
    return sent
