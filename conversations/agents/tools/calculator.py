"""Arithmetic, which models get wrong."""

from __future__ import annotations

from conversations.agents.tools.spec import ToolFailed, spec

SPEC = spec(
    "calculate",
    "The value of an arithmetic expression, exactly: + - * / // % ** ( ), sqrt, log, sin, min, max, round, pi, e.",
    expression={"type": "string", "minLength": 1, "maxLength": 1_000},
)


def calculate(expression: str) -> str:
    """Raises ToolFailed."""
    raise ToolFailed("not there yet")
