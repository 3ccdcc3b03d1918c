"""The content that a summary must preserve in each conversation mode; every mode preserves decisions."""

from __future__ import annotations

PRESERVE = {
    "assistant": "key decisions, important context, the person's preferences, and how the conversation flowed",
    "developer": "code and file paths, technical decisions, errors with their debugging context, and implementation "
    "details; every decision with its reason",
    "planning": "goals, architectural decisions, trade-offs and next steps; every decision with its reason",
    "debugger": "symptoms and stack traces, the steps taken, root causes, solutions attempted and their outcome; "
    "every decision with its reason",
}


def preserved_in(mode: str) -> str:
    """The `$preserve` phrase of a mode; unknown modes have the assistant's."""
    return PRESERVE.get(mode, PRESERVE["assistant"])
