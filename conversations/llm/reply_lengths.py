"""How long a reply may be: what is known of models by their ids, and what a server's refusal names."""

from __future__ import annotations

import re
from typing import NamedTuple

UNKNOWN = 8_192
"""Tokens that a model is asked for whose maximum is not known, where its API wants a figure."""
LEAST = 256
"""Tokens. Where a window leaves less, its prompt is what is too long."""

MOST = {
    "claude-3": 4_096,
    "claude-3-5": 8_192,
    "claude-3-7": 64_000,
    "claude-opus-4": 32_000,
    "claude-sonnet-4": 64_000,
    "claude-haiku-4": 64_000,
    "claude-opus-4-5": 64_000,
    "claude-opus-4-6": 128_000,
    "claude-opus-4-7": 128_000,
    "claude-opus-4-8": 128_000,
    "claude-sonnet-4-6": 128_000,
    "claude-haiku-5": 64_000,
    "claude-sonnet-5": 128_000,
    "claude-opus-5": 128_000,
    "claude-fable-5": 128_000,
    "claude-mythos-5": 128_000,
}
"""Tokens of one reply by the beginning of an id, as of November 2026; the longest beginning that fits counts."""

_OF_MODEL = re.compile(
    r"max_tokens: \d{1,9} > (\d{1,9})"  # Anthropic
    r"|at most (\d{1,9}) (?:completion|output) tokens"  # OpenAI
    r"|less than or equal to [`'\"]?(\d{1,9})"  # Groq
    r"|valid range of max\w{0,20}_tokens is \[\d{1,9}, ?(\d{1,9})\]"  # DeepSeek
)
_OF_WINDOW = re.compile(
    r"context limit: (?P<prompt>\d{1,9}) \+ \d{1,9} > (?P<window>\d{1,9})"  # Anthropic
    r"|\(\d{1,9} > (?P<window2>\d{1,9}) - (?P<prompt2>\d{1,9})\)"  # vLLM
    r"|maximum context length is (?P<window3>\d{1,9}) tokens[^()]{0,200}\((?P<prompt3>\d{1,9}) in the mess"  # OpenAI
)

_learned: dict[tuple[str, str], int] = {}


class Named(NamedTuple):
    """Tokens that a refusal leaves for a reply: of every one, or only of the one that was asked for."""

    tokens: int
    is_of_model: bool


def most_of(model_id: str, base_url: str) -> int | None:
    """The most tokens that a model's reply can have, None where that is not known."""
    name = model_id.lower().rsplit("/", 1)[-1]
    fitting = [start for start in MOST if re.match(rf"{re.escape(start)}(?!\d)", name)]
    return learned(base_url, model_id) or (MOST[max(fitting, key=len)] if fitting else None)


def learned(base_url: str, model: str) -> int | None:
    """The maximum that a server has named in a refusal, since this process began."""
    return _learned.get(_key(base_url, model))


def learn(base_url: str, model: str, most: int) -> None:
    _learned[_key(base_url, model)] = most


def _key(base_url: str, model: str) -> tuple[str, str]:
    return base_url.rstrip("/").removesuffix("/v1"), model


def named(complaint: str, *, asked: int | None) -> Named | None:
    """How many tokens a refusal leaves where it is about too long a reply; None for one about something else."""
    if asked is None:
        return None
    if found := _OF_MODEL.search(complaint):
        tokens = int(next(filter(None, found.groups())))
        return Named(tokens, True) if 0 < tokens < asked else None
    if found := _OF_WINDOW.search(complaint):
        said = found.groupdict()
        window, prompt = (
            int(next(filter(None, (said[name + end] for end in ("", "2", "3"))))) for name in ("window", "prompt")
        )
        return Named(window - prompt, False) if min(asked, LEAST) <= window - prompt < asked else None
    return None


def least(*figures: int | None) -> int | None:
    """The smallest of those that are known."""
    return min((figure for figure in figures if figure is not None), default=None)
