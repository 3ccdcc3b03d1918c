"""Reads a request of Anthropic's Messages as the body of a chat completion."""

from __future__ import annotations

from collections.abc import Iterator

from conversations.errors import Invalid, Refused
from conversations.gateway.anthropic.blocks import messages_of, texts_of
from conversations.gateway.anthropic.client_tools import as_function
from conversations.gateway.anthropic.upstream import speaks
from conversations.gateway.messages import as_json
from conversations.gateway.protocol import Json
from conversations.gateway.sealed_thoughts import identity_of
from conversations.llm.known_models import is_openai
from conversations.models import ModelProfile

SAME = ("model", "stream", "temperature", "top_p")
"""Fields of the same name and meaning."""
LEFT_OUT = ("metadata", "context_management", "betas", "cache_control")
"""Fields without a meaning for other providers: metadata, context management, cache control."""
CHOICES = {"auto": "auto", "any": "required", "none": "none"}
NOTHING: Json = {"type": "object", "properties": {}}
"""The schema of a tool without parameters."""
STANDARD = ("auto", "standard_only")
KNOWN = frozenset((
    *SAME, *LEFT_OUT, "messages", "system", "max_tokens", "stop_sequences", "tools", "tool_choice", "top_k", "thinking",
    "service_tier", "output_config", "thread",
))  # fmt: skip


class ThreadUnsupported(Refused):
    """The request leaves its history with the server; Anthropic's SDK then sends the whole history instead."""

    code = "thread_unsupported_request"

    def __init__(self) -> None:
        super().__init__("thread: no conversation is held here; send all messages.", field="thread")


def read(body: Json, profile: ModelProfile) -> Json:
    """The body of a chat completion that asks the same. Raises Invalid, naming the field.

    `max_tokens` becomes the model's window at most: clients set it for the largest models. Raises ThreadUnsupported.
    """
    thread = body.get("thread")
    if thread is not None and not (isinstance(thread, dict) and thread.get("type") == "create"):
        raise ThreadUnsupported  # a thread that begins has its whole history
    most = body.get("max_tokens")
    if type(most) is not int or most < 1:
        raise Invalid("max_tokens: must be a whole number of at least 1.", field="max_tokens")
    read = {name: body[name] for name in SAME if body.get(name) is not None}
    at_openai = profile.provider == ModelProfile.Provider.OPENAI and is_openai(profile.base_url)
    read["max_completion_tokens" if at_openai else "max_tokens"] = min(most, profile.window)
    read["messages"] = [*_system(body.get("system")), *messages_of(body.get("messages"), identity_of(profile))]
    read |= _tools(body, is_own=speaks(profile)) | _format(body.get("output_config"))
    if body.get("stop_sequences"):
        read["stop"] = body["stop_sequences"]
    if body.get("top_k") is not None and not at_openai:
        read["top_k"] = body["top_k"]
    if body.get("service_tier") not in (None, *STANDARD) and not speaks(profile):
        raise Invalid(f"service_tier: must be one of {', '.join(STANDARD)}.", field="service_tier")
    return read


def read_to_count(body: Json, profile: ModelProfile) -> Json:
    """The same of a request that need not say how long its reply may be."""
    return read({"max_tokens": 1} | body, profile)


def wants_thoughts(body: Json) -> bool:
    thinking = body.get("thinking")
    return isinstance(thinking, dict) and thinking.get("type") in ("enabled", "adaptive")


def _system(system: object) -> Iterator[Json]:
    if system not in (None, "", []):
        yield {"role": "system", "content": "\n\n".join(texts_of(system, "system"))}


def _tools(body: Json, *, is_own: bool) -> Json:
    """The tools and their choice. With `is_own` tools of any type pass: the provider knows those of Anthropic's API."""
    tools, choice = body.get("tools"), body.get("tool_choice")
    read: Json = {}
    if tools:
        if not isinstance(tools, list):
            raise Invalid("tools: must be a list.", field="tools")
        read["tools"] = [_tool(tool, f"tools[{place}]", is_own=is_own) for place, tool in enumerate(tools)]
    if choice is not None:
        if not isinstance(choice, dict) or choice.get("type") not in (*CHOICES, "tool"):
            raise Invalid("tool_choice.type: must be auto, any, tool or none.", field="tool_choice.type")
        named = {"type": "function", "function": {"name": str(choice.get("name") or "")}}
        read["tool_choice"] = CHOICES.get(choice["type"], named)
        if choice.get("disable_parallel_tool_use"):
            read["parallel_tool_calls"] = False
    return read if tools else {}


def _tool(tool: object, place: str, *, is_own: bool) -> Json:
    if is_own and isinstance(tool, dict) and tool.get("type") not in (None, "custom"):
        about = {"name": str(tool.get("name") or tool["type"]), "description": as_json(tool), "parameters": NOTHING}
        return {"type": "function", "function": about}
    if isinstance(tool, dict) and (function := as_function(tool)):
        return {"type": "function", "function": function}
    if not isinstance(tool, dict) or tool.get("type") not in (None, "custom"):
        what = "only tools that the caller carries out pass this gateway (type custom)."
        raise Invalid(f"{place}.type: {what}", field=f"{place}.type")
    if not isinstance(tool.get("name"), str) or not tool["name"]:
        raise Invalid(f"{place}.name: must be a text.", field=f"{place}.name")
    about = {"name": tool["name"], "parameters": tool.get("input_schema") or NOTHING}
    if tool.get("description"):
        about["description"] = tool["description"]
    return {"type": "function", "function": about}


def _format(config: object) -> Json:
    """The response format of an `output_config`; its effort is the model's own matter."""
    form = config.get("format") if isinstance(config, dict) else None
    if not isinstance(form, dict) or form.get("type") != "json_schema":
        return {}
    schema = {"name": "answer", "schema": form.get("schema") or {}}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def instructed(body: Json, instructions: str) -> Json:
    """The request with instructions after its own system prompt."""
    given = body.get("system")
    if isinstance(given, list):
        return body | {"system": [*given, {"type": "text", "text": instructions}]}
    return body | {"system": f"{given}\n\n{instructions}" if given and isinstance(given, str) else instructions}
