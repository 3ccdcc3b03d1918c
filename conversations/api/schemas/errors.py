"""The body of every refusal."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from conversations.api.schemas.fields import about


class Fault(BaseModel):
    code: str = about("A word for programs; it does not change.", "invalid")
    message: str = about("A sentence for people, which names the field and its limit.", "limit: must be at most 200.")
    detail: dict[str, Any] = about(
        "The figures behind both: `field`, `limit`, `retry_after` in seconds, and others of the code.",
        {"field": "limit"},
    )


class Error(BaseModel):
    error: Fault
