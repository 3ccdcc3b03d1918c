"""/api/conversations: make, list, read, change and delete them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal
from uuid import UUID

from django.db import transaction
from ninja import Query, Router

from conversations.access import (
    CHATS,
    TO_READ,
    disposable_conversation,
    get_conversation,
    own_conversations,
    writable_conversation,
)
from conversations.api.auth import Request
from conversations.api.openapi import refuses
from conversations.api.paging import Cursor, Limit, newest_first
from conversations.api.schemas import conversations as schema
from conversations.api.schemas.fields import described
from conversations.context.reliability import reliability_of
from conversations.errors import Invalid
from conversations.instructions import conversation_settings as settings
from conversations.instructions import goals, ledger
from conversations.instructions.rules import checked
from conversations.llm.profiles import default_profile
from conversations.models import Conversation, Project
from conversations.projects import MAY_WRITE, projects_for
from conversations.runtime.payloads import conversation_json, goal_json
from conversations.turns import conversations
from conversations.validation import clean_text

router = Router(tags=["conversations"])

MAX_SEARCH = 200

Kind = Annotated[
    Literal["chat", "agent", "gateway"] | None,
    Query(description="Chats, agents, or those of the gateway alone; without it chats and agents."),
]
InProject = Annotated[UUID | None, Query(description="Those of this project alone.")]
Search = Annotated[str, Query(max_length=MAX_SEARCH, description="A part of the title, in upper or lower case.")]


@router.post(
    "",
    operation_id="conversations_create",
    response={201: described(schema.Conversation)},
    summary="Create a conversation",
)
def create_conversation(request: Request, body: schema.NewConversation) -> dict[str, Any]:
    """The conversation is empty. It has the site's default model unless you name another."""
    fields = body.model_dump(exclude={"model", "project"})
    fields["effort"] = fields["effort"] or ""
    project = _project(request, body.project)
    model = (
        settings.named_profile(request.auth, body.model)
        or (project and project.model)
        or default_profile(request.auth.pk)
    )
    row = Conversation(owner=request.auth, model=model, project=project, **fields)
    row.rules = checked(row, row.rules, model=row.model)
    with transaction.atomic():
        row.save()
        ledger.set_rules(row.pk, row.rules)
    return _with_goal(row)


@router.get(
    "", operation_id="conversations_list_all", response=described(schema.ConversationPage), summary="List conversations"
)
def list_conversations(
    request: Request,
    q: Search = "",
    kind: Kind = None,
    project: InProject = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    """Your own conversations, the latest first.

    Those of the gateway can be read, rolled back and deleted; any other change is 409 `read_only`, as the next call of
    their program decides what they hold. Messages of executors are in no list: `runs` of an agent names them.
    """
    rows = own_conversations(request.auth, kinds=(kind,) if kind else CHATS).select_related("model")
    if project:
        rows = rows.filter(project=project)
    if q:
        rows = rows.filter(title__icontains=clean_text("q", q, limit=MAX_SEARCH, allow_blank=True))
    return newest_first(rows, conversation_json, by="updated_at", cursor=cursor, limit=limit)


@router.get(
    "/{uuid:conversation_id}",
    operation_id="conversations_read",
    response=described(schema.Conversation),
    summary="Read a conversation",
)
def read_conversation(request: Request, conversation_id: UUID) -> dict[str, Any]:
    """Its settings, its goal, and how reliable its model is at this length."""
    return _with_goal(get_conversation(request.auth, conversation_id, kinds=TO_READ))


@router.patch(
    "/{uuid:conversation_id}",
    operation_id="conversations_change",
    response=described(schema.Conversation),
    summary="Change a conversation",
    openapi_extra=refuses(409),
)
def change_conversation(request: Request, conversation_id: UUID, body: schema.ConversationChanges) -> dict[str, Any]:
    """Fields that are not named stay as they are. While a reply is written the model stays: 409 `reply_running`."""
    conversation = writable_conversation(request.auth, conversation_id)
    changes: settings.Changes = body.model_dump(exclude_unset=True)  # type: ignore[assignment]
    if "model" in changes:
        changes["model"] = settings.named_profile(request.auth, body.model) or default_profile(request.auth.pk)
    if "project" in changes:
        changes["project"] = _project(request, body.project)
    settings.change(conversation, **changes)
    return _with_goal(conversation)


@router.delete(
    "/{uuid:conversation_id}",
    operation_id="conversations_delete",
    response={204: None},
    summary="Delete a conversation",
    openapi_extra=refuses(409),
)
def delete_conversation(request: Request, conversation_id: UUID) -> None:
    """Deletes its messages, summaries and runs for good. A reply that is being written ends."""
    conversations.delete(disposable_conversation(request.auth, conversation_id))


def _with_goal(conversation: Conversation) -> dict[str, Any]:
    """The conversation as JSON, with its goal and its reliability."""
    goal, trust = goals.active_goal(conversation.pk), reliability_of(conversation)
    return conversation_json(conversation) | {
        "goal": goal_json(goal) if goal else None,
        "reliability": asdict(trust) | {"warns": trust.warns} if trust else None,
    }


def _project(request: Request, project_id: UUID | None) -> Project | None:
    """The project of this id, in which the person may write; None for no id. Raises Invalid."""
    if project_id is None:
        return None
    project = projects_for(request.auth, MAY_WRITE).select_related("model").filter(pk=project_id).first()
    if project is None:
        raise Invalid("project: there is no such project.", field="project")
    return project
