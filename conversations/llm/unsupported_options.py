"""Servers that do not take tools: how they say so, and what was learned of it."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

TOOLS, CHOICE = "tools", "tool_choice"
STATUSES = (400, 404, 422, 500, 501)
"""404 is how OpenRouter, 500 how some llama.cpp servers refuse an option."""

_CHOICE = re.compile(r"tool[_ ]choice", re.IGNORECASE)
_TOOLS = re.compile(r"\btools?\b|tool[_ ](?:choice|use|call)|function[_ -]?call", re.IGNORECASE)
_OTHERWISE = re.compile(
    r"schema|parameters|tools?['\"]?[\[., ]+\d|maximum|too (?:long|many)"  # a definition
    r"|tool_(?:call_id|use_id|result)|role|must be (?:a response|followed)|messages?[\[.]\d"  # the history
    r"|tool_use_failed|failed_generation",  # what the model wrote
    re.IGNORECASE,
)

_learned: dict[tuple[str, str], frozenset[str]] = {}


def known(base_url: str, model: str) -> frozenset[str]:
    """Which of TOOLS and CHOICE the server has refused for a model, since this process began."""
    return _learned.get((base_url, model), frozenset())


def learn(base_url: str, model: str, refused: frozenset[str]) -> None:
    if refused:
        _learned[base_url, model] = known(base_url, model) | refused


def named(complaint: str, body: dict[str, Any], *, status: int) -> frozenset[str]:
    """What of a request a complaint says that the server does not take at all.

    Empty for one about something else: a definition that is wrong is not healed by offering nothing, silently.
    """
    if TOOLS not in body or status not in STATUSES:
        return frozenset()
    if not _TOOLS.search(complaint) or _OTHERWISE.search(complaint):
        return frozenset()
    return frozenset({CHOICE if CHOICE in body and _CHOICE.search(complaint) else TOOLS})


def less(body: dict[str, Any], refused: Collection[str]) -> dict[str, Any]:
    """The request for such a server. One that cannot be told not to call is not told of tools where it must not."""
    if refused and (TOOLS in refused or CHOICE in body):
        return {name: value for name, value in body.items() if name not in (TOOLS, CHOICE)}
    return body
