"""A conversation, and what may be said of it."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from conversations.api.schemas.fields import Body, Effort, LooksLike, Mode, about
from conversations.api.schemas.goals import Goal
from conversations.api.schemas.policies import Policy, PolicySettings
from conversations.context.system_prompt import clean_system_prompt
from conversations.instructions.conversation_settings import clean_effort, clean_title
from conversations.instructions.rules import MAX_RULE_CHARS, MAX_RULES, clean_rules
from conversations.models.conversation import MAX_SYSTEM_PROMPT_CHARS, MAX_TITLE_CHARS

Rule = Annotated[str, Field(min_length=1, max_length=MAX_RULE_CHARS)]
Rules = Annotated[
    list[Any],
    AfterValidator(partial(clean_rules, "rules")),
    LooksLike(Annotated[list[Rule], Field(max_length=MAX_RULES)]),
]
Title = Annotated[str, AfterValidator(clean_title), Field(json_schema_extra={"maxLength": MAX_TITLE_CHARS})]
SystemPrompt = Annotated[
    str, AfterValidator(clean_system_prompt), Field(json_schema_extra={"maxLength": MAX_SYSTEM_PROMPT_CHARS})
]
OwnEffort = Annotated[Any, AfterValidator(clean_effort), LooksLike(Effort | None)]
ProjectId = Annotated[UUID | None, Field(strict=False)]
ModelName = Annotated[str | None, Field(json_schema_extra={"maxLength": 100, "minLength": 1})]

TITLE = "At most 200 characters; an empty one is made from the first message, and by a model after it."
MODEL = "Name of a model, from `GET /api/models`; null is the site's default."
EFFORT = "How hard its model thinks before a reply; null: as the model is set. Not said to a server that refuses it."
PROJECT = "Id of its project, from `GET /api/projects`; null: it is in none."
SHARES_MEMORY = "Whether its project's other conversations get passages of it, and it of them."
MODE = "What a summary must not lose."
SYSTEM_PROMPT = (
    "The person's own instructions, sent whole with each request, to an agent's executors too. Stored without blanks "
    "around them."
)
POLICY = "Its own settings of compaction; the site's where they are not named."
RULES = "What the model must always or never do: in every request, and in no summary."

PROPOSED = (
    "Instructions of an imported file. No request has them: set `system_prompt` to them to use them, or to anything "
    "else to dismiss them."
)
KIND = (
    "A `chat`; an `agent`, whose model plans and hands tasks to executors; of the `gateway`; or what is said to an "
    "`executor`."
)
USES_TOOLS = "Whether its model is offered tools, if it can call any."


class ListedConversation(BaseModel):
    id: UUID = about("Its id.", "0199b3c2-8b10-7aa2-b6f4-5f0d6f0a7c3e")
    title: str = about("Its title; empty until something was said.", "Ports of the billing service")
    model: str | None = about("Name of its model; null: none was there when it was made.", "gpt-4.1-mini")
    effort: Effort | None = about(EFFORT, "high")
    project: UUID | None = about(PROJECT, "0199b3c2-7d20-7c31-9a1e-2b6f0c9a4d15")
    shares_memory: bool = about(SHARES_MEMORY, True)
    mode: Mode = about(MODE, "developer")
    system_prompt: str = about(SYSTEM_PROMPT, "Answer briefly.")
    proposed_system_prompt: str = about(PROPOSED, "")
    policy: PolicySettings = about(POLICY)
    rules: list[str] = about(RULES, ["Never use port 8080"])
    kind: Literal["chat", "agent", "gateway", "executor"] = about(KIND, "chat")
    uses_tools: bool = about(USES_TOOLS, True)
    pinned: bool = about("Whether it stands at the top of the list.", False)
    archived: bool = about("Whether it is put away.", False)
    compressed_at: datetime | None = about(
        "`created_at` of the last message that was compacted; null: none was.", "2026-11-20T09:10:31.204518+00:00"
    )
    compression_version: int = about("Rises with every change of what is compacted.", 2, ge=0)
    created_at: datetime = about("When it was begun.", "2026-11-20T08:30:00+00:00")
    updated_at: datetime = about("When something was last said.", "2026-11-20T09:12:44.871022+00:00")


class Reliability(BaseModel):
    """How far the model can be trusted with it: summaries of summaries lose something each time."""

    share: float = about("By the model's size and the number of compactions.", 0.86, ge=0, le=1)
    compactions: int = about("How many are in effect.", 1, ge=0)
    limit: int = about("From how many on a fresh conversation is the better way.", 10, ge=0)
    warns: bool = about("Whether it has come to that.", False)


class Conversation(ListedConversation):
    goal: Goal | None = about("What it is to reach; null: no goal is set.")
    reliability: Reliability | None = about("Null where no model is set.")


class ConversationPage(BaseModel):
    items: list[ListedConversation] = about("The latest first.")
    next: str | None = about("The `cursor` of the next page; null: this is the last.", "MTc2MzYzMDA0NCAwMTk5YjNjMg")


class NewConversation(Body):
    model_config = ConfigDict(
        json_schema_extra={"example": {"title": "Ports of the billing service", "mode": "developer"}}
    )

    title: Title = Field(default="", description=TITLE)
    model: ModelName = Field(default=None, description=MODEL)
    effort: OwnEffort = Field(default=None, description=EFFORT)
    project: ProjectId = Field(default=None, description=PROJECT)
    shares_memory: bool = Field(default=True, description=SHARES_MEMORY)
    mode: Mode = Field(default="assistant", description=MODE)
    system_prompt: SystemPrompt = Field(default="", description=SYSTEM_PROMPT)
    policy: Policy = Field(default={}, description=POLICY)
    rules: Rules = Field(default=[], description=RULES)
    kind: Literal["chat", "agent"] = Field(default="chat", description=KIND)
    uses_tools: bool = Field(default=True, description=USES_TOOLS)


class ConversationChanges(Body):
    """Fields that are not named stay as they are."""

    model_config = ConfigDict(json_schema_extra={"example": {"title": "Ports and hosts", "pinned": True}})

    title: Title = Field(default="", description=TITLE)
    model: ModelName = Field(default=None, description=MODEL)
    effort: OwnEffort = Field(default=None, description=EFFORT)
    project: ProjectId = Field(default=None, description=PROJECT)
    shares_memory: bool = Field(default=True, description=SHARES_MEMORY)
    mode: Mode = Field(default="assistant", description=MODE)
    system_prompt: SystemPrompt = Field(default="", description=SYSTEM_PROMPT)
    policy: Policy = Field(default={}, description=POLICY)
    rules: Rules = Field(default=[], description=RULES)
    pinned: bool = Field(default=False, description="Whether it stands at the top of the list.")
    archived: bool = Field(default=False, description="Whether it is put away.")
    uses_tools: bool = Field(default=True, description=USES_TOOLS)
