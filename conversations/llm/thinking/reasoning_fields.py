"""Reads the fields in which servers of chat completions stream a model's thoughts, each under its own name."""

from __future__ import annotations

from typing import Any

from conversations.llm.thinking.thoughts import DETAILS, TEXT_FIELDS

GROWING = ("text", "summary", "data", "signature")
"""The parts of a detail that come in pieces."""


class ReasoningFields:
    """The thoughts of one reply: as text, and as the fields of the assistant's message that goes back.

    `unseen` counts the characters of their details.
    """

    def __init__(self) -> None:
        self._name = ""
        self._pieces: list[str] = []
        self._details: dict[Any, dict[str, Any]] = {}
        self.unseen = 0

    def take(self, delta: dict[str, Any]) -> str:
        """The thoughts that a delta adds. A server that sends them under two names says the same twice."""
        for detail in delta.get(DETAILS) or ():
            if isinstance(detail, dict):
                self._add(detail)
        name = next((name for name in TEXT_FIELDS if isinstance(delta.get(name), str) and delta[name]), "")
        if not name:
            return ""
        self._name = self._name or name
        self._pieces.append(delta[name])
        return str(delta[name])

    @property
    def returned(self) -> dict[str, Any]:
        fields: dict[str, Any] = {self._name: "".join(self._pieces)} if self._name else {}
        if self._details:
            fields[DETAILS] = list(self._details.values())
        return {"fields": fields} if fields else {}

    def _add(self, detail: dict[str, Any]) -> None:
        known = self._details.setdefault((detail.get("index"), detail.get("type")), {})
        self.unseen += len(str(detail))
        for name, value in detail.items():
            grows = name in GROWING and isinstance(value, str) and isinstance(known.get(name), str)
            if grows:
                known[name] += value
            elif value is not None or name not in known:
                known[name] = value
