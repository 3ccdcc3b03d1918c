"""One run of the compressor, and what is asked of it."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from conversations.api.schemas.fields import Body, Money, Text, Tokens, about
from conversations.validation import MAX_PROMPT, clean_prompt

MAX_INSTRUCTIONS = 2_000
TASK = "0199b3c2-9f3e-7b55-8d21-c4a1b7e02d9f"
CONVERSATION = "0199b3c2-8b10-7aa2-b6f4-5f0d6f0a7c3e"
Status = Literal["pending", "running", "ready", "succeeded", "failed", "skipped", "discarded", "cancelled", "undone"]
BodyId = Annotated[UUID, Field(strict=False)]


class CompactionStep(BaseModel):
    """Why a summariser was passed over, or what was done besides."""

    model_config = ConfigDict(extra="allow")

    summariser: str = about("Its name; empty where none had a part in it.", "claude-haiku-5")


class Compaction(BaseModel):
    id: UUID = about("Its id, which is that of its task too.", TASK)
    conversation_id: UUID = about("Of which conversation: of an agent also what is said to an executor.", CONVERSATION)
    flow: Literal["chat", "planner", "executor"] = about("Whose history it is.", "chat")
    trigger: Literal["auto", "ahead", "manual", "api", "emergency"] = about("What began it.", "api")
    status: Status = about(
        "`skipped`: there was nothing to save; `discarded`: the conversation had changed; `cancelled`: a person did.",
        "succeeded",
    )
    stage: str = about("The stage that it is at; empty before the first.", "validate")
    percent: int = about("How far it is.", 100, ge=0, le=100)
    strategy: str = about("How summaries follow on each other.", "checkpoints")
    summariser: str = about("Who wrote the summary; empty until someone has.", "gpt-4.1-nano")
    instructions: str = about("What its author was asked to mind.", "Keep all port numbers")
    messages_condensed: int = about("How many messages the summary stands for.", 18, ge=0)
    pre_tokens: Tokens | None = about(
        "Tokens of the next request right before it, whole, as `usage` has them; null: it was never in force.", 9_412
    )
    post_tokens: Tokens | None = about("The same right after it.", 2_611)
    reduction_percent: float | None = about("How much smaller the next request became; negative where it grew.", 72.2)
    summary_reduction_percent: float | None = about("How much shorter the summary is than its messages.", 93.5)
    facts_found: int = about(
        "The most important facts of the compacted text: paths, numbers, names, rules, images.", 50, ge=0
    )
    facts_kept: int = about("Those that the next request had once it was compacted.", 47, ge=0)
    facts_repaired: int = about("Those whose sentences were put back into the summary.", 9, ge=0)
    facts_now: int | None = about(
        "Those that the next request has now. Null where they are not counted: outside the list of a conversation's "
        "own compactions and a task's result, and where it was never in force.",
        41,
        ge=0,
    )
    statements: int | None = about(
        "Statements of its summary. Null where they were not looked at: outside the list of compactions and a task's "
        "result, and where it was never in force.",
        23,
        ge=0,
    )
    unsupported: int | None = about(
        "Those of them with a name, number, date or quotation that no message has.", 1, ge=0
    )
    dropped: int | None = about("Such statements that were left out of it, as the policy says.", 0, ge=0)
    duration_ms: int | None = about("Milliseconds that it took.", 3_140, ge=0)
    prompt_tokens: Tokens = about("Tokens sent to the summariser.", 8_120)
    completion_tokens: Tokens = about("Tokens that it wrote.", 512)
    cached_tokens: Tokens = about("Those sent that its provider had kept.", 0)
    cost_usd: Money | None = about("US dollars; null where a price is not known.", "0.001017")
    summary_preview: str = about("The first 100 characters of the summary.", "The billing service moved to port 8443")
    steps: list[CompactionStep] = about("Summarisers that were passed over, and why.", [])
    error: str | None = about("Why it failed or had nothing to do; null where it succeeded.", None)
    created_at: datetime = about("When it was asked for.", "2026-11-20T09:12:40+00:00")
    finished_at: datetime | None = about("When it ended; null: it has not.", "2026-11-20T09:12:43+00:00")


class CompactionPage(BaseModel):
    items: list[Compaction] = about("The latest first.")
    next: str | None = about("The `cursor` of the next page; null: this is the last.", None)


class Task(BaseModel):
    task_id: UUID = about("For `GET /api/tasks/{task_id}/progress`.", TASK)


class Progress(BaseModel):
    status: Status = about("`pending` and `running` go on; all others are the end.", "succeeded")
    stage: str = about("The stage that it is at.", "validate")
    percent: int = about("How far it is.", 100, ge=0, le=100)
    parts: int = about(
        "Requests for the summary: those for the parts of a long text, and those that merge theirs; 0: not known yet.",
        3,
        ge=0,
    )
    parts_done: int = about("Those of them that are.", 3, ge=0)
    elapsed_seconds: int = about("Seconds since it was asked for, until it was over.", 14, ge=0)
    eta_seconds: int | None = about(
        "Seconds that are left, by the parts that are done; before the first by the last 20 runs of about that size "
        "with that summariser. Never 0 while it runs; null: nobody is at it, or it is not known.",
        0,
        ge=0,
    )
    result: Compaction | None = about("Once there is one.")
    error: str | None = about("Why it failed or had nothing to do.", None)


class CompactRequest(Body):
    """All of it can be left out, and the body with it."""

    model_config = ConfigDict(json_schema_extra={"example": {"quality": "standard", "instructions": "Keep all ports"}})

    quality: Literal["fast", "standard"] = Field(
        default="fast", description="Which of the site's summarisers writes it."
    )
    instructions: Annotated[str, Text("instructions", most=MAX_INSTRUCTIONS, blank=True)] = Field(
        default="", description="What its author should mind."
    )
    prompt: Annotated[
        str, AfterValidator(partial(clean_prompt, "prompt")), Field(json_schema_extra={"maxLength": MAX_PROMPT})
    ] = Field(
        default="",
        description="A template in place of the usual one, with the same headings; `$preserve`, `$detail` and "
        "`$words` are filled in.",
    )
    keep_recent: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="How many of the latest messages to leave."
    )
    up_to: BodyId | None = Field(default=None, description="The last message to compact.")
