"""Reads a choice of a chat completion in OpenAI's form: servers name and arrange its parts in forms of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from conversations.llm.providers.tool_call_chunks import extra_in, text_of
from conversations.llm.thinking.thoughts import TEXT_FIELDS

Json = dict[str, Any]

FINISH_REASONS = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "complete": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "tool_call": "tool_calls",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "max_length": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "safety": "content_filter",
    "recitation": "content_filter",
    "prohibited_content": "content_filter",
    "blocklist": "content_filter",
    "spii": "content_filter",
    "sensitive": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "refusal": "content_filter",
    "abort": "aborted",
    "error": "aborted",
    "network_error": "aborted",
    "malformed_function_call": "aborted",
    "insufficient_system_resource": "aborted",
}
"""OpenAI's finish reasons for those of Mistral, Gemini, Anthropic, Amazon, Cohere, Zhipu, vLLM, TGI, OpenRouter and
DeepSeek; lower case.
"""
THINKING_PARTS = ("thinking", "reasoning")
"""The types of a content's parts that are thoughts; a part has them in the field of the same name."""


class CallPiece(NamedTuple):
    """A piece of a tool call. `number` is the call's place in the reply, None if the server gives none; `extra` are
    further fields.
    """

    number: int | None
    id: str
    name: str
    arguments: str
    extra: Json


def as_object(value: Any) -> Json:
    """The value if it is an object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def first_choice(completion: Any) -> Json:
    """The first choice of a completion or of a chunk; empty if there is none."""
    choices = as_object(completion).get("choices")
    return as_object(choices[0]) if isinstance(choices, list) and choices else {}


def finish_reason_of(choice: Json) -> Any:
    """OpenAI's name for the finish reason of a choice; an unknown one is unchanged."""
    reason = choice.get("finish_reason")
    return FINISH_REASONS.get(reason.lower(), reason) if isinstance(reason, str) else reason


def message_in(choice: Json) -> Json:
    """The message of a choice, or its delta in a stream; the same object if it has OpenAI's form.

    Some servers stream a `message` or a `text`. A list of parts becomes one text, with the thoughts apart, as Mistral's
    models send them.
    """
    given = [choice[name] for name in ("delta", "message") if isinstance(choice.get(name), dict)]
    said = next((one for one in given if one), given[0] if given else None)
    if said is None:
        return {"content": choice["text"]} if isinstance(choice.get("text"), str) else {}
    if not isinstance(said.get("content"), list):
        return said
    thought = "".join(_parts(said["content"], are_thoughts=True))
    meant = said | {"content": "".join(_parts(said["content"], are_thoughts=False))}
    has_thought = any(said.get(name) for name in TEXT_FIELDS)
    return meant | {TEXT_FIELDS[0]: thought} if thought and not has_thought else meant


def call_pieces(message: Json) -> Iterator[CallPiece]:
    """The calls in a message, or the pieces of calls in a delta, also in the old form of a single `function_call`."""
    calls = message.get("tool_calls")
    given = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    if isinstance(old := message.get("function_call"), dict):
        given.append({"index": 0, "function": old})
    for place, call in enumerate(given):
        function, index = as_object(call.get("function")), call.get("index")
        number = index if isinstance(index, int) else place if len(given) > 1 else None
        name = function["name"] if isinstance(function.get("name"), str) else ""
        yield CallPiece(number, str(call.get("id") or ""), name, text_of(function.get("arguments")), extra_in(call))


def _parts(content: list[Any], *, are_thoughts: bool) -> Iterator[str]:
    for part in content:
        if not isinstance(part, dict):
            continue
        is_thought = part.get("type") in THINKING_PARTS
        if is_thought is are_thoughts:
            yield _text(part.get(part["type"], part.get("text")) if is_thought else part.get("text"))


def _text(value: Any) -> str:
    """The text of a part, which may be a list of parts itself."""
    if isinstance(value, list):
        return "".join(_text(one.get("text")) for one in value if isinstance(one, dict))
    return value if isinstance(value, str) else ""
