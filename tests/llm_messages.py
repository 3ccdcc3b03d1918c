"""The scripted model server's side of Anthropic's messages API: its rules, its events, its errors."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

from tests.llm_answers import Answer, Request, as_blocks, call_id, pieces_of

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
SIGNATURE = "c2lnbmVk"
REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal", "tool_calls": "tool_use"}


def checked(answer: Answer, request: Request) -> Answer:
    """The answer, or the refusal of a request that Anthropic would refuse."""
    complaint = complaint_about(request.body) if answer.status == 200 else ""
    return replace(answer, status=400, message=complaint) if complaint else answer


def complaint_about(body: dict[str, Any]) -> str:
    """What is wrong with a request by the rules of the API, "" where nothing is."""
    messages = [message | {"content": as_blocks(message["content"])} for message in body["messages"]]
    body = body | {"messages": messages, "system": as_blocks(body.get("system", []))}
    if not body.get("max_tokens"):
        return "max_tokens: Field required"
    if not messages or messages[0]["role"] != "user":
        return "messages: first message must use the user role"
    texts = [*body.get("system", []), *(block for message in messages for block in message["content"])]
    if any(block["type"] == "text" and not block["text"].strip() for block in texts):
        return "messages: text content blocks must contain non-whitespace text"
    if complaint := _complaint_about_tools(body) or _complaint_about_thinking(body):
        return complaint
    for place, message in enumerate(messages):
        answers = messages[place + 1]["content"] if place + 1 < len(messages) else []
        calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        results = [block["tool_use_id"] for block in answers if block["type"] == "tool_result"]
        if message["role"] == "assistant" and sorted(calls) != sorted(results):
            return f"messages.{place}: `tool_use` ids and the `tool_result` blocks after them differ"
        if place and message["role"] == messages[place - 1]["role"]:
            return f"messages.{place}: roles must alternate"
    return ""


def _complaint_about_thinking(body: dict[str, Any]) -> str:
    thinking = body.get("thinking", {})
    if thinking.get("type") == "enabled" and not 1_024 <= thinking["budget_tokens"] < body["max_tokens"]:
        return "thinking.enabled.budget_tokens: must be at least 1024 and less than max_tokens"
    for place, message in enumerate(body["messages"]):
        blocks = message["content"]
        if any(block["type"] == "thinking" and block.get("signature") != SIGNATURE for block in blocks):
            return f"messages.{place}.content.0: Invalid `signature` in `thinking` block"
        is_last = place == len(body["messages"]) - 2 and any(block["type"] == "tool_use" for block in blocks)
        if is_last and thinking.get("type") == "enabled" and "thinking" not in blocks[0]["type"]:
            return f"messages.{place}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`"
    return ""


def _complaint_about_tools(body: dict[str, Any]) -> str:
    tools = body.get("tools", [])
    blocks = [block for message in body["messages"] for block in message["content"]]
    if not tools and any(block["type"] in ("tool_use", "tool_result") for block in blocks):
        return "Requests which include `tool_use` or `tool_result` blocks must define tools"
    if "tool_choice" in body and not tools:
        return "tool_choice: may only be specified while providing tools"
    names = [tool["name"] for tool in tools]
    if len(set(names)) < len(names):
        return "tools: Tool names must be unique."
    used = [block["name"] for block in blocks if block["type"] == "tool_use"]
    if any(not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in [*names, *used]):
        return "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"
    marks = [block for block in (*tools, *body.get("system", ()), *blocks) if block.get("cache_control")]
    if len(marks) > 4:
        return f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}."
    custom = [tool for tool in tools if tool.get("type") in (None, "custom")]
    if any(tool["input_schema"].get("type") != "object" for tool in custom):
        return "tools.0.custom.input_schema.type: Field required"
    return ""


def error(answer: Answer) -> dict[str, Any]:
    kind = answer.code or TYPES.get(answer.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": answer.message}, "request_id": "req_1"}


def message(answer: Answer, request: Request) -> dict[str, Any]:
    """The answer as one object."""
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    if answer.thoughts:
        content.insert(0, {"type": "thinking", "thinking": answer.thoughts, "signature": SIGNATURE})
    content += [
        {"type": "tool_use", "id": call_id(request, place), "name": name, "input": json.loads(arguments)}
        for place, (name, arguments) in enumerate(answer.calls)
    ]
    said = {"id": "msg_1", "type": "message", "role": "assistant", "model": request.body["model"], "content": content}
    reason = "refusal" if answer.refusal else REASONS.get(answer.reason, answer.reason)
    return said | {"stop_reason": reason, "stop_sequence": None, "usage": _usage(answer, request)}


async def events(answer: Answer, request: Request) -> AsyncIterator[bytes]:
    """The events of a stream, as far as the fault lets it come."""
    usage = _usage(answer, request)
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": request.body["model"]}
    yield _event("message_start", message=message | {"stop_reason": None, "usage": usage})
    yield _event("ping")
    if answer.thoughts:
        yield _event("content_block_start", index=0, content_block={"type": "thinking", "thinking": ""})
        yield _event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": answer.thoughts})
        yield _event("content_block_delta", index=0, delta={"type": "signature_delta", "signature": SIGNATURE})
        yield _event("content_block_stop", index=0)
    blocks = [*_text(answer), *_uses(answer, request)] if answer.fault != "no_choices" else []
    if answer.fault in ("half", "half_stall", "error_midway"):
        blocks = blocks[: len(blocks) // 2]
    for event in blocks:
        if answer.drip:
            await asyncio.sleep(answer.drip)
        yield event
    if answer.fault == "error_midway":
        yield _event("error", **(error(answer) | {"type": "error"}))
    if answer.fault in ("half", "half_stall", "unended", "error_midway"):
        return
    reason = "refusal" if answer.refusal else REASONS.get(answer.reason, answer.reason)
    spent = {"output_tokens": usage["output_tokens"]} if usage and "output_tokens" in usage else None
    if answer.fault != "no_reason":
        yield _event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=spent)
    if answer.fault != "late_reset":
        yield _event("message_stop")


def _text(answer: Answer) -> Iterator[bytes]:
    if not answer.text:
        return
    yield _event("content_block_start", index=1, content_block={"type": "text", "text": ""})
    if answer.fault == "bytes":
        yield b'event: content_block_delta\ndata: {"type": "content_block_delta", "delta": {"text": "\xff\xfe"}}\n\n'
    pieces: list[str | None] = [None] if answer.fault == "null" else [*answer.pieces]
    for piece in pieces:
        yield _event("content_block_delta", index=1, delta={"type": "text_delta", "text": piece})
    if answer.fault != "unended":
        yield _event("content_block_stop", index=1)


def _uses(answer: Answer, request: Request) -> Iterator[bytes]:
    for place, (name, arguments) in enumerate(answer.calls):
        block = {"type": "tool_use", "id": call_id(request, place), "name": name, "input": {}}
        yield _event("content_block_start", index=place + 2, content_block=block)
        for piece in ["", *pieces_of(arguments)]:
            delta = {"type": "input_json_delta", "partial_json": piece}
            yield _event("content_block_delta", index=place + 2, delta=delta)
        yield _event("content_block_stop", index=place + 2)


def _event(name: str, **fields: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name} | fields)}\n\n".encode()


def _usage(answer: Answer, request: Request) -> dict[str, Any] | None:
    if answer.usage != "counted":
        return answer.usage
    return {"input_tokens": request.tokens, "output_tokens": answer.tokens}
