"""The exact request of a past turn, part by part."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from conversations.api.schemas.context import SentMessage
from conversations.api.schemas.fields import MessageId, Role, Tokens, about

DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


class RequestPart(BaseModel):
    """One message of a request, which is a message of the conversation or renders checkpoints; or the offered tools."""

    kind: Literal["system", "tools", "summary", "recalled", "protected", "live"] = about(
        "What it is to the request.", "live"
    )
    role: Role = about("Whose message it is; `tool`: the result of a call.", "user")
    tokens: Tokens = about("As the model counts them.", 14)
    message_id: MessageId | None = about("Which message of the conversation it comes from.")
    checkpoints: list[int] = about("The numbers of the checkpoints that it renders.", [])
    digest: str = about("SHA-256 of it as canonical JSON.", DIGEST)


class RequestUsage(BaseModel):
    """Tokens of the request by part, as the model counts them."""

    system: Tokens = about("The system prompt.", 212)
    summary: Tokens = about("The summary.", 611)
    recalled: Tokens = about("Passages quoted from what was compacted.", 0)
    protected: Tokens = about("Protected messages.", 48)
    live: Tokens = about("All other messages.", 1_740)
    total: Tokens = about("All of them.", 2_611)
    window: Tokens = about("The model's usable window then.", 8_192)
    budget: Tokens = about("The window less what was kept for the reply.", 7_192)
    correction: float = about("What our own counts were multiplied by.", 1.05)


class RequestChanges(BaseModel):
    """The differences between the request of another turn and this one, by the text of their parts."""

    against: UUID = about("The reply of the other turn.", "0199b3c2-8b11-7000-8b6e-2d9d1e6b2f01")
    added: list[RequestPart] = about("Parts that the other did not have.")
    removed: list[RequestPart] = about("Parts that only the other had.", [])
    kept: list[RequestPart] = about("Parts that both have.", [])
    prefix_tokens: Tokens = about("From the start, the same in both: a provider's cache could serve these.", 2_412)


class PastRequest(BaseModel):
    message_id: UUID = about("The reply that this was asked for.", "0199b3c2-8c41-7d02-9a57-0d3c5be8f1a4")
    created_at: datetime = about("When it was asked for.", "2026-11-20T09:12:40+00:00")
    model: str = about("The profile of the model that was asked.", "gpt-4.1-nano")
    model_id: str = about("Its name with its provider.", "gpt-4.1-nano")
    max_tokens: int | None = about("The most that the reply was allowed; null: not said.", None)
    chat_template: Literal["free", "strict", "no_system"] = about(
        "How `messages` were put when they left: not `free`: neighbours of one role were joined for the model.", "free"
    )
    messages: list[SentMessage] = about("What was sent, by the messages of the conversation.")
    parts: list[RequestPart] = about("Of each of the messages: what it is, and what it costs.")
    usage: RequestUsage = about("Tokens of the request.")
    thoughts: int = about("Of how many replies of its turn the model's thoughts went with `messages`.", 0, ge=0)
    hash: str = about("SHA-256 of the messages that were sent, as canonical JSON.", DIGEST)
    is_exact: bool = about("Whether `messages` have that hash.", True)
    why: str | None = about("Why they have not; null where they have.", None)
    changes: RequestChanges | None = Field(default=None, description="Where `against` was given.")
