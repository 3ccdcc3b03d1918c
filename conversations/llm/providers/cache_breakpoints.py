"""Marks the messages up to which OpenAI's newer models keep a request for later ones.

From gpt-5.6 on, the cache works only at breakpoints. OpenAI sets one itself at the newest message, which follows the
passages recalled for it, and no later request has these. So others are set before the passages.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Any

from conversations.llm.request import Prompt

BREAKPOINT = "prompt_cache_breakpoint"
MARKED_MESSAGES = 2
"""The latest recurring messages that are marked: the first is read again by this request, the second by the next one.
With the system messages' mark and OpenAI's own these are four, the most that a request can have written."""

_MODELS = re.compile(r"gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)(?!\d)")


def has_breakpoints(model: str) -> bool:
    """Whether OpenAI's model of this id uses its cache only at breakpoints."""
    return bool(_MODELS.match(model))


def with_breakpoints(messages: list[dict[str, Any]], prompt: Prompt) -> list[dict[str, Any]]:
    """The messages, with breakpoints at the end of the system messages and of the latest recurring ones.

    Replies of the assistant cannot have one.
    """
    leading = len(list(takewhile(lambda message: message["role"] == "system", messages)))
    recurring = range(leading, prompt.recurring or len(messages))
    able = [at for at in recurring if messages[at]["role"] != "assistant" and messages[at]["content"]]
    marked = {*([leading - 1] if leading else []), *able[-MARKED_MESSAGES:]}
    return [_marked(message) if at in marked else message for at, message in enumerate(messages)]


def without_breakpoints(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        message
        | {"content": [{name: part[name] for name in part if name != BREAKPOINT} for part in message["content"]]}
        if isinstance(message["content"], list)
        else message
        for message in messages
    ]


def _marked(message: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return message | {"content": [*parts[:-1], parts[-1] | {BREAKPOINT: {"mode": "explicit"}}]}
