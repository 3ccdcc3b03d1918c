"""A conversation's own messages, the compressed ones too: found by their words, and read in full."""

from __future__ import annotations

from uuid import UUID

from conversations.agents.tools.spec import ToolFailed, spec

SEARCH, READ = "search_history", "read_history"
SPECS = (
    spec(
        SEARCH,
        "Find messages of this conversation by words that occur in them, also in the part that you only see a summary "
        "of. Gives numbers, roles and excerpts, the latest first.",
        query={"type": "string", "minLength": 1, "maxLength": 200},
    ),
    spec(
        READ,
        "Read messages of this conversation in full, by their numbers, also those that you only see a summary of.",
        first={"type": "integer", "minimum": 1, "description": "The number of the first message; 1 is the oldest."},
        count={"type": "integer", "minimum": 1, "maximum": 20, "default": 1},
        offset={"type": "integer", "minimum": 0, "default": 0, "description": "Characters of the first to skip."},
    ),
)


def search_history(conversation_id: UUID, query: str) -> str:
    """Raises ToolFailed."""
    raise ToolFailed("not there yet")


def read_history(conversation_id: UUID, first: int, count: int = 1, offset: int = 0) -> str:
    """Raises ToolFailed."""
    raise ToolFailed("not there yet")
