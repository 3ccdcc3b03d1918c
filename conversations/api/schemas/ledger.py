"""The ledger of a conversation."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from conversations.api.schemas.fields import Body, about
from conversations.instructions.rules import MAX_RULE_CHARS

Kind = Literal["rule", "preference", "decision", "correction", "withdrawal", "fact"]
State = Literal["in_force", "noted", "dismissed", "superseded"]
SAID_AT = "2026-11-20T09:12:44.871022+00:00"


class Change(BaseModel):
    state: State = about("The state from then on.", "noted")
    at: str = about("When it changed, in ISO 8601.", SAID_AT)
    by: str = about(
        "Why: its `message` was stored, its `person` chose, an `import` puts nothing in force, the `budget` had no "
        "room for it in force, a later `entry` took its place, or the `history` changed: that entry or its own message "
        "left, or came back.",
        "message",
    )


class Entry(BaseModel):
    id: UUID = about("Its id.", "0199b3c2-90aa-7c10-8f0e-6d1f5a3f0c13")
    kind: Kind = about("What it is.", "preference")
    text: str = about("What the person typed: whole sentences, word for word.", "I'd rather read a table than a list.")
    state: State = about(
        "`in_force`: a rule of every request. `noted`: quoted in requests once its message is compacted. `dismissed`: "
        "its person wants it in none. `superseded`: a later entry about the same thing took its place.",
        "noted",
    )
    message_id: UUID | None = about(
        "The message that says so; null for what was added by hand.", "0199b3c2-8c41-7d02-9a57-0d3c5be8f1a4"
    )
    said_at: datetime = about("When it was said.", SAID_AT)
    asks_about: UUID | None = about(
        "The rule that a withdrawal may mean, in force until its person answers: `noted` is yes, `dismissed` no. null: "
        "there is no question.",
        None,
    )
    superseded_by: UUID | None = about("The entry in its place; null: none.", "0199b3c2-90aa-7c10-8f0e-6d1f5a3f0c14")
    kept: bool = about(
        "Whether it is kept for all conversations of the project, or of the person where it is in none.", False
    )
    history: list[Change] = about("The changes of its state, the latest 20, in order.")


class EntryPage(BaseModel):
    items: list[Entry] = about("The latest first.")
    next: str | None = about("The `cursor` of the next page; null: this is the last.", "MTc2MzYzMDA0NCAwMTk5YjNjMg")


class NewEntry(Body):
    model_config = ConfigDict(json_schema_extra={"example": {"text": "Never use port 8080."}})

    text: Annotated[str, Field(json_schema_extra={"minLength": 1, "maxLength": MAX_RULE_CHARS})] = Field(
        description="A rule in the person's own words; it is in force at once."
    )


class Choice(Body):
    model_config = ConfigDict(json_schema_extra={"example": {"state": "in_force"}})

    state: Literal["in_force", "noted", "dismissed"] | None = Field(None, description="The state that the entry gets.")
    kept: bool | None = Field(
        None,
        description="Whether all conversations of the project have it, or of the person where it is in none; or its "
        "own alone.",
    )
