"""Defaults of the settings, and the model of conversations. A project sets what it wants otherwise."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.migrations import swappable_dependency

SITE_MODEL = "conversations.Conversation"
DEFAULTS: dict[str, Any] = {
    "COMPRESSION_CONVERSATION_MODEL": SITE_MODEL,
    "COMPRESSION_ENABLED": True,
    "COMPRESSION_AHEAD": True,
    "COMPRESSION_SUMMARY_ROLE": "system",
    "COMPRESSION_THRESHOLD": None,
    "COMPRESSION_MAX_LIVE_TOKENS": None,
    "COMPRESSION_STRATEGY": "checkpoints",
    "COMPRESSION_KEEP_RECENT": 4,
    "COMPRESSION_COOLDOWN_SECONDS": 30,
    "COMPRESSION_SUMMARY_MAX_TOKENS": None,
    "COMPRESSION_RECALL_MAX_TOKENS": 6_000,
    "COMPRESSION_MIN_RETENTION": 0.0,
    "COMPRESSION_PARTS_AT_ONCE": 4,
    "COMPACTION_LOG_DAYS": 90,
    "TOOL_RESULT_MAX_CHARS": 2_000,
    "LEASE_SECONDS": 60,
}


def setting(name: str) -> Any:
    """The value of a setting; its default where the project has none."""
    return getattr(settings, name, DEFAULTS[name])


def conversation_model() -> str:
    """The model of conversations, as `app.Model`."""
    return str(setting("COMPRESSION_CONVERSATION_MODEL"))


def after(migration: str) -> Any:
    """The dependency of a migration on one of this site's conversations, or on the first one of the project's model."""
    model = conversation_model()
    return ("conversations", migration) if model == SITE_MODEL else swappable_dependency(model)
