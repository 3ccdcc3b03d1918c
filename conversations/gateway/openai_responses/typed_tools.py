"""Gives OpenAI's own tools that the caller carries out as functions, so that every model can call them.

OpenAI's models know these tools by their type; their calls and results are items of their own. A function needs a
description and a schema, and has arguments and a text as its result.
Sources: https://platform.openai.com/docs/guides/tools-shell, …/tools-local-shell, …/tools-apply-patch
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conversations.gateway.protocol import Json


@dataclass(frozen=True, slots=True)
class TypedTool:
    """`field` is the field of a call's item that holds the arguments; `fixed` are parts of it that are no arguments."""

    description: str
    field: str
    properties: Json
    required: tuple[str, ...]
    fixed: Mapping[str, object]

    @property
    def parameters(self) -> Json:
        return {"type": "object", "properties": self.properties, "required": list(self.required)}


_MILLISECONDS = {"type": "integer", "description": "The most milliseconds to wait."}
_TOOLS = {
    "shell": TypedTool(
        "Runs commands in a shell, one after the other, and returns the output and the exit code of each.",
        "action",
        {
            "commands": {"type": "array", "items": {"type": "string"}, "description": "The commands to run."},
            "timeout_ms": _MILLISECONDS,
            "max_output_length": {"type": "integer", "description": "The most characters of output to return."},
        },
        ("commands",),
        {},
    ),
    "local_shell": TypedTool(
        "Runs a program with its arguments, and returns its output.",
        "action",
        {
            "command": {
                "type": "array",
                "items": {"type": "string"},
                "description": 'The program and its arguments, such as ["bash", "-lc", "ls"].',
            },
            "working_directory": {"type": "string", "description": "The folder to run it in."},
            "timeout_ms": _MILLISECONDS,
        },
        ("command",),
        {"type": "exec", "env": {}},
    ),
    "apply_patch": TypedTool(
        "Creates, changes or deletes one file.",
        "operation",
        {
            "type": {"type": "string", "enum": ["create_file", "update_file", "delete_file"]},
            "path": {"type": "string", "description": "The path of the file."},
            "diff": {
                "type": "string",
                "description": (
                    "For create_file: the content, with + before each line. For update_file: for each place a line "
                    "@@, or @@ and the class or function that it is in, then its lines: three unchanged ones before "
                    "and after, with a space before each, old ones with -, new ones with +. No line numbers, and no "
                    "lines with ***. For delete_file: none."
                ),
            },
        },
        ("type", "path"),
        {},
    ),
}
HOSTED = "container"
"""How the types of a shell's environments begin in which OpenAI carries the commands out."""


def name_of(tool: Json) -> str:
    """The name of the function for a tool of one of these types; "" for others."""
    kind, place = str(tool.get("type")), tool.get("environment")
    is_hosted = isinstance(place, dict) and str(place.get("type")).startswith(HOSTED)
    return kind if kind in _TOOLS and not is_hosted else ""


def function(name: str) -> Json:
    """The definition of the function for the tool of a name of `name_of`."""
    tool = _TOOLS[name]
    return {"name": name, "description": tool.description, "parameters": tool.parameters}


def call_fields(name: str, arguments: Json) -> Json:
    """The type and the arguments of the item of a call, from the arguments that a model gives in some form."""
    tool, given = _TOOLS[name], dict(arguments)
    if given.keys() == {"arguments"}:  # they were no object
        given = {tool.required[0]: given["arguments"]}
    for field, schema in tool.properties.items():
        if schema["type"] == "array" and isinstance(given.get(field), str):
            given[field] = [given[field]] if name == "shell" else ["bash", "-lc", given[field]]
    known = {field: value for field, value in given.items() if field in tool.properties and value is not None}
    missing: Json = {field: [] for field in tool.required if tool.properties[field]["type"] == "array"}
    return {"type": f"{name}_call", tool.field: dict(tool.fixed) | missing | known}


def called(item: Json) -> tuple[str, Json] | None:
    """(name, arguments) of the item of a call; None for other items."""
    name = str(item.get("type")).removesuffix("_call")
    tool = _TOOLS.get(name) if f"{name}_call" == item.get("type") else None
    given = item.get(tool.field) if tool and item.get("call_id") else None
    if tool is None or not isinstance(given, dict):
        return None
    return name, {field: value for field, value in given.items() if field not in tool.fixed and value not in (None, {})}


def is_result(item: Json) -> bool:
    """Whether an item holds the result of one of these tools."""
    kind = str(item.get("type"))
    return kind.endswith("_call_output") and kind.removesuffix("_call_output") in _TOOLS


def result_text(item: Json) -> str:
    """The text of a result: of each command the output, then errors and how it ended, unless that was well."""
    output = item.get("output")
    texts = [_of_command(one) for one in output] if isinstance(output, list) else [str(output or "")]
    failed = item.get("status") == "failed"
    return "\n\n".join(text for text in [*(["[failed]"] if failed else []), *texts] if text)


def _of_command(output: object) -> str:
    if not isinstance(output, dict):
        return str(output)
    ended = output.get("outcome")
    outcome = ended if isinstance(ended, dict) else {}
    parts = [str(output.get("stdout") or "").rstrip("\n")]
    if errors := str(output.get("stderr") or "").rstrip("\n"):
        parts.append(f"[errors]\n{errors}")
    if outcome.get("type") == "timeout":
        parts.append("[ended by its time limit]")
    elif outcome.get("exit_code"):
        parts.append(f"[exit code {outcome['exit_code']}]")
    return "\n".join(part for part in parts if part)
