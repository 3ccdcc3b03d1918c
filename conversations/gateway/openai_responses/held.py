"""Holds responses for HeldResponse.KEPT: the next request may name one, or its items, in place of the history.

Its caller may also read it again, or delete it.

A caller that says `"store": false` leaves nothing here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from conversations.errors import Invalid, NotFound
from conversations.gateway.openai_responses.reply import is_stored
from conversations.gateway.protocol import Json
from conversations.models import HeldResponse

REFERENCE = "item_reference"
_ID = re.compile(r"[a-z]{2,8}_([0-9a-f]{32})(?:_([0-9]{1,6}))?")


class PreviousNotFound(Invalid):
    code = "previous_response_not_found"


def completed(body: Json, owner_id: int) -> Json:
    """The request with the items of the responses that it names.

    Raises Invalid for a previous response that is not held. A reference to an unknown item stays as it is.
    """
    said, previous = body.get("input"), body.get("previous_response_id") or None
    own = _items(said)
    references = [item for item in own if _is_reference(item)]
    if (previous is None and not references) or not isinstance(said, str | list | None):
        return body
    named = {id for id in (_of(item.get("id"))[0] for item in references) if id}
    last, _ = _of(previous)
    rows = _rows(owner_id, named | ({last} if last else set()))
    history = _history(owner_id, rows.get(last) if last else None) if previous is not None else []
    outputs = {id: dict(enumerate(json.loads(row.output))) for id, row in rows.items()}
    own = [_found(item, outputs) if _is_reference(item) else item for item in own]
    return body | {"input": [*history, *own] or said}


def hold(owner_id: int, body: Json, response: Json) -> None:
    """Hold a response to a request with this body, as its caller sent it. Does nothing for `"store": false`."""
    (id, _), (last, _) = _of(response.get("id")), _of(body.get("previous_response_id"))
    if not is_stored(body) or id is None:
        return
    before: list[str] = []
    if last:
        chains = HeldResponse.objects.filter(owner_id=owner_id, pk=last).values_list("before", flat=True)
        before = [*(chains[0] if chains else ()), last.hex]
    own = _items(body.get("input"))
    carries_history = any(isinstance(item, dict) and item.get("id") for item in own)
    HeldResponse.objects.create(
        id=id,
        owner_id=owner_id,
        before=before,
        input=None if carries_history else json.dumps(own),
        output=json.dumps(response["output"]),
        head=json.dumps({name: value for name, value in response.items() if name != "output"}),
    )


def read(owner_id: int, id: str) -> Json:
    """A held response as its caller received it. Raises NotFound."""
    row = _held(owner_id, id).exclude(head="").first()
    if row is None:
        raise _unknown(id)
    return {**json.loads(row.head), "output": json.loads(row.output)}


def delete(owner_id: int, id: str) -> None:
    """Delete a held response and the items of its request. Raises NotFound."""
    deleted, _ = _held(owner_id, id).delete()
    if not deleted:
        raise _unknown(id)


def _held(owner_id: int, id: str) -> QuerySet[HeldResponse]:
    found, place = _of(id)
    rows = _of_owner(owner_id)
    return rows.filter(pk=found) if found and place is None else rows.none()


def _unknown(id: str) -> NotFound:
    return NotFound(
        f"Response with id '{id[:100]}' not found: the site holds a response for an hour after its last use, "
        "unless its request has store false."
    )


def _items(said: object) -> list[Any]:
    """The items of an input."""
    if isinstance(said, list):
        return said
    return [{"type": "message", "role": "user", "content": said}] if isinstance(said, str) and said else []


def _history(owner_id: int, row: HeldResponse | None) -> list[Json]:
    """The items of a response's request and answer, after those of all that led to it. Raises Invalid."""
    if row is None:
        raise _not_found("is not held here: it is of another person, older than an hour, or was made with store false")
    ids = [UUID(hex) for hex in row.before]
    rows = _rows(owner_id, ids) | {row.pk: row}
    chain = [rows.get(id) for id in (*ids, row.pk)]
    items: list[Json] = []
    for each in chain:
        if each is None:
            raise _not_found("follows another one that is no longer held")
        if each.input is None:
            raise _not_found("answered a request with items of earlier responses, and so is not held whole")
        items += [*json.loads(each.input), *json.loads(each.output)]
    HeldResponse.objects.filter(pk__in=list(rows)).update(used_at=timezone.now())
    return items


def _not_found(reason: str) -> PreviousNotFound:
    return PreviousNotFound(
        f"previous_response_id: this response {reason}. Send the whole input instead.", field="previous_response_id"
    )


def _rows(owner_id: int, ids: Iterable[UUID]) -> dict[UUID, HeldResponse]:
    return {row.pk: row for row in _of_owner(owner_id).filter(pk__in=list(ids))}


def _of_owner(owner_id: int) -> QuerySet[HeldResponse]:
    since = timezone.now() - HeldResponse.KEPT
    return HeldResponse.objects.filter(owner_id=owner_id, used_at__gte=since)


def _is_reference(item: object) -> bool:
    """Whether an item is a reference; a typeless object with an id alone is one too."""
    return isinstance(item, dict) and (item.get("type") == REFERENCE or item.keys() == {"id"})


def _found(item: Json, outputs: dict[UUID, dict[int, Json]]) -> Json:
    """The item that a reference names, or the reference. An item is given once: a short request must not become a long
    one by naming it again and again.
    """
    id, place = _of(item.get("id"))
    output = outputs.get(id, {}) if id else {}
    return output.pop(place, item) if place is not None else item


def _of(id: object) -> tuple[UUID | None, int | None]:
    """(the response, the place in its output) that an id of ours names."""
    found = _ID.fullmatch(id) if isinstance(id, str) else None
    return (UUID(found[1]), int(found[2]) if found[2] else None) if found else (None, None)
