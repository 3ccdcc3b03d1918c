"""Limits of a reply's length: known maxima of models, and limits that a server's refusal names."""

from __future__ import annotations

import re
from typing import NamedTuple

from compression.core.lazy_pattern import lazy_pattern

UNKNOWN_MAX_TOKENS = 8_192
"""The limit for a model whose maximum is unknown, if its API requires one."""
MIN_REPLY_TOKENS = 256
"""If a window leaves fewer tokens for the reply, the prompt is too long."""

MAX_TOKENS_BY_MODEL = {
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
"""The most tokens of a reply by the beginning of a model's id, as of November 2026; the longest match counts."""

_LIMIT = r"(?:max\w{0,20}[_ ]?tokens?|(?:output|completion) tokens?|num_predict)\b"
_MOST = (
    r"(?:<= ?|at most |(?:not(?: be)?|no) (?:greater|larger|more) than |(?P<below>(?:less|lower|smaller) than )"
    r"|(?:less|lower|smaller) than or equal to |exceed |maximum(?: allowed| value| output tokens| of| is)* "
    r"|(?<!rate )limit(?: of| is)* |between \d{1,9} and )[`'\"(]?(?P<most>\d{1,9})"
)
_OF_MODEL = tuple(
    lazy_pattern(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        r"max\w{0,20}_tokens: \d{1,9} > (?P<most>\d{1,9})",  # Anthropic
        r"range is from \d{1,9} \(inclusive\) to (?P<most>\d{1,9}) \((?:in|(?P<below>ex))clusive",  # Google
        rf"{_LIMIT}[^\d\[]{{0,80}}\[\d{{1,9}}, ?(?P<most>\d{{1,9}})(?P<below>\))?",
        rf"{_LIMIT}.{{0,160}}?{_MOST}",
        rf"{_MOST}[^,;]{{0,40}}{_LIMIT}",
    )
)
"""Errors about the model's own limit; with `below`, it is one less than `most`."""
_OF_SUM = lazy_pattern(r"\+ ?[`'\"]?max|\bmax\w*[`'\"]? ?\+|\bplus\b|context (?:length|window|limit)", re.IGNORECASE)
"""The words of an error about a request and its reply together."""
_OF_WINDOW = re.compile(
    r"context limit: (?P<prompt>\d{1,9}) \+ \d{1,9} > (?P<window>\d{1,9})"  # Anthropic
    r"|\(\d{1,9} > (?P<window2>\d{1,9}) - (?P<prompt2>\d{1,9})\)"  # vLLM
    r"|maximum context length is (?P<window3>\d{1,9}) tokens[^()]{0,200}\((?P<prompt3>\d{1,9}) in the mess"  # OpenAI
    r"|max_new_tokens\W{1,3}must be <= (?P<window4>\d{1,9})\. Given: (?P<prompt4>\d{1,9})"  # TGI
)

_learned: dict[tuple[str, str], int] = {}


class NamedLimit(NamedTuple):
    """The limit of a reply in tokens that a refusal names: for all replies of the model, or only for this request."""

    tokens: int
    is_of_model: bool


def max_reply_tokens(model_id: str, base_url: str) -> int | None:
    """The most tokens that a model's reply can have; None if unknown."""
    name = model_id.lower().rsplit("/", 1)[-1]
    fitting = [start for start in MAX_TOKENS_BY_MODEL if re.match(rf"{re.escape(start)}(?!\d)", name)]
    return learned(base_url, model_id) or (MAX_TOKENS_BY_MODEL[max(fitting, key=len)] if fitting else None)


def learned(base_url: str, model: str) -> int | None:
    """The maximum that a server has named in a refusal since this process began; None if it named none."""
    return _learned.get(_key(base_url, model))


def learn(base_url: str, model: str, most: int) -> None:
    """Remember the maximum that a server named, for this process."""
    _learned[_key(base_url, model)] = most


def _key(base_url: str, model: str) -> tuple[str, str]:
    return base_url.rstrip("/").removesuffix("/v1"), model


def limit_named_in(complaint: str, *, asked: int | None) -> NamedLimit | None:
    """The limit that a refusal of too long a reply names; None if it has another reason. `asked`: the limit sent."""
    if asked is None:
        return None
    if found := _OF_WINDOW.search(complaint):
        numbers = found.groupdict()
        window, prompt = (
            int(next(filter(None, (numbers[name + end] for end in ("", "2", "3", "4")))))
            for name in ("window", "prompt")
        )
        return NamedLimit(window - prompt, False) if min(asked, MIN_REPLY_TOKENS) <= window - prompt < asked else None
    if _OF_SUM.search(complaint):
        return None
    if found := next((found for pattern in _OF_MODEL if (found := pattern.search(complaint))), None):
        tokens = int(found["most"]) - bool(found.groupdict().get("below"))
        return NamedLimit(tokens, True) if 0 < tokens < asked else None
    return None


def smallest(*figures: int | None) -> int | None:
    """The smallest of the figures that are not None; None if all are."""
    return min((figure for figure in figures if figure is not None), default=None)
