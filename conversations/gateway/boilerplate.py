"""Finds what known clients put into a person's messages: reminders, environments, files of instructions.

It is sent as it is, but the person did not type it: no rule, decision, title or question is read from it.
"""

from __future__ import annotations

import re

TAGS = (
    "system-reminder", "system_reminder", "environment_context", "environment_details", "user_instructions",
    "INSTRUCTIONS", "permissions instructions", "collaboration_mode", "skills_instructions", "apps_instructions",
    "plugins_instructions", "command-name", "command-message", "command-args", "command-contents",
    "local-command-stdout", "local-command-stderr", "local-command-caveat", "bash-input", "bash-stdout", "bash-stderr",
    "ide_selection", "ide_opened_file", "task-notification", "env", "files", "file", "custom_instructions",
    "turn_aborted", "subagent_notification", "attached_files", "additional_data", "open_and_recently_viewed_files",
    "user_info", "project_layout", "git_status", "document",
)  # fmt: skip
"""Tags around text that coding clients add, and around documents (`documents`).

The clients are Claude Code, Codex, opencode, Cline, Roo Code, Cursor (November 2026).
"""
MAX_TAGS = 200
"""The most tags of a message that are paired."""
_OPENING = re.compile(rf"<({'|'.join(map(re.escape, TAGS))})(?: [^<>\n]{{0,200}})?>")
_HEADING = re.compile(r"^# AGENTS\.md instructions[^\n]{0,300}\n+\Z", re.MULTILINE)
"""The heading that Codex puts right before its tag; `\\Z` is the place of the tag."""

Places = tuple[tuple[int, int], ...]


def places_in(text: str) -> Places:
    """(start, length) of each text in known tags, in order; one without its closing tag is the person's own."""
    found: list[tuple[int, int]] = []
    unclosed: set[str] = set()
    at = 0
    while (opening := _OPENING.search(text, at)) and len(found) < MAX_TAGS:
        closing = f"</{opening[1]}>"
        end = -1 if closing in unclosed else text.find(closing, opening.end())
        if end < 0:
            unclosed.add(closing)
            at = opening.end()
            continue
        heading = _HEADING.search(text, at, opening.start())
        start = heading.start() if heading else opening.start()
        at = end + len(closing)
        found.append((start, at - start))
    return tuple(found)
