"""Reads a request of OpenAI's Responses as the body of a chat completion."""

from __future__ import annotations

from typing import Any

from conversations.errors import Invalid
from conversations.gateway.openai_responses.items import messages_of
from conversations.gateway.openai_responses.tools import choice_of, tools_of
from conversations.gateway.protocol import Json
from conversations.gateway.sealed_thoughts import identity_of
from conversations.llm.known_models import is_openai
from conversations.models import ModelProfile

SAME = ("model", "stream", "temperature", "top_p", "parallel_tool_calls")
"""Fields of the same name and meaning."""
AT_OPENAI = ("prompt_cache_key", "safety_identifier", "user")
"""Fields of the same name that only OpenAI reads."""
LEFT_OUT = (
    "store", "include", "metadata", "client_metadata", "truncation", "max_tool_calls", "stream_options",
    "prompt_cache_options", "prompt_cache_retention", "context_management", "top_logprobs",
)  # fmt: skip
"""Fields about storage, additional output and caching, which are left out; every history is compacted anyway."""
KNOWN = frozenset((
    *SAME, *AT_OPENAI, *LEFT_OUT, "input", "instructions", "max_output_tokens", "reasoning", "text", "tools",
    "tool_choice", "service_tier", "previous_response_id",
))  # fmt: skip
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def read(body: Json, profile: ModelProfile) -> Json:
    """The body of a chat completion that asks the same. Raises Invalid, naming the field."""
    at_openai = profile.provider == ModelProfile.Provider.OPENAI and is_openai(profile.base_url)
    read = {name: body[name] for name in (*SAME, *(AT_OPENAI if at_openai else ())) if body.get(name) is not None}
    read["messages"] = [
        *instructions_of(body.get("instructions")),
        *messages_of(body.get("input"), identity_of(profile)),
    ]
    if tools := tools_of(body.get("tools")):
        read["tools"] = tools
        if body.get("tool_choice") is not None:
            read["tool_choice"] = choice_of(body["tool_choice"])
    else:
        read.pop("parallel_tool_calls", None)
    if (most := body.get("max_output_tokens")) is not None:
        if type(most) is not int or most < 1:
            raise Invalid("max_output_tokens: must be a whole number of at least 1.", field="max_output_tokens")
        read["max_completion_tokens" if at_openai else "max_tokens"] = min(most, profile.window // 2)
    if body.get("service_tier") not in (None, "auto", "default"):
        raise Invalid("service_tier: must be auto or default.", field="service_tier")
    return read | effort_of(body.get("reasoning")) | format_of(body.get("text"), at_openai=at_openai)


def instructions_of(given: object) -> list[Json]:
    """The message with the instructions; none without them."""
    if given is None or given == "":
        return []
    if not isinstance(given, str):
        raise Invalid("instructions: must be text.", field="instructions")
    return [{"role": "system", "content": given}]


def effort_of(reasoning: object) -> Json:
    """The effort as chat completions name it. Raises Invalid, naming the field."""
    if reasoning is None:
        return {}
    if not isinstance(reasoning, dict):
        raise Invalid("reasoning: must be an object.", field="reasoning")
    effort = reasoning.get("effort")
    if effort is not None and effort not in EFFORTS:
        raise Invalid(f"reasoning.effort: must be one of {', '.join(EFFORTS)}.", field="reasoning.effort")
    return {"reasoning_effort": effort} if effort else {}


def format_of(text: object, *, at_openai: bool) -> Json:
    """The form of the answer as chat completions name it. Raises Invalid, naming the field."""
    if text is None:
        return {}
    if not isinstance(text, dict):
        raise Invalid("text: must be an object.", field="text")
    form: Any = text.get("format") or {"type": "text"}
    read: Json = {}
    if not isinstance(form, dict) or form.get("type") not in ("text", "json_object", "json_schema"):
        raise Invalid("text.format.type: must be text, json_object or json_schema.", field="text.format.type")
    if form["type"] == "json_object":
        read["response_format"] = {"type": "json_object"}
    if form["type"] == "json_schema":
        schema = {name: value for name, value in form.items() if name != "type"}
        read["response_format"] = {"type": "json_schema", "json_schema": schema}
    if at_openai and text.get("verbosity"):
        read["verbosity"] = text["verbosity"]
    return read


def instructed(body: Json, instructions: str) -> Json:
    """The request with instructions after its own."""
    given = body.get("instructions")
    return body | {"instructions": f"{given}\n\n{instructions}" if given and isinstance(given, str) else instructions}
