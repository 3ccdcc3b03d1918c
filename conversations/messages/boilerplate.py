"""Finds what known clients put into a person's messages: reminders, environments, files of instructions.

The additions are forwarded unchanged. The person did not type them, so no rule, decision, title or question is read
from them. Reminders, environments and files of instructions yield no facts either; files and outputs do.
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
    "user_info", "project_layout", "git_status", "document", "session_context", "hook_context",
)  # fmt: skip
"""Tags around text that coding clients add, and around documents (`documents`).

The clients are Claude Code, Codex, opencode, Cline, Roo Code, Cursor, Gemini CLI (November 2026).
"""
WITH_FACTS = frozenset(
    {"local-command-stdout", "local-command-stderr", "bash-input", "bash-stdout", "bash-stderr", "command-args",
     "command-contents", "ide_selection", "task-notification", "files", "file", "attached_files", "document",
     "subagent_notification"}
)  # fmt: skip
"""Tags around files, outputs and chosen text, which have facts."""
_OF_A_TOOL = re.compile(r"<system-reminder>\s*(?:Called the |Result of calling the )")
"""Claude Code's reminder with a file that the person named by @."""
_WHOLE = re.compile(
    r"\s*(?:(?P<environment>This is the (?:Qwen Code|Gemini CLI)\. We are setting up the context for our chat\."
    r"|I switched to a new code base\. Please don't consider the above files"
    r"|Change get_factorial\(\) to use math\.factorial\Z"
    r"|Refactor hello\(\) into its own file\.\Z)"
    r"|I spoke to you previously about a number of things\.|I have \*added these files to the chat\*"
    r"|Here are summaries of some files present in my git repository\."
    r"|Here are some READ ONLY files, provided for your reference\.)"
)
"""The beginnings of whole messages that Qwen Code, Gemini CLI and Aider write in the person's name.

Aider's are its examples, its files and its summary of earlier messages.
"""
MAX_TAGS = 200
"""The most tags of a message that are paired."""
_OPENING = re.compile(rf"<({'|'.join(map(re.escape, TAGS))})(?: [^<>\n]{{0,200}})?>")
_HEADING = re.compile(r"^# AGENTS\.md instructions[^\n]{0,300}\n+\Z", re.MULTILINE)
"""The heading that Codex puts right before its tag; `\\Z` is the place of the tag."""

Places = tuple[tuple[int, int], ...]


def places_in(text: str) -> Places:
    """(start, length) of each text in known tags, in order; one without its closing tag is the person's own.

    A message that a client writes as a whole is one place.
    """
    if _WHOLE.match(text):
        return ((0, len(text)),)
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


def without_facts(text: str, places: Places) -> Places:
    """The places, of those that `places_in` found, whose text has no facts."""
    return tuple(place for place in places if not _has_facts(text, place[0]))


def _has_facts(text: str, start: int) -> bool:
    if whole := _WHOLE.match(text, start):
        return not whole["environment"]
    opening = _OPENING.match(text, start)  # None at a heading
    return bool(opening and (opening[1] in WITH_FACTS or _OF_A_TOOL.match(text, start)))
