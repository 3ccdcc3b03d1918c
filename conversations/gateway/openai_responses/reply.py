"""Makes a response of OpenAI's form out of a chat completion."""

from __future__ import annotations

import time
from uuid import uuid4

from conversations.gateway.chunks import arguments_of
from conversations.gateway.openai_responses.tools import INPUT, customs_of, spaces_of, typed_of
from conversations.gateway.openai_responses.typed_tools import call_fields
from conversations.gateway.protocol import CallerRequest, Json
from conversations.gateway.sealed_thoughts import sealed
from conversations.llm.providers.reported_usage import tokens_of

INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
ECHOED = ("instructions", "max_output_tokens", "metadata", "temperature", "top_p", "text", "reasoning", "user")
"""Fields of a request that its response repeats."""


async def whole(completion: Json, asked: CallerRequest) -> Json:
    """The response of a chat completion."""
    id, reading, naming, output = new_id("resp"), asked.reading(), Naming(asked.body), list[Json]()
    for piece in reading.whole(completion):
        if piece.kind == "thought":
            seal = sealed(reading.thoughts, asked.model)
            output.append(reasoning_item(item_id("rs", id, len(output)), piece.text, seal))
        elif piece.kind == "text":
            output.append(message_item(item_id("msg", id, len(output)), piece.text))
        elif call := piece.call:
            output.append(naming.call_item(item_id("fc", id, len(output)), call.id, call.name, piece.text))
    await asked.hold_thoughts(reading)
    return ended(id, asked, output, reading.reason, reading.usage)


class Naming:
    """The tools of a request by the names that the model knows."""

    def __init__(self, body: Json) -> None:
        self.customs = customs_of(body)
        self._spaces, self._typed = spaces_of(body), typed_of(body)

    def call_item(self, id: str, call_id: str, name: str, arguments: str, status: str = "completed") -> Json:
        """The item of a call: of a function, of a tool that takes any text, or of one that is known by its type."""
        if name in self._typed:
            return {"id": id, "status": status, "call_id": call_id or new_id("call")} | call_fields(
                name, arguments_of(arguments)
            )
        space, own = self._spaces.get(name, ("", name))
        named = {"call_id": call_id or new_id("call"), "name": own} | ({"namespace": space} if space else {})
        if name in self.customs:
            return {"id": id, "type": "custom_tool_call", "status": status, "input": self.input_of(arguments)} | named
        return {"id": id, "type": "function_call", "status": status, "arguments": arguments} | named

    def input_of(self, arguments: str) -> str:
        """The text for a custom tool, from any form that a model gives it."""
        given = arguments_of(arguments)
        text = given.get(INPUT)
        if isinstance(text, str):
            return text
        return arguments if given.keys() - {"arguments"} else str(given.get("arguments", ""))


def ended(id: str, asked: CallerRequest, output: list[Json], reason: object, usage: Json) -> Json:
    """A response whose answer has ended."""
    cut = INCOMPLETE.get(str(reason))
    made = response(id, asked, "incomplete" if cut else "completed", output)
    return made | {"incomplete_details": {"reason": cut} if cut else None, "usage": usage_of(usage, asked)}


def response(id: str, asked: CallerRequest, status: str, output: list[Json]) -> Json:
    """A response in some state, with the fields of its request."""
    body = asked.body
    return {
        "id": id,
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": body["model"],
        "output": output,
        "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
        "previous_response_id": body.get("previous_response_id"),
        "store": is_stored(body),
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "truncation": "disabled",
        "usage": None,
        **{name: body.get(name) for name in ECHOED},
    }


def usage_of(usage: Json, asked: CallerRequest) -> Json:
    """The figures of a provider's usage; after a compaction, the input is the caller's own history."""
    spent = tokens_of(usage)
    read, cached = (spent.prompt or asked.counted, spent.cached) if asked.tokens is None else (asked.tokens, 0)
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": spent.completion,
        "output_tokens_details": {"reasoning_tokens": spent.thought},
        "total_tokens": read + spent.completion,
    }


def message_item(id: str, text: str, status: str = "completed") -> Json:
    return {"id": id, "type": "message", "role": "assistant", "status": status, "content": [text_part(text)]}


def text_part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def reasoning_item(id: str, text: str, seal: str = "") -> Json:
    held = {"encrypted_content": seal} if seal else {}
    return {"id": id, "type": "reasoning", "summary": [{"type": "summary_text", "text": text}]} | held


def is_stored(body: Json) -> bool:
    """Whether the response to a request is held for later ones: unless the caller refuses it."""
    return body.get("store") is not False


def item_id(kind: str, response_id: str, place: int) -> str:
    """The id of an item, which names its response and its place in the output."""
    return f"{kind}_{response_id.partition('_')[2]}_{place}"


def new_id(kind: str) -> str:
    return f"{kind}_{uuid4().hex}"
