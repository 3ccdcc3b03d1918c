"""What a file says about a conversation, whatever its format: read completely before anything is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from compression.core.goal import Progress


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of an assistant message; `arguments` is text, as in OpenAI's API.

    `number` tells it from all others of its file: providers use a call id again once its call was answered.
    """

    number: int
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answered to a call."""

    content: str
    created_at: datetime | None


@dataclass(frozen=True, slots=True)
class Line:
    """One message that becomes a row. `created_at` is the file's own date, which may be missing or out of order."""

    role: str
    content: str
    created_at: datetime | None
    name: str = ""
    calls: tuple[Call, ...] = ()
    is_protected: bool = False
    status: str = "complete"
    model: str = ""
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Aim:
    """A goal, with its progress."""

    description: str
    priority: str
    progress: Progress


@dataclass(frozen=True, slots=True)
class Source:
    """One conversation of a file.

    `results` are by the number of their call, `model` is a profile's name, `fields` are further ones of the row.
    `rules` of None: they are to be found in what the person says.
    """

    title: str
    system_prompt: str
    lines: tuple[Line, ...]
    results: Mapping[int, Result]
    model: str = ""
    started: datetime | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    rules: list[str] | None = None
    goal: Aim | None = None
