"""/api/conversations/{id}/ledger: the rules, preferences, decisions and corrections that a person typed."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from ninja import Query, Router, Status

from conversations.access import TO_READ, get_conversation, writable_conversation
from conversations.api.auth import Request
from conversations.api.openapi import refuses
from conversations.api.paging import Cursor, Limit, newest_first
from conversations.api.schemas import ledger as schema
from conversations.api.schemas.fields import described
from conversations.errors import Invalid
from conversations.instructions import conversation_settings as settings
from conversations.instructions import ledger, ledger_entries
from conversations.instructions.rules import clean_rules
from conversations.runtime.payloads import entry_json

router = Router(tags=["ledger"])

ByState = Annotated[schema.State | None, Query(description="Entries in this state alone.")]
ByKind = Annotated[schema.Kind | None, Query(description="Entries of this kind alone.")]


@router.get("/{uuid:conversation_id}/ledger", response=described(schema.EntryPage), summary="Read the ledger")
def list_all(
    request: Request,
    conversation_id: UUID,
    state: ByState = None,
    kind: ByKind = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    """The rules, preferences, decisions and corrections in what the person typed, with their states."""
    rows = ledger_entries.current(get_conversation(request.auth, conversation_id, kinds=TO_READ).pk)
    rows = rows.filter(state=state) if state else rows
    rows = rows.filter(kind=kind) if kind else rows
    return newest_first(rows, entry_json, by="said_at", cursor=cursor, limit=limit)


@router.post(
    "/{uuid:conversation_id}/ledger",
    response={201: described(schema.Entry)},
    summary="Add a rule",
    openapi_extra=refuses(409),
)
def add(request: Request, conversation_id: UUID, body: schema.NewEntry) -> Any:
    """The rule is in force at once and replaces rules about the same subject."""
    conversation = writable_conversation(request.auth, conversation_id)
    (text,) = clean_rules("text", [body.text])
    settings.add_rule(conversation, text)
    return Status(
        201,
        entry_json(ledger_entries.current(conversation.pk).filter(text=text, state="in_force").latest("decided_at")),
    )


@router.patch(
    "/{uuid:conversation_id}/ledger/{uuid:entry_id}",
    response=described(schema.Entry),
    summary="Change an entry",
    openapi_extra=refuses(409),
)
def choose(request: Request, conversation_id: UUID, entry_id: UUID, body: schema.Choice) -> dict[str, Any]:
    """Sets its state, or keeps it for the project.

    An entry in force is a rule of every request and replaces rules about the same subject.
    """
    conversation = writable_conversation(request.auth, conversation_id)
    if body.state is None and body.kept is None:
        raise Invalid("state: name it, or kept.", field="state")
    entry = ledger.choose(conversation, entry_id, state=body.state) if body.state else None
    if body.kept is not None:
        entry = ledger.keep(conversation, entry_id, on=body.kept)
    assert entry is not None
    return entry_json(entry)
