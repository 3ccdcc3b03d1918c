"""Schemas of a search's hits."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel

from conversations.api.schemas.fields import Role, about


class FoundConversation(BaseModel):
    id: UUID = about("Its id.", "0199b3c2-8b10-7aa2-b6f4-5f0d6f0a7c3e")
    title: str = about("Its title.", "Ports of the billing service")
    archived: bool = about("Whether it is put away.", False)


class FoundMessage(BaseModel):
    id: UUID = about("Its id.", "0199b3c2-8c41-7d02-9a57-0d3c5be8f1a4")
    role: Role = about("Who said it.", "assistant")
    state: Literal["live", "compressed", "protected"] = about(
        "How the model has it: word for word, or as part of a summary. `protected`: word for word, however old it is.",
        "compressed",
    )
    created_at: datetime = about("When it was said.", "2026-11-20T09:12:44.871022+00:00")


class SearchResult(BaseModel):
    conversation: FoundConversation
    message: FoundMessage | None = about("Null where it is the title that was found.")
    snippet: str = about("About 120 characters around the first word that was found.", "… service listens on 8443.")


class HitPage(BaseModel):
    items: list[SearchResult] = about(
        "Titles first, then messages; those of the conversation that changed last come first."
    )
    next: str | None = about("The `cursor` of the next page; null: this is the last.", None)
    incomplete: bool = about("Whether many messages are still being prepared for search; some may be missing.", False)
