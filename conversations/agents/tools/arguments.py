"""The arguments of a call, checked by the schema of its tool. Imported when a tool is first called: it takes 8 MB."""

from __future__ import annotations

import json
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import SchemaError, best_match
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from conversations.llm.tools import ToolFailed

QUOTED = 300
"""Characters of a complaint."""
ForServers = extend(
    Draft202012Validator,
    dict.fromkeys(
        ("pattern", "patternProperties", "additionalProperties", "unevaluatedProperties"), lambda *_: iter(())
    ),
)
"""Checks all but regular expressions of a server, of which one can take for ever: the server does that by itself."""


def require_valid(name: str, arguments: dict[str, Any], schema: dict[str, Any], *, is_ours: bool) -> None:
    """Raises ToolFailed, naming the argument that is wrong."""
    checker = Draft202012Validator if is_ours else ForServers
    try:
        wrong: ValidationError | None = best_match(checker(schema, registry=Registry()).iter_errors(arguments))
    except (SchemaError, RecursionError, Unresolvable):
        raise ToolFailed(f"{name} cannot be called: its own definition is broken.") from None
    if wrong is not None:
        place = ".".join(map(str, wrong.absolute_path)) or "arguments"
        raise ToolFailed(f"{place}: {_complaint(wrong)}.")


def _complaint(wrong: ValidationError) -> str:
    """In the words of the library; where those quote too much of what was wrong, the limit alone."""
    if len(wrong.message) <= QUOTED:
        return wrong.message
    return f"{wrong.validator} is {json.dumps(wrong.validator_value)[:QUOTED]}"
