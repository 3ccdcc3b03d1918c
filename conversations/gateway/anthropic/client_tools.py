"""Gives Anthropic's own tools that the caller carries out as functions, so that other models can call them.

Claude knows these tools by their type. A function needs a description and a schema, and its calls have the same input.
Sources: https://platform.claude.com/docs/en/agents-and-tools/tool-use/bash-tool, …/text-editor-tool, …/memory-tool
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

_DATED = re.compile(r"(bash|text_editor|memory)_(\d{8})")
"""The types of these tools end with the date of their version."""
FIRST_WITH_INSERT_TEXT = "20250728"
"""The version from which on `insert` has a field of its own for its text."""


@dataclass(frozen=True, slots=True)
class ClientTool:
    """`commands` are the values of the field `command`; empty: it is a text. `fields` are its other fields."""

    name: str
    description: str
    fields: tuple[str, ...]
    commands: tuple[str, ...] = ()

    def function(self, name: str, version: str) -> Json:
        """The definition of a function with this name, or the tool's own one, for a version of the tool."""
        command = {"type": "string", "enum": list(self.commands)} if self.commands else _FIELDS["command"]
        is_old = version < FIRST_WITH_INSERT_TEXT
        fields = {field: _FIELDS[field] for field in self.fields if field != "insert_text" or not is_old}
        properties = {"command": command} | fields
        schema = {"type": "object", "properties": properties} | ({"required": ["command"]} if self.commands else {})
        return {"name": name or self.name, "description": self.description, "parameters": schema}


_FIELDS: Json = {
    "command": {"type": "string", "description": "The command to run."},
    "restart": {"type": "boolean", "description": "True to begin a new shell; without a command."},
    "path": {"type": "string", "description": "The path of the file or folder."},
    "view_range": {
        "type": "array",
        "items": {"type": "integer"},
        "description": "For view: the first and the last line; -1 is the end of the file.",
    },
    "file_text": {"type": "string", "description": "For create: the content of the file."},
    "old_str": {"type": "string", "description": "For str_replace: the text to replace; it must occur once."},
    "new_str": {"type": "string", "description": "The new text for str_replace, or for an insert without insert_text."},
    "insert_line": {"type": "integer", "description": "For insert: the line to insert behind; 0 is the beginning."},
    "insert_text": {"type": "string", "description": "For insert: the text to insert."},
    "old_path": {"type": "string", "description": "For rename: the path of the file or folder."},
    "new_path": {"type": "string", "description": "For rename: its new path."},
}
_EDITING = ("path", "view_range", "file_text", "old_str", "new_str", "insert_line", "insert_text")
_TOOLS = {
    "bash": ClientTool("bash", "Runs a command in a shell that keeps its state between calls.", ("restart",)),
    "text_editor": ClientTool(
        "str_replace_based_edit_tool",
        "Views, creates and edits text files: view, create, str_replace, insert.",
        _EDITING,
        ("view", "create", "str_replace", "insert"),
    ),
    "memory": ClientTool(
        "memory",
        "Keeps notes in files under /memories that later conversations can read. View /memories before other work.",
        (*_EDITING, "old_path", "new_path"),
        ("view", "create", "str_replace", "insert", "delete", "rename"),
    ),
}


def as_function(tool: Json) -> Json | None:
    """The definition of a function for a tool of one of these types; None for others."""
    dated = _DATED.fullmatch(str(tool.get("type")))
    return _TOOLS[dated[1]].function(str(tool.get("name") or ""), dated[2]) if dated else None
