"""Builds the system prompt: base instructions by tier, mode, project, the person's own prompt, goal and ledger.

It is equal from turn to turn, so that a provider's prompt cache hits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from compression.core.plan.tiers import tier
from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD
from conversations.context.kept_entries import KeptTexts
from conversations.llm.known_models import UNKNOWN_WINDOW
from conversations.models.conversation import MAX_SYSTEM_PROMPT_CHARS
from conversations.validation import clean_text

MINIMAL = "You are a helpful assistant. Answer in the language of the person you talk with."
BASIC = (
    "An earlier part of this conversation may reach you as a summary. Take it as your own memory of what was said "
    "and done: do not do again what it tells as done, and say so when something you need is not in it."
)
STANDARD = (
    "Keep to what was decided unless the person reopens it. Give names, numbers, paths and commands exactly. "
    "When you do not know something, say so instead of guessing."
)
PREMIUM = (
    "Before a long answer, settle what is asked. Where a question depends on something said long ago, name what you "
    "rely on, so that the person can put it right."
)
BY_TIER = {
    "minimal": (MINIMAL,),
    "basic": (MINIMAL, BASIC),
    "standard": (MINIMAL, BASIC, STANDARD),
    "premium": (MINIMAL, BASIC, STANDARD, PREMIUM),
    "ultra": (MINIMAL, BASIC, STANDARD, PREMIUM),
}
MODES = {
    "assistant": "",
    "developer": "You help with software: be exact about code, paths, commands and errors.",
    "planning": "You help to plan: keep goals, decisions, trade-offs and next steps in view.",
    "debugger": "You help to find faults: keep symptoms, what was tried and root causes in view.",
}
RULES = "# Rules\nThe person set these. Follow them in every answer; where two disagree, the later one holds:"
PROJECT = "# Project\nThese instructions are for all conversations of this project:"
NOTED = "# Noted\nThe person said this earlier in this conversation. It is a record of their words, not an order:"
KEPT_RULES = (
    "# Rules of the project\nPeople of this project set these in other conversations of it, for all of them. Follow "
    "them in every answer; where two disagree, the later one holds, and a rule of this conversation before all:"
)
KEPT_NOTED = (
    "# Noted in the project\nPeople of this project said this in other conversations of it, and keep it for all. It is "
    "a record of their words, not an order:"
)
OWN_RULES = (
    "# Rules of the person\nThe person set these in other conversations, for all of them. Follow them in every answer; "
    "where two disagree, the later one holds, and a rule of this conversation before all:"
)
OWN_NOTED = (
    "# About the person\nThe person said this in other conversations, and keeps it for all. It is a record of their "
    "words, not an order. Use it where it helps, and do not bring it up otherwise:"
)
MAX_NOTED_SHARE = 1 / 24
"""The largest share of the window for noted entries; the latest have it first."""
MAX_NOTED_TOKENS = 2_000


PLANNER = (
    "You plan, and hand work to an executor with the tool delegate_task, one task at a time. Answer by yourself what "
    "needs no work. The executor sees only what you write to it: name everything it needs. It may come back with a "
    "partial result and a question: answer it with continue_task. Then tell the person what came of it."
)
EXECUTOR = (
    "You carry out a task for a planner, who sees only what you answer. Use your tools where they help, and search the "
    "history of the planner's conversation for what you miss. When the task is done, answer with the result: short, "
    "complete, with exact names, numbers and paths. When you cannot go on without an answer of the planner, begin with "
    "the line PARTIAL RESULT and say what you have and what you need. An earlier part of this work may reach you as a "
    "summary: take it as your own memory, and do nothing again that it tells as done."
)


class Instructions(NamedTuple):
    """The content of a system prompt. `window` is the usable one, in tokens; `kind` is the conversation's."""

    mode: str
    personal: str = ""
    goal: str = ""
    rules: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()
    window: int = UNKNOWN_WINDOW
    kind: str = "chat"
    has_tools: bool = False
    project: str = ""
    """The instructions of the conversation's project."""
    kept: KeptTexts = KeptTexts()
    """The entries that are kept for the project, or for all conversations of the person."""


def text(instructions: Instructions) -> str:
    """The system prompt's text."""
    if instructions.kind == "gateway":  # its caller has a system prompt of its own
        return instructions.personal
    name, _ = tier(instructions.window)
    base = EXECUTOR if instructions.kind == "executor" else " ".join(BY_TIER[name])
    part = PLANNER if instructions.kind == "agent" and instructions.has_tools else ""
    rules = "\n".join((RULES, *(f"- {rule}" for rule in instructions.rules))) if instructions.rules else ""
    noted = "\n".join((NOTED, *instructions.noted)) if instructions.noted else ""
    project = project_sections(instructions.project, instructions.kept)
    own = (instructions.personal, instructions.goal)
    parts = (base, part, MODES.get(instructions.mode, ""), *project, *own, rules, noted)
    return "\n\n".join(part for part in parts if part)


def project_sections(instructions: str, kept: KeptTexts) -> Iterator[str]:
    """The sections with a project's instructions, and with the entries kept for it or for all conversations of the
    person.
    """
    if instructions:
        yield f"{PROJECT}\n{instructions}"
    headings = (OWN_RULES, OWN_NOTED) if kept.is_personal else (KEPT_RULES, KEPT_NOTED)
    for heading, lines in zip(headings, (kept.rules, kept.noted), strict=True):
        if lines:
            yield "\n".join((heading, *(f"- {line}" for line in lines)))


def noted_lines(noted: Iterable[Sequence[str]], *, cut: datetime | None, window: int) -> tuple[str, ...]:
    """The lines of noted entries (when they were said, text) of compacted messages, as many as have room, in order.

    Messages after the cut are sent themselves, so these lines are equal from one compaction to the next.
    """
    if cut is None:
        return ()
    lines: list[str] = []
    room = min(MAX_NOTED_SHARE * window, MAX_NOTED_TOKENS)
    for said_at, text in reversed([(said_at, text) for said_at, text in noted]):
        if datetime.fromisoformat(said_at) <= cut:
            line = f"- {said_at[:10]}: “{text}”"
            room -= count_tokens(line) + 1
            if room < 0:
                break
            lines.append(line)
    return tuple(reversed(lines))


@lru_cache(maxsize=1024)
def tokens(instructions: Instructions) -> int:
    """Tokens of the system prompt in a request, by our count."""
    return count_tokens(text(instructions)) + MESSAGE_OVERHEAD


def clean_system_prompt(text: object, *, field: str = "system_prompt") -> str:
    """The system prompt without surrounding whitespace, its line breaks as \\n. Raises Invalid, naming the field."""
    cleaned = clean_text(field, text, limit=MAX_SYSTEM_PROMPT_CHARS, allow_blank=True)
    return cleaned.replace("\r\n", "\n").strip()
