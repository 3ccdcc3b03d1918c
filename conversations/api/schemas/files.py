"""Conversations as files."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from conversations.api.schemas.attachments import Paste
from conversations.api.schemas.context import Checkpoint
from conversations.api.schemas.fields import Effort, Mode, Money, Role, Tokens, about
from conversations.api.schemas.goals import Artifact, Decision, Priority, Step
from conversations.api.schemas.ledger import SAID_AT, Change, Kind
from conversations.api.schemas.policies import PolicySettings


class ExportedGoal(BaseModel):
    description: str = about("What the conversation is to reach.", "Move the billing service to the new cluster")
    priority: Priority = about("How much it matters.", "normal")
    checkpoints: list[Step] = about("Its steps.", [])
    decisions: list[Decision] = about("What was decided.", [])
    artifacts: list[Artifact] = about("Files that were touched.", [])


class ExportedConversation(BaseModel):
    id: UUID = about("Its id here; an import gives it another.", "0199b3c2-8b10-7aa2-b6f4-5f0d6f0a7c3e")
    title: str = about("Its title.", "Ports of the billing service")
    model: str | None = about("Name of its model.", "gpt-4.1-mini")
    effort: Effort | None = about("How hard its model thinks; null: as the model is set.", None)
    mode: Mode = about("What a summary must not lose.", "developer")
    system_prompt: str = about("The person's own instructions.", "Answer briefly.")
    proposed_system_prompt: str = about("Instructions of an imported file that the person has not accepted.", "")
    seal: str = about(
        "Shows this site that the person themselves wrote `system_prompt`: without it an import only proposes it.", ""
    )
    policy: PolicySettings = about("Its own settings of compaction.")
    kind: Literal["chat", "agent", "executor"] = about("A chat, an agent, or what was said to an executor.", "chat")
    uses_tools: bool = about("Whether its model is offered tools.", True)
    rules: list[str] = about("What the model must always or never do.", ["Never use port 8080"])
    compressed_at: datetime | None = about("Where history was cut.", None)
    created_at: datetime = about("When it was begun.", "2026-11-20T08:30:00+00:00")
    updated_at: datetime = about("When something was last said.", "2026-11-20T09:12:44+00:00")
    goal: ExportedGoal | None = about("What it is to reach.", None)


class ExportedFile(BaseModel):
    """An image, or the place of a text file in the content."""

    kind: Literal["image", "text"] = about("What it is.", "image")
    name: str = about("What the file is called.", "rack.jpg")
    media_type: str = about("As it is kept.", "image/jpeg")
    size: int = about("Bytes.", 182_044, ge=1)
    tokens: Tokens = about("Tokens that it adds to a request.", 1_105)
    width: int | None = Field(default=None, description="Pixels, of an image.")
    height: int | None = Field(default=None, description="Pixels, of an image.")
    pages: int | None = Field(default=None, description="Pages, slides or sheets, of a document.")
    start: int | None = Field(default=None, description="Of a text file: where its text begins in the content.")
    length: int | None = Field(default=None, description="And how many characters it has.")
    digest: str | None = Field(default=None, description="Of an image: SHA-256 of its bytes.")
    data: str | None = Field(default=None, description="Of an image: its bytes as base64; null beyond 15 MB of a file.")


class ExportedUsage(BaseModel):
    """The tokens and costs of a reply; figures that are not known are left out."""

    prompt_tokens: Tokens | None = Field(default=None, description="Tokens of the request.", examples=[1_204])
    completion_tokens: Tokens | None = Field(default=None, description="Tokens of the reply.", examples=[86])
    cached_tokens: Tokens | None = Field(default=None, description="Those of the request that the provider had kept.")
    thought_tokens: Tokens | None = Field(default=None, description="Those of the reply that were thoughts.")
    saved_tokens: int | None = Field(
        default=None, description="Those that a summary kept out of the request, less those of recalled passages."
    )
    cost_usd: Money | None = Field(default=None, description="US dollars.", examples=["0.001017"])
    first_token_ms: int | None = Field(default=None, description="Milliseconds to its first words.", ge=0)
    thought_ms: int | None = Field(default=None, description="Milliseconds of thinking before it.", ge=0)
    duration_ms: int | None = Field(default=None, description="Milliseconds to its end.", ge=0)


class ExportedMessage(BaseModel):
    """A message in the form of OpenAI's API; results of its tool calls follow it as messages of their own."""

    role: Role = about("Who says it.", "user")
    content: str = about("Its text.", "Which port does billing use?")
    created_at: datetime = about("When it was said.", "2026-11-20T09:12:41+00:00")
    id: UUID | None = Field(default=None, description="Its id here.", examples=["0199b3c2-8c41-7d02-9a57-0d3c5be8f1a4"])
    status: Literal["complete", "stopped", "interrupted"] | None = Field(
        default=None, description="How it ended.", examples=["complete"]
    )
    is_protected: bool | None = Field(default=None, description="Whether it is always sent.", examples=[False])
    is_kept: bool | None = Field(default=None, description="Whether it is sent though it stands before the cut.")
    is_elided: bool | None = Field(default=None, description="Whether it is sent without the results of its calls.")
    excerpt: int | None = Field(default=None, description="Characters of each of its results that are sent.")
    token_count: Tokens | None = Field(default=None, description="Tokens that it takes.", examples=[10])
    name: str | None = Field(default=None, description="Who said it, where that was named.")
    model: str | None = Field(default=None, description="The model that wrote it.")
    thoughts: str | None = Field(default=None, description="What the model thought before it.")
    tool_calls: list[dict[str, Any]] | None = Field(default=None, description="The calls that it makes.")
    tool_call_id: str | None = Field(default=None, description="The call that this is the result of.")
    attachments: list[ExportedFile] | None = Field(default=None, description="Its images and text files.")
    pastes: list[Paste] | None = Field(default=None, description="Long texts that were pasted into it.")
    usage: ExportedUsage | None = Field(default=None, description="What a reply took.")


class ExportedEntry(BaseModel):
    """An entry of the ledger. An import notes it again if it is in force."""

    kind: Kind = about("Its kind.", "rule")
    text: str = about("The person's own words: a whole sentence.", "Never use port 8080.")
    state: Literal["in_force", "noted", "dismissed"] = about("Its state, were it not superseded.", "in_force")
    is_chosen: bool = about("Whether its person chose the state.", False)
    message: UUID | None = about("Id of its message; null for what was added by hand.", None)
    superseded_by: int | None = about("Place, in this list, of the entry that took its place; null: none.", None)
    said_at: datetime = about("When it was said.", SAID_AT)
    decided_at: datetime = about("When it got its state; of two about the same thing the later one holds.", SAID_AT)
    history: list[Change] = about("The changes of its state, the latest 20, in order.", [])


class ExportedCheckpoint(Checkpoint):
    """A summary, with what an import needs to put it in force again."""

    birth_tokens: Tokens = about("Tokens that it took before it grew old.", 611)
    provisional: bool = about("Whether it will be written anew from its messages.", False)
    stragglers: list[UUID] = about("Messages from before its run that it stands for too.", [])
    digest: str = about("SHA-256 over the history up to its end, results of tools in full.", "9f86d081")


class ExportedCompression(BaseModel):
    strategy: str = about("Of the last compaction in effect.", "checkpoints")
    compacted_at: datetime | None = about("When that was.", "2026-11-20T09:12:44+00:00")


class Totals(BaseModel):
    messages: int = about("How many.", 24, ge=0)
    tokens: Tokens = about("Tokens of all messages.", 9_960)
    compressions: int = about("How many are in effect.", 1, ge=0)
    summary_tokens: Tokens = about("Tokens of the summary.", 611)


class ExportedPlace(BaseModel):
    message: UUID = about("Id of a message of the planner.", "0199b3c2-8c41-7d02-9a57-0d3c5be8f1a4")
    id: str = about("Id of the call that it makes.", "call_7Q2")


class ExportedStep(BaseModel):
    kind: Literal["assignment", "clarification", "tools", "partial_result", "result"] = about("What it is.", "result")
    message: UUID = about("Id of the message of the thread.", "0199b3c2-a003-7c1e-8f00-5b1d2c3e4f52")
    call: ExportedPlace | None = about("Of what the planner says: the call that said it.", None)


class ExportedRun(BaseModel):
    task: str = about("The executor's task.", "Find out which port billing listens on.")
    status: Literal["running", "waiting", "done", "stopped", "failed"] = about("How far it is.", "done")
    turns: int = about("How often the planner has spoken.", 1, ge=1)
    error: str = about("Why it failed; empty where it did not.", "")
    created_at: datetime = about("When the task was handed over.", "2026-11-20T09:12:41+00:00")
    finished_at: datetime | None = about("When it ended.", "2026-11-20T09:12:58+00:00")
    steps: list[ExportedStep] = about("One for each message of the thread, in order.", [])
    thread: dict[str, Any] = about("What planner and executor said, in this same form; it has no runs.", {})


class Export(BaseModel):
    """A conversation in this site's own form, which can be imported again."""

    format: Literal["chatsite"] = about("What this is.", "chatsite")
    version: int = about("Of this form.", 4, ge=1)
    conversation: ExportedConversation
    messages: list[ExportedMessage] = about("In order; tool results after the message that asked for them.")
    ledger: list[ExportedEntry] = about("Rules, preferences, decisions and corrections, in order.", [])
    checkpoints: list[ExportedCheckpoint] = about("The summaries in force, in order.", [])
    compression: ExportedCompression | None = about("How it was compressed last; null where it never was.", None)
    runs: list[ExportedRun] = about("Of an agent: tasks that its planner handed to executors.", [])
    totals: Totals


class ImportedConversation(BaseModel):
    id: UUID = about("Its id.", "0199b3c3-07aa-7d5f-a0b1-5a2c1d3e4f60")
    title: str = about("Its title.", "Ports of the billing service")
    messages: int = about("How many messages it has.", 24, ge=0)


class UnreadConversation(BaseModel):
    """A conversation of the file that could not be read."""

    place: str = about("Its place in the file.", "[12]")
    title: str = about("Its title in the file.", "Ports")
    reason: str = about("Why.", "messages[3].content: at most 200,000 characters, not 200,001.")


class Imported(BaseModel):
    conversations: list[ImportedConversation] = about("Those that were made, in the order of the file.")
    updated: list[ImportedConversation] = about("Those of an earlier import that got new messages: how many each.", [])
    unchanged: int = about("Conversations that an earlier import had brought whole.", 0, ge=0)
    unread: list[UnreadConversation] = about("Those that could not be read, and why.", [])
    skipped: int = about("Conversations of the file that had no message, and were left out.", 0, ge=0)
