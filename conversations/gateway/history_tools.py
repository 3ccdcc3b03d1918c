"""Lets a caller's model search and read the compacted part of its history, within one call.

If the key asks for it, two tools are offered beside the caller's own after a compaction. Their calls are answered here,
and the model is asked again; the caller gets only the last answer, in one piece.
"""

from __future__ import annotations

import json
from typing import Any

from conversations.agents.tools.toolbox import Toolbox
from conversations.context.tools import HISTORY
from conversations.gateway import provider_stream
from conversations.gateway.call_log import Call
from conversations.gateway.checkpoints import State
from conversations.gateway.protocol import Json
from conversations.gateway.request import GatewayRequest
from conversations.gateway.upstream import ask_upstream
from conversations.llm.errors import BrokenReply
from conversations.llm.providers.reported_usage import tokens_of, usage_in
from conversations.llm.tools import ToolFailed, ToolRequest, as_functions

MAX_ROUNDS = 4
"""The most answers of a model in a call that only search: then it has to answer without these tools."""
NAMES = frozenset(spec.name for spec in HISTORY)
_OF_STREAMS = ("stream", "stream_options")


def are_offered(asked: GatewayRequest, state: State | None, call: Call) -> bool:
    """Whether the tools can be offered: not if the caller names the tool to call, or has one of the same name."""
    if call.key is None or not call.key.searches_history or state is None or not state.is_summary:
        return False
    body = asked.body
    is_free = body.get("tool_choice") in (None, "auto") and "functions" not in body and asked.choices == 1
    return is_free and not NAMES & {_name(tool) for tool in body.get("tools") or ()}


async def answer(asked: GatewayRequest, body: Json, state: State, call: Call) -> Json:
    """The chat completion that the model gives once it has searched enough. Raises ModelError or Refused."""
    plain = {name: value for name, value in body.items() if name not in _OF_STREAMS}
    own = list(plain.pop("tools", None) or ())
    messages, completion_tokens = list(plain.pop("messages")), 0
    async with Toolbox() as toolbox:
        for left in reversed(range(MAX_ROUNDS + 1)):
            tools = [*own, *(as_functions(HISTORY) if left else ())]
            offered = {"tools": tools} if tools else {}
            completion = await _answer(asked, plain | {"messages": messages} | offered, call)
            completion_tokens += tokens_of(usage_in(completion)).completion
            said = completion["choices"][0]["message"]
            calls = said.get("tool_calls") or []
            searches = [one for one in calls if _name(one) in NAMES]
            if not left or not searches or len(searches) < len(calls):
                break
            messages.append({"role": "assistant", "content": said.get("content"), "tool_calls": calls})
            messages += [await _result(toolbox, one, state) for one in searches]
    if searches:  # beside calls of the caller's tools, which the caller carries out now
        said["tool_calls"] = [one for one in calls if one not in searches]
        if not said["tool_calls"]:  # the model went on searching without being offered to
            del said["tool_calls"]
            completion["choices"][0]["finish_reason"] = "stop"
    if usage := usage_in(completion):
        usage["completion_tokens"] = completion_tokens
    return completion


async def _answer(asked: GatewayRequest, body: Json, call: Call) -> Json:
    async with ask_upstream(asked.profile, body, asking=call.asking) as provider:
        content, spent = await provider_stream.whole(provider)
    if spent:
        call.spent = call.spent + spent if call.spent else spent
    completion: Json = json.loads(content)
    choices = completion.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0].get("message"), dict):
        raise BrokenReply(f"{asked.profile.name}: what the provider sent is not a reply. Try again.")
    return completion


async def _result(toolbox: Toolbox, used: Json, state: State) -> Json:
    """The message with the result of a call of one of the tools."""
    function = used.get("function") or {}
    id, name = str(used.get("id") or ""), _name(used)
    request = ToolRequest(id=id, name=name, arguments=str(function.get("arguments") or "{}"))
    try:
        text = await toolbox.call(request, among=HISTORY, about=state.conversation_id)
    except ToolFailed as failure:
        text = f"[error] {failure}"
    return {"role": "tool", "tool_call_id": id, "content": text}


def _name(tool: Any) -> str:
    function = tool.get("function") if isinstance(tool, dict) else None
    return str(function.get("name") or "") if isinstance(function, dict) else ""
