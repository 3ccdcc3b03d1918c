"""Recognises servers that refuse tools, and omits the refused options from later requests."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

TOOLS, CHOICE = "tools", "tool_choice"
STATUSES = (400, 404, 422, 500, 501)
"""HTTP statuses of a refused option; 404 is OpenRouter's, 500 that of some llama.cpp servers."""

_CHOICE = re.compile(r"tool[_ ]choice", re.IGNORECASE)
_TOOLS = re.compile(r"\btools?\b|tool[_ ](?:choice|use|call)|function[_ -]?call", re.IGNORECASE)
_OTHERWISE = re.compile(
    r"schema|parameters|tools?['\"]?[\[., ]+\d|maximum|too (?:long|many)"  # a definition
    r"|tool_(?:call_id|use_id|result)|role|must be (?:a response|followed)|messages?[\[.]\d"  # the history
    r"|tool_use_failed|failed_generation",  # a badly written call
    re.IGNORECASE,
)

_learned: dict[tuple[str, str], frozenset[str]] = {}


def refused_options(base_url: str, model: str) -> frozenset[str]:
    """The options of TOOLS and CHOICE that the server refused for a model since this process began."""
    return _learned.get((base_url, model), frozenset())


def learn(base_url: str, model: str, refused: frozenset[str]) -> None:
    """Remember refused options, for this process."""
    if refused:
        _learned[base_url, model] = refused_options(base_url, model) | refused


def options_refused_in(complaint: str, body: dict[str, Any], *, status: int) -> frozenset[str]:
    """The options of a request that an error says the server does not support at all.

    Empty for other errors: a wrong definition, for example, must not silently disable tools.
    """
    if TOOLS not in body or status not in STATUSES:
        return frozenset()
    if not _TOOLS.search(complaint) or _OTHERWISE.search(complaint):
        return frozenset()
    return frozenset({CHOICE if CHOICE in body and _CHOICE.search(complaint) else TOOLS})


def without_refused(body: dict[str, Any], refused: Collection[str]) -> dict[str, Any]:
    """The request without the refused options.

    If the server refuses CHOICE and the model must not call tools, the tools are omitted too.
    """
    if refused and (TOOLS in refused or CHOICE in body):
        return {name: value for name, value in body.items() if name not in (TOOLS, CHOICE)}
    return body
