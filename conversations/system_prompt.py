"""The system prompt, built in one place: base instructions by tier, the mode, the person's own, goal and rules.

It is the same from turn to turn, so that a provider's prompt cache hits.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from compression.core.tiers import tier
from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD
from conversations.llm.known import UNKNOWN_WINDOW

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
RULES = "# Rules\nThe person set these. Follow them in every answer:"


class Instructions(NamedTuple):
    """What a system prompt is made of. `window` is the usable one, in tokens. A bare one is the personal part alone."""

    mode: str
    personal: str = ""
    goal: str = ""
    rules: tuple[str, ...] = ()
    window: int = UNKNOWN_WINDOW
    is_bare: bool = False


def text(instructions: Instructions) -> str:
    if instructions.is_bare:
        return instructions.personal
    name, _ = tier(instructions.window)
    base = " ".join(BY_TIER[name])
    rules = "\n".join((RULES, *(f"- {rule}" for rule in instructions.rules))) if instructions.rules else ""
    parts = (base, MODES.get(instructions.mode, ""), instructions.personal, instructions.goal, rules)
    return "\n\n".join(part for part in parts if part)


@lru_cache(maxsize=1024)
def tokens(instructions: Instructions) -> int:
    """What it costs in a request, by our own count."""
    return count_tokens(text(instructions)) + MESSAGE_OVERHEAD
