"""Messages, and what comes of sending one."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from conversations.api.schemas.attachments import Attachment, Paste
from conversations.api.schemas.compactions import TASK, BodyId, Compaction
from conversations.api.schemas.context import Usage
from conversations.api.schemas.fields import Body, Role, Tokens, about
from conversations.messages.attachments import MAX_PENDING
from conversations.validation import MAX_CONTENT

Text = Annotated[str, Field(json_schema_extra={"maxLength": MAX_CONTENT})]
Content = Annotated[str, Field(json_schema_extra={"minLength": 1, "maxLength": MAX_CONTENT})]


class Spent(BaseModel):
    """As the provider reported it; null where it did not."""

    prompt_tokens: Tokens | None = about("Tokens of the request.", 1_204)
    completion_tokens: Tokens | None = about("Tokens of the reply.", 86)
    cached_tokens: Tokens | None = about("Those of the request that the provider had kept.", 1_024)


class Thoughts(BaseModel):
    """They are part of no later request. Within a turn of tools they go back to the model that thought them."""

    text: str = about("At most 100,000 characters; empty where the provider does not show it.", "Billing, hm …")
    duration_ms: int | None = about("Milliseconds that they took; null where they were not shown.", 12_400, ge=0)
    tokens: Tokens | None = about("A part of the reply's `completion_tokens`; where not reported, by our count.", 310)


class Message(BaseModel):
    id: UUID = about("Its id.", "0199b3c2-8c41-7d02-9a57-0d3c5be8f1a4")
    role: Role = about("Who says it.", "assistant")
    name: str = about("Of a person or tool, where an import named one; empty otherwise.", "")
    content: str = about("Its text.", "The billing service listens on port 8443.")
    thoughts: Thoughts | None = about("The model's thoughts before a reply; null: it gave none.", None)
    created_at: datetime = about("Rises strictly within a conversation.", "2026-11-20T09:12:44.871022+00:00")
    status: Literal["complete", "streaming", "stopped", "failed", "interrupted"] = about(
        "`streaming`: the reply is being written. `stopped` by a person, `interrupted` half way by the provider or "
        "the site; what was written by then is kept.",
        "complete",
    )
    finish_reason: Literal["", "length", "content_filter", "aborted"] = about(
        "Why a reply ended before it was whole: `length`, it had no tokens left; `content_filter`, its provider "
        "stopped it; `aborted`, its provider broke off. Empty for all else.",
        "",
    )
    token_count: Tokens = about("Tokens that it takes in a request, as its model counts them.", 14)
    is_protected: bool = about("Whether it is sent word for word, however old it is.", False)
    model: str = about("The model that wrote it; empty for what no model wrote.", "gpt-4.1-mini")
    error: str = about("Why it failed, in words; empty where it did not.", "")
    advice: str = about("What can be done about it while it is the last message; empty where nothing is known.", "")
    provider_words: str = about("The provider's own words about its fault, without keys; empty for none.", "")
    usage: Spent
    is_copy: bool = about(
        "Whether it was copied: by a fork, with a version that is used again, or in with a file. Its `usage` is that "
        "of the original, and was spent there alone.",
        False,
    )
    attachments: list[Attachment] = about("Images, and text files, which are part of `content`.", [])
    pastes: list[Paste] = about("Long texts that were pasted into it.", [])


class ToolCall(BaseModel):
    id: str = about("Its id, as the model gave it.", "call_7Q2")
    name: str = about("The tool.", "search")
    arguments: str = about("JSON as text, as the model wrote it.", '{"query": "port"}')
    result: str | None = about("Stored whole, in events cut; null: none was recorded.", "billing: 8443")
    error: str | None = about("Why it failed, as the model reads it for a result; null where it did not.", None)
    status: Literal["pending", "running", "done", "failed"] = about("How far it is.", "done")
    tokens: Tokens = about("Tokens that it takes in a request, with its result.", 31)
    duration_ms: int | None = about("Milliseconds that it took; null: it was not made here.", 12, ge=0)


class ListedMessage(Message):
    type: Literal["message"] = about("What stands here.", "message")
    tool_calls: list[ToolCall] = about("Calls that it makes, with their results.")


class Compress(BaseModel):
    """The summary that stands for everything before it in the next request."""

    type: Literal["compress"] = about("What stands here.", "compress")
    content: str = about("The summary, as it is sent.", "[Compressed Message Summary]\n# Conversation Summary\n…")


class MessagePage(BaseModel):
    items: list[Annotated[Compress | ListedMessage, Field(discriminator="type")]] = about(
        "The messages in order, with the summary at the place where older ones are compacted."
    )
    next: str | None = about("The `cursor` of the next page; null: this is the last.", None)


ASKED: dict[str, Any] = {
    "id": "0199b3c2-8c40-7b9d-8d7e-3a1d0c9e5f22",
    "role": "user",
    "name": "",
    "content": "Which port does billing use?",
    "thoughts": None,
    "created_at": "2026-11-20T09:12:44.871021+00:00",
    "status": "complete",
    "finish_reason": "",
    "token_count": 10,
    "is_protected": False,
    "model": "",
    "error": "",
    "advice": "",
    "provider_words": "",
    "usage": {"prompt_tokens": None, "completion_tokens": None, "cached_tokens": None},
    "is_copy": False,
    "attachments": [],
    "pastes": [],
}


class Turn(BaseModel):
    """A message of a person with the reply to it, which may have failed: its `status` says so."""

    user_message: Message = about("What was said.", ASKED)
    steps: list[ListedMessage] = about("Replies before the answer; each called tools.", [])
    assistant_message: Message = about("What was answered.")
    usage: Usage | None = about("Tokens that the next request would take; null where no model is set.")
    compaction: Compaction | None = about("The one that ended during this turn; null: there was none.", None)


class BegunCompaction(BaseModel):
    """The compaction that `/compact` begins: no message is stored, and none is answered."""

    task_id: UUID = about("For `GET /api/tasks/{task_id}/progress`.", TASK)
    compaction: Compaction = about("As it stands when this is answered.")


class StoppedReply(BaseModel):
    stopped: bool = about("False: no reply was being written.", True)


class NewMessage(Body):
    model_config = ConfigDict(
        json_schema_extra={"example": {"content": "Which port does billing use?", "client_id": "7f0c1c9e"}}
    )

    content: Text = Field(description="What is said: text that is not blank, unless files go with it.")
    attachments: Annotated[list[BodyId], Field(json_schema_extra={"maxItems": MAX_PENDING})] = Field(
        default=[], description="Ids of files that were uploaded to this conversation, in any order."
    )
    client_id: Annotated[str | None, Field(json_schema_extra={"minLength": 1, "maxLength": 64})] = Field(
        default=None, description="An id of the caller's own: the same one with the same content is the same message."
    )
    stream: bool = Field(default=False, description="Whether the answer is the events of the reply as they come.")


class NewContent(Body):
    model_config = ConfigDict(json_schema_extra={"example": {"content": "Which port does the billing service use?"}})

    content: Content = Field(description="What is said instead.")


class Fork(Body):
    """All of it can be left out, and the body with it."""

    model_config = ConfigDict(json_schema_extra={"example": {"kind": "agent"}})

    kind: Literal["chat", "agent"] | None = Field(
        default=None,
        description="What the copy is: an `agent` begins from this history, with tools. Null: what this one is.",
    )


class MessageChange(Body):
    model_config = ConfigDict(json_schema_extra={"example": {"is_protected": True}})

    is_protected: bool = Field(description="Whether it is sent word for word, however old it is.")
