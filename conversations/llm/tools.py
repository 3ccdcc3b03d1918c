"""A tool as a model is told of it, and how one fails."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from compression.core.tokens import count_tokens

LIST_OVERHEAD = 8
"""Tokens that a list of tools costs on top of its definitions."""
MAX_RESULT_CHARS = 1_000_000
"""Of a result: what is beyond is not kept, and the result says so."""


@dataclass(frozen=True, slots=True)
class Spec:
    """`parameters` is a JSON schema of an object, as canonical JSON: a value that can be compared and kept."""

    name: str
    description: str
    parameters: str

    @property
    def function(self) -> dict[str, Any]:
        """In the shape of OpenAI's chat completions."""
        told = {"name": self.name, "description": self.description, "parameters": json.loads(self.parameters)}
        return {"type": "function", "function": told}


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A call as a model made it; `arguments` is the text that it wrote, JSON or not."""

    id: str
    name: str
    arguments: str


class ToolFailed(Exception):
    """Why there is no result, in a sentence for the model and the person. Never a traceback, never a secret."""


def spec(name: str, description: str, **parameters: Any) -> Spec:
    """A tool whose parameters are these properties of JSON schema, all of them required unless they have a default."""
    required = [key for key, value in parameters.items() if "default" not in value]
    schema = {"type": "object", "properties": parameters, "required": required, "additionalProperties": False}
    return Spec(name, description, json.dumps(schema, sort_keys=True))


def as_functions(specs: tuple[Spec, ...]) -> list[dict[str, Any]]:
    return [one.function for one in specs]


@lru_cache(maxsize=1024)
def tokens(specs: tuple[Spec, ...]) -> int:
    """What a list of tools costs in a request, by our own count: that of its JSON."""
    return tokens_of(as_functions(specs))


def tokens_of(functions: list[dict[str, Any]]) -> int:
    """The same of definitions that were kept."""
    texts = (json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in functions)
    return LIST_OVERHEAD + sum(map(count_tokens, texts)) if functions else 0
