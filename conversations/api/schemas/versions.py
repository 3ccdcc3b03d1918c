"""Schemas of a message's versions."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from conversations.api.schemas.fields import Body, about
from conversations.api.schemas.messages import Message

__all__ = ["ChosenVersion", "Message", "Versions"]


class Version(BaseModel):
    number: int = about("From 1, in order of time.", 1, ge=1)
    is_current: bool = about("Whether it is what stands there now.", False)
    messages: list[Message] = about("What stood there; after a question what answered it too.")
    more: int = about("How many messages came after these.", 0, ge=0)


class Versions(BaseModel):
    items: list[Version] = about("All of them, in order.")


class ChosenVersion(Body):
    model_config = ConfigDict(json_schema_extra={"example": {"version": 1}})

    version: int = Field(description="Its number.", ge=1, le=1_000_000)
