"""Types of the schemas' fields, with their limits and descriptions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter
from pydantic_core import core_schema

from conversations.instructions.conversation_settings import clean_mode
from conversations.models import Conversation
from conversations.validation import MAX_CONTENT, clean_text

MessageId = Annotated[UUID, Field(examples=["0199b3c2-8c41-7d02-9a57-0d3c5be8f1a4"])]
Mode = Annotated[
    str, BeforeValidator(clean_mode), Field(json_schema_extra={"enum": list[Any](Conversation.Mode.values)})
]
Effort = Literal["none", "low", "medium", "high"]
Role = Literal["system", "user", "assistant", "tool"]
Tokens = Annotated[int, Field(ge=0)]
Money = Annotated[str, Field(pattern=r"^\d+(\.\d+)?$")]
"""US dollars as a decimal number in a string: no digit is lost on the way."""


def about(text: str, example: Any = ..., **limits: Any) -> Any:
    """A field of an answer: what it says, in which unit, and what that looks like."""
    return Field(description=text, examples=None if example is ... else [example], **limits)


class Body(BaseModel):
    """The base of a caller's bodies: unknown fields are refused, and so is "3" for 3."""

    model_config = ConfigDict(extra="forbid", strict=True)


SHAPE = "x-shape"
"""Where the description of a model waits to be put among the others, under its name: as text, because pydantic would
look for what it refers to."""
REF = "#/components/schemas/{model}"


@dataclass(frozen=True, slots=True)
class LooksLike:
    """As an annotation: described as `model`, where the annotated type checks something else."""

    model: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return handler(source)

    def __get_pydantic_json_schema__(self, _: Any, handler: Any) -> Any:
        shape = TypeAdapter(self.model).json_schema(ref_template=REF, mode="serialization")
        return {SHAPE: json.dumps(shape)} if "properties" in shape else shape


def described(model: Any) -> Any:
    """For a route's `response`: described as `model`, and sent as it is.

    Checking an answer again takes twice as long as writing it (1.3 and 0.7 ms for 200 messages); tests check them all.
    """
    return Annotated[Any, LooksLike(model)]


@dataclass(frozen=True, slots=True)
class Text:
    """As an annotation of `str`: it can be stored, and has at most `most` characters."""

    field: str
    most: int = MAX_CONTENT
    blank: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        check = partial(clean_text, self.field, limit=self.most, allow_blank=self.blank)
        return core_schema.no_info_after_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        return handler(schema) | {"maxLength": self.most} | ({} if self.blank else {"minLength": 1})
