"""Checks a call's arguments by its tool's schema. Imported when a tool is first called, as jsonschema takes 8 MB."""

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
"""The most characters of an error's description."""
ForServers = extend(
    Draft202012Validator,
    dict.fromkeys(
        ("pattern", "patternProperties", "additionalProperties", "unevaluatedProperties"), lambda *_: iter(())
    ),
)
"""A validator that ignores a server's regular expressions, as one could take for ever; the server checks them."""


def require_valid(name: str, arguments: dict[str, Any], schema: dict[str, Any], *, is_ours: bool) -> None:
    """Raises ToolFailed, naming the argument, if they do not fit the schema. `is_ours`: the tool is built in."""
    checker = Draft202012Validator if is_ours else ForServers
    try:
        wrong: ValidationError | None = best_match(checker(schema, registry=Registry()).iter_errors(arguments))
    except (SchemaError, RecursionError, Unresolvable):
        raise ToolFailed(f"{name} cannot be called: its own definition is broken.") from None
    if wrong is not None:
        place = ".".join(map(str, wrong.absolute_path)) or "arguments"
        raise ToolFailed(f"{place}: {_complaint(wrong)}.")


def _complaint(wrong: ValidationError) -> str:
    """The error in the library's words; if these quote too much of the value, the violated limit alone."""
    if len(wrong.message) <= QUOTED:
        return wrong.message
    return f"{wrong.validator} is {json.dumps(wrong.validator_value)[:QUOTED]}"
