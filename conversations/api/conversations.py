"""/api/conversations: make, list, read, change and delete them."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Router
from pydantic import AfterValidator, BaseModel, ConfigDict

from conversations import goals, turn, usage
from conversations.access import get_conversation, own_conversations
from conversations.api.auth import Request
from conversations.api.paging import Cursor, Limit, newest_first
from conversations.errors import Invalid
from conversations.events import publish
from conversations.llm.profiles import default_profile
from conversations.models import Conversation, ModelProfile
from conversations.models.conversation import MAX_SYSTEM_PROMPT, MAX_TITLE
from conversations.policies import checked_policy
from conversations.rules import checked, clean_rules
from conversations.shapes import conversation_json, goal_json
from conversations.trust import trust_of
from conversations.validation import clean_text

router = Router(tags=["conversations"])

MAX_SEARCH = 200

Title = Annotated[str, AfterValidator(partial(clean_text, "title", limit=MAX_TITLE, allow_blank=True))]
SystemPrompt = Annotated[
    str, AfterValidator(partial(clean_text, "system_prompt", limit=MAX_SYSTEM_PROMPT, allow_blank=True))
]
Policy = Annotated[dict[str, Any], AfterValidator(checked_policy)]
Rules = Annotated[list[Any], AfterValidator(partial(clean_rules, "rules"))]
Mode = Literal["assistant", "developer", "planning", "debugger"]


class NewConversation(BaseModel):
    """`model` is the name of a model profile; without one the site's default is taken."""

    model_config = ConfigDict(extra="forbid", strict=True)

    title: Title = ""
    model: str | None = None
    mode: Mode = "assistant"
    system_prompt: SystemPrompt = ""
    policy: Policy = {}
    rules: Rules = []
    kind: Literal["chat"] = "chat"


class Changes(BaseModel):
    """What is not named stays as it is; a model of null is the site's default."""

    model_config = ConfigDict(extra="forbid", strict=True)

    title: Title = ""
    model: str | None = None
    mode: Mode = "assistant"
    system_prompt: SystemPrompt = ""
    policy: Policy = {}
    rules: Rules = []
    pinned: bool = False
    archived: bool = False


@router.post("", response={201: dict[str, Any]})
def create(request: Request, body: NewConversation) -> dict[str, Any]:
    fields = body.model_dump(exclude={"model"})
    row = Conversation.objects.create(owner=request.auth, model=_profile(body.model), **fields)
    return _told(row)


@router.get("", response=dict[str, Any])
def list_all(request: Request, q: str = "", cursor: Cursor = None, limit: Limit = 50) -> dict[str, Any]:
    """The latest first; `q` is a part of the title."""
    rows = own_conversations(request.auth).select_related("model")
    if q:
        rows = rows.filter(title__icontains=clean_text("q", q, limit=MAX_SEARCH, allow_blank=True))
    return newest_first(rows, conversation_json, by="updated_at", cursor=cursor, limit=limit)


@router.get("/{uuid:conversation_id}", response=dict[str, Any])
def read(request: Request, conversation_id: UUID) -> dict[str, Any]:
    return _told(get_conversation(request.auth, conversation_id))


@router.patch("/{uuid:conversation_id}", response=dict[str, Any])
def change(request: Request, conversation_id: UUID, body: Changes) -> dict[str, Any]:
    conversation = get_conversation(request.auth, conversation_id)
    fields: dict[str, Any] = body.model_dump(exclude_unset=True)
    if "model" in fields:
        fields["model"] = _profile(fields["model"])
    if "rules" in fields:
        fields["rules"] = checked(conversation, fields["rules"])
    for name, value in fields.items():
        setattr(conversation, name, value)
    # These fields alone: a compaction may be writing the others.
    conversation.save(update_fields=fields)
    if "title" in fields:
        publish(conversation.pk, "title.updated", title=conversation.title)
    if fields.keys() & {"model", "mode", "system_prompt", "policy", "rules"}:
        usage.tell(conversation.pk)
    return _told(conversation)


@router.delete("/{uuid:conversation_id}", response={204: None})
def delete(request: Request, conversation_id: UUID) -> None:
    conversation = get_conversation(request.auth, conversation_id)
    turn.delete(conversation)


def _told(conversation: Conversation) -> dict[str, Any]:
    """With its goal, and how far the model can be trusted with it."""
    goal, trust = goals.active(conversation.pk), trust_of(conversation)
    return conversation_json(conversation) | {
        "goal": goal_json(goal) if goal else None,
        "reliability": asdict(trust) | {"warns": trust.warns} if trust else None,
    }


def _profile(name: str | None) -> ModelProfile | None:
    if name is None:
        return default_profile()
    name = clean_text("model", name, limit=100)
    profile = ModelProfile.objects.filter(name=name, enabled=True, role=ModelProfile.Role.CHAT).first()
    if profile is None:
        raise Invalid(f"model: there is no model called {name!r}.", field="model")
    return profile
