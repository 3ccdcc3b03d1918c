"""Chat templates of real models, as far as they refuse messages, and how the servers say so that render them.

Written after the templates of Qwen 3.5, Mistral 7B Instruct v0.3, Gemma 2 and Mistral's own API.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from tests.llm_answers import Answer, Request

Messages = list[dict[str, Any]]
ALTERNATE = "Conversation roles must alternate user/assistant/user/assistant/..."


def qwen(messages: Messages) -> str:
    if any(message["role"] == "system" for message in messages[1:]):
        return "System message must be at the beginning."
    return "" if any(message["role"] == "user" for message in messages) else "No user query found in messages."


def mistral(messages: Messages) -> str:
    """Calls of tools and their results are not counted; a result is followed by the assistant."""
    spoken = messages[1:] if messages[0]["role"] == "system" else messages
    counted = [one for one in spoken if one["role"] != "tool" and not one.get("tool_calls")]
    for place, message in enumerate(counted):
        if message["role"] != ("assistant" if place % 2 else "user"):
            return f"After the optional system message, conversation roles must alternate: {message['role']} at {place}"
    return ""


def mistral_api(messages: Messages) -> str:
    """Mistral's own server has another say about what comes last, and after a result."""
    for before, message in pairwise(messages):
        if before["role"] == "tool" and message["role"] not in ("tool", "assistant"):
            return f"Unexpected role '{message['role']}' after role 'tool'"
        if message["role"] == "system":
            return f"Unexpected role 'system' after role '{before['role']}'"
    if messages[-1]["role"] not in ("user", "tool"):
        return "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
    return mistral(messages)


def gemma(messages: Messages) -> str:
    if messages[0]["role"] == "system":
        return "System role not supported"
    for place, message in enumerate(messages):
        if message["role"] != ("assistant" if place % 2 else "user"):
            return ALTERNATE
    return ""


def llama_2(messages: Messages) -> str:
    """Of the first Mistral 7B Instruct: a system message is only one at the wrong place."""
    for place, message in enumerate(messages):
        if message["role"] != ("assistant" if place % 2 else "user"):
            return ALTERNATE
    return ""


TEMPLATES: dict[str, tuple[Callable[[Messages], str], int, str]] = {
    "qwen": (qwen, 400, "{}"),
    "mistral": (mistral, 500, "Jinja Exception: {} at row 14, column 9"),
    "mistral-api": (mistral_api, 400, "{}"),
    "gemma": (gemma, 500, 'Error rendering prompt with jinja template: "{}"'),
    "llama-2": (llama_2, 400, "{}"),
}


def complaint(template: str, request: Request) -> str:
    """What the template has against the messages; "" where it takes them."""
    if request.in_blocks or request.is_listing or not template:
        return ""
    return _of_calls(request.messages) or TEMPLATES[template][0](request.messages)


def refusal(template: str, request: Request) -> Answer | None:
    """How the template's server refuses the request, None where it takes it."""
    if not (said := complaint(template, request)):
        return None
    _, status, wording = TEMPLATES[template]
    return Answer(status=status, message=wording.format(said))


def _of_calls(messages: Messages) -> str:
    """Each call has a result of its own behind it, and each result a call, as OpenAI wants it."""
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return f"tool_call_ids did not have response messages: {sorted(waiting)}"
        waiting = {call["id"] for call in message.get("tool_calls") or ()}
    return ""
