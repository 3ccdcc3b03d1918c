"""Token figures in a provider's answer, in the forms that providers give them."""

from __future__ import annotations

from typing import Any

from conversations.llm.port import MAX_TOKENS, ReportedTokens
from conversations.llm.providers.choices import Json, as_object, first_choice

CACHE_PARTS = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""The tokens of a request that Claude read from its cache and wrote to it."""
_INPUT_PARTS = ("input_tokens", *CACHE_PARTS)
"""The tokens of a request to Claude, which exclude each other."""


def plausible(tokens: Any) -> int | None:
    """A figure that a provider reports; None if it cannot be a number of tokens."""
    if isinstance(tokens, float) and tokens.is_integer():
        tokens = int(tokens)
    return tokens if type(tokens) is int and 0 <= tokens <= MAX_TOKENS else None


def usage_in(answer: Json) -> Json:
    """The usage of a chat completion or of a chunk; empty if it has none.

    Groq's streams have it in `x_groq`, and Moonshot's in the last choice.
    """
    places = (answer, as_object(answer.get("x_groq")), first_choice(answer))
    return next((usage for place in places if (usage := as_object(place.get("usage")))), {})


def tokens_of(usage: Any) -> ReportedTokens:
    """The tokens of a chat completion's usage; 0 for each figure that is missing or implausible.

    The cached tokens are part of the prompt, and the thoughts part of the completion. xAI and Gemini leave the thoughts
    out of the completion, and some gateways the cached tokens out of the prompt, but the total counts them.
    """
    usage = as_object(usage)
    prompt = _first(usage, "prompt_tokens", "input_tokens")
    completion = _first(usage, "completion_tokens", "output_tokens")
    cached = _first(as_object(usage.get("prompt_tokens_details")), "cached_tokens") or _first(
        usage, "cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens"
    )
    thought = _first(as_object(usage.get("completion_tokens_details")), "reasoning_tokens") or _first(
        usage, "reasoning_tokens"
    )
    left_out = max(0, _first(usage, "total_tokens") - prompt - completion)
    if left_out == cached != thought and left_out:
        prompt += cached
    elif left_out:
        completion, thought = completion + left_out, max(thought, left_out)
    elif thought > completion and not usage.get("total_tokens"):
        completion += thought
    return ReportedTokens(
        min(prompt, MAX_TOKENS),
        min(completion, MAX_TOKENS),
        cached if cached <= prompt else 0,
        min(thought, completion, MAX_TOKENS),
    )


def spent_on(answer: Json) -> ReportedTokens | None:
    """The tokens of a chat completion or a chunk; None unless it reports both a prompt and a completion."""
    usage = usage_in(answer)
    tokens = tokens_of(usage)
    written = (plausible(usage.get(name)) for name in ("completion_tokens", "output_tokens"))
    return tokens if tokens.prompt and any(figure is not None for figure in written) else None


def later_usage(before: Json, after: Any) -> Json:
    """The usage of a message of Claude's after a further event; the figures of its events are cumulative.

    Some servers name the input at the beginning, others at the end, with zeros in the other place.
    """
    figures = {name: figure for name, figure in as_object(after).items() if figure is not None}
    if not any(plausible(figures.get(name)) for name in _INPUT_PARTS):
        figures = {name: figure for name, figure in figures.items() if name not in _INPUT_PARTS or name not in before}
    return before | figures


def spent_on_message(message: Json) -> ReportedTokens | None:
    """The tokens of a message of Claude's; None if the figures are missing or implausible.

    `input_tokens` excludes the tokens that were read from the cache and written to it; here they are added.
    """
    usage = as_object(message.get("usage"))
    parts = [usage.get("input_tokens"), *(usage.get(name, 0) for name in CACHE_PARTS)]
    fresh, cached, kept = (plausible(part) for part in parts)
    completion = plausible(usage.get("output_tokens"))
    if fresh is None or cached is None or kept is None or completion is None:
        return None
    prompt = plausible(fresh + cached + kept)
    thought = _first(as_object(usage.get("output_tokens_details")), "thinking_tokens")
    return ReportedTokens(prompt, completion, cached, min(thought, completion)) if prompt else None


def _first(figures: Json, *names: str) -> int:
    """The first figure above zero; 0 if there is none."""
    return next((tokens for name in names if (tokens := plausible(figures.get(name)))), 0)
