"""Schemas of the next request, and of the states before it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from conversations.api.schemas.compactions import TASK, BodyId
from conversations.api.schemas.fields import Body, Role, Tokens, about

CUT = "2026-11-20T09:10:31.204518+00:00"


class Usage(BaseModel):
    """Tokens of the next request by part, as the model counts them; for models that are not OpenAI's an estimate."""

    system: Tokens = about("The system prompt.", 212)
    summary: Tokens = about("The summary.", 611)
    recalled: Tokens = about("Passages quoted from what is compacted, for the latest question.", 0)
    protected: Tokens = about("Protected and kept messages from before the cut.", 48)
    live: Tokens = about("Everything after the cut.", 1_740)
    total: Tokens = about("All of them.", 2_611)
    reserve: Tokens = about("Kept free for the reply.", 1_000)
    window: Tokens = about("The model's usable window.", 8_192)
    percent: float = about("The total over the window.", 31.9, ge=0)


class CompactsAt(BaseModel):
    tokens: Tokens = about("Tokens of a request from which on it is preceded by a compaction.", 6_553)
    percent: float = about("The same in percent of the usable window.", 80.0, ge=0)
    reason: Literal["threshold", "live", "reply", "recall", "local", "flow"] = about(
        "`threshold`: the one that a setting or the policy names, else 0.8; `live`: the same "
        "of the policy's `max_live_tokens`; `reply`: the reply needs the rest; "
        "`recall`: recalled passages need the rest; "
        "`local`: verbatim text fills three quarters of what a local model has beside its instructions, where nobody "
        "names a threshold; `flow`: an agent's own budget of history.",
        "threshold",
    )


class SentImage(BaseModel):
    url: str = about("`attachment:` and the SHA-256 of its bytes, these go in its place.", "attachment:9f86d081")


class SentPart(BaseModel):
    """Part of a message with images: its words, or an image."""

    type: Literal["text", "image_url"] = about("What it is.", "text")
    text: str | None = Field(default=None, description="The words.", examples=["What is in this picture?"])
    image_url: SentImage | None = Field(default=None, description="The image.")


class SentMessage(BaseModel):
    """In the form of OpenAI's chat completions."""

    model_config = ConfigDict(extra="forbid")

    role: Role = about("Whose message it is.", "user")
    content: str | list[SentPart] = about("Its text, or with images its parts.", "Which port does billing use?")
    tool_calls: list[dict[str, Any]] | None = Field(
        default=None, description="Of an assistant's message that makes any."
    )
    tool_call_id: str | None = Field(default=None, description="Of a tool's message: the call that it answers.")


class Citation(BaseModel):
    """A statement of a summary, and the messages that it comes from."""

    statement: str = about("Its words.", "The billing service moved to port 8443.")
    messages: list[UUID] = about(
        "The messages that it comes from: none where they are not known, or none supports it.",
        ["0199b3c2-8b11-7000-8b6e-2d9d1e6b2f01"],
    )
    missing: list[str] = about("Its names, numbers, dates and quotations that no message has.", [])


class Checkpoint(BaseModel):
    """One summary of a run of messages."""

    number: int = about("Its number within the conversation.", 1, ge=1)
    level: int = about("How detailed it was written: 3 detailed, 2 moderate, 1 compact.", 2, ge=1, le=3)
    age: int = about("How often it was shortened since: 0, 1 or 2 times.", 0, ge=0, le=2)
    summary: str = about("Its text.", "## Summary\nThe billing service moved to port 8443.\n…")
    tokens: Tokens = about("Tokens of the summary.", 598)
    original_tokens: Tokens = about("Tokens of the messages that it stands for.", 7_399)
    ratio: float | None = about("The first over the second.", 0.0808, ge=0)
    first_message: UUID = about("The first message that it stands for.", "0199b3c2-8b11-7000-8b6e-2d9d1e6b2f01")
    last_message: UUID = about("And the last.", "0199b3c2-8c40-7000-8f2b-4f5a9e6b2f12")
    last_message_at: datetime = about("When that was written.", CUT)
    model: str = about("Who wrote it.", "gpt-4.1-nano")
    created_at: datetime = about("When it was written.", "2026-11-20T09:12:43+00:00")
    statements: int | None = about("Its statements; null: they were not looked at.", 23, ge=0)
    unsupported: int | None = about(
        "Those with a name, number, date or quotation that no message has; in the text they are marked "
        '"(not found in the messages)", unless the policy says otherwise.',
        0,
        ge=0,
    )
    dropped: int | None = about("Such statements that were left out of it.", 0, ge=0)
    citations: list[Citation] | None = about("All of them, in order; null: they were not looked at.")


class Facts(BaseModel):
    """Numbers of the facts of all compacted messages: paths, numbers, names, rules, images; each counts once."""

    found: int = about("The most important ones.", 150, ge=0)
    at_first: int = about("Those that the first request after their compaction had.", 141, ge=0)
    now: int = about("Those that the next request has.", 130, ge=0)


class Context(BaseModel):
    messages: list[SentMessage] = about(
        "Exactly what would be sent next, without the message to come. Passages are recalled for the latest question; "
        "for the message to come they are looked for anew."
    )
    usage: Usage | None = about("What that takes; null where no model is set.")
    compacts_at: CompactsAt | None = about("Where it is compacted by itself; null: only once it does not fit.")
    breaks_even_turns: int | None = about(
        "Turns after which that compaction has paid for itself, at the model's prices; null: it has none, or never. It "
        "decides nothing.",
        22,
        ge=1,
    )
    compressed_at: datetime | None = about("Where history is cut; null: nothing is compacted.", CUT)
    undone_at: datetime | None = about(
        "When a compaction was undone. Nothing is compacted by itself from then on, until one is asked for, or the "
        "model or the policy is set. Null otherwise.",
        None,
    )
    checkpoints: list[Checkpoint] = about("The summaries in force, in order.")
    facts: Facts = about("Numbers of the facts of all compacted messages.")
    unsupported: int = about("Statements of these summaries that no message supports.", 0, ge=0)


class Snapshot(BaseModel):
    """A state of compaction that can be gone back to, exactly."""

    id: UUID = about("Its id, for a rollback.", "0199b3c2-9f41-7e08-9d13-2b7de0f4c8aa")
    purpose: Literal["rollback", "recovery", "emergency", "manual"] = about(
        "Before a compaction, before another change, before an emergency, or asked for.", "rollback"
    )
    compaction_id: UUID | None = about("The compaction that it was taken before.", TASK)
    compressed_at: datetime | None = about("Where history was cut; null: nothing was compacted.", None)
    summary_tokens: Tokens = about("Tokens of the summary of then.", 0)
    checkpoints: int = about("How many summaries were in force.", 0, ge=0)
    created_at: datetime = about("When it was taken.", "2026-11-20T09:12:43+00:00")


class SnapshotPage(BaseModel):
    items: list[Snapshot] = about("The latest first.")
    next: str | None = about("The `cursor` of the next page; null: this is the last.", None)


class State(BaseModel):
    compressed_at: datetime | None = about("Where history is cut now; null: nothing is compacted.", None)
    compression_version: int = about("Rises with every change of what is compacted.", 3, ge=0)
    usage: Usage | None = about("Tokens of the next request; null where no model is set.")


class Restored(State):
    snapshot: Snapshot = about("The one that was gone back to.")


class RollbackRequest(Body):
    model_config = ConfigDict(json_schema_extra={"example": {"snapshot_id": "0199b3c2-9f41-7e08-9d13-2b7de0f4c8aa"}})

    snapshot_id: BodyId | None = Field(
        default=None, description="From the list of snapshots; null: undo the last compaction."
    )


SUMMARY = """\
## Summary
The billing service moved to port 8443.

## Decisions
- Keep PostgreSQL: the reports need window functions

## Files
- deploy/export.yaml: the new bucket

## State
- Next: move the nightly export

## Context
- port=8443
"""


class SummaryText(Body):
    model_config = ConfigDict(json_schema_extra={"example": {"summary": SUMMARY}})

    summary: Annotated[str, Field(json_schema_extra={"minLength": 1})] = Field(
        description="The summary in other words, with its headings, and smaller than what it stands for."
    )
