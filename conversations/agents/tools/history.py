"""A conversation's own messages, the compressed ones too, as tools. `recall` carries them out."""

from __future__ import annotations

from conversations.agents.tools.spec import spec

SEARCH, READ = "search_history", "read_history"
SPECS = (
    spec(
        SEARCH,
        "Find messages of this conversation by any of their words, summarised ones too: numbers, roles and excerpts, "
        "the best first.",
        query={"type": "string", "minLength": 1, "maxLength": 200},
    ),
    spec(
        READ,
        "Read messages of this conversation in full by number, summarised ones too.",
        first={"type": "integer", "minimum": 1, "description": "1 is the oldest."},
        count={"type": "integer", "minimum": 1, "maximum": 20, "default": 1},
        offset={"type": "integer", "minimum": 0, "default": 0, "description": "Characters to skip."},
    ),
)
