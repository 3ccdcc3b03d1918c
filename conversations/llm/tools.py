"""The definition of a tool, a model's call of it, and its failure."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from compression.core.tokens import count_tokens

LIST_OVERHEAD = 8
"""Tokens that a list of tools costs on top of its definitions."""
MAX_RESULT_CHARS = 1_000_000
"""The most characters of a result that are kept; a longer one is cut and says so."""


@dataclass(frozen=True, slots=True)
class Spec:
    """The definition of a tool. `parameters` is a JSON schema of an object, as canonical JSON that can be compared."""

    name: str
    description: str
    parameters: str

    @property
    def function(self) -> dict[str, Any]:
        """The definition in the form of OpenAI's chat completions."""
        definition = {"name": self.name, "description": self.description, "parameters": json.loads(self.parameters)}
        return {"type": "function", "function": definition}


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A model's call of a tool; `arguments` is the model's text, JSON or not.

    `extra` are further fields of the call, which its provider wants back.
    """

    id: str
    name: str
    arguments: str
    extra: dict[str, Any] = field(default_factory=dict, compare=False)


class ToolFailed(Exception):
    """A tool failed; the text is one sentence for the model and the person, without traceback or secrets."""


def spec(name: str, description: str, **parameters: Any) -> Spec:
    """The definition of a tool with these properties of JSON schema; those without a default are required."""
    required = [key for key, value in parameters.items() if "default" not in value]
    schema = {"type": "object", "properties": parameters, "required": required, "additionalProperties": False}
    return Spec(name, description, json.dumps(schema, sort_keys=True))


def as_functions(specs: tuple[Spec, ...]) -> list[dict[str, Any]]:
    """The definitions in the form of OpenAI's chat completions."""
    return [spec.function for spec in specs]


@lru_cache(maxsize=1024)
def tokens(specs: tuple[Spec, ...]) -> int:
    """The tokens of a list of tools in a request, by our count of its JSON."""
    return tokens_of(as_functions(specs))


def tokens_of(functions: list[dict[str, Any]]) -> int:
    """The tokens of stored definitions of tools, by our count of their JSON."""
    texts = (json.dumps(function, separators=(",", ":"), ensure_ascii=False) for function in functions)
    return LIST_OVERHEAD + sum(map(count_tokens, texts)) if functions else 0
