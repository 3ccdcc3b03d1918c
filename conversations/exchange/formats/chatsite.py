"""Reads our own export: restores the conversation with its state of compression.

Version 1 has too little of that state: its conversations are imported uncompressed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conversations.context.system_prompt import clean_system_prompt
from conversations.errors import Invalid
from conversations.exchange.agent_runs import read_runs
from conversations.exchange.compression_state import read_ranges, read_state, require_within
from conversations.exchange.document import ImportedSource
from conversations.exchange.fields import (
    KINDS,
    fault,
    read_choice,
    read_date,
    read_flag,
    read_kind,
    read_object,
    read_text,
)
from conversations.exchange.formats.messages import Reader
from conversations.exchange.goals import read_goal
from conversations.exchange.ledger import read_entries
from conversations.instructions.rules import clean_rules
from conversations.models import Conversation
from conversations.models.conversation import MAX_TITLE_CHARS
from conversations.models.model_profile import Effort
from conversations.validation import clean_policy

NAME = "chatsite's own export"
FORMAT = "chatsite"
VERSION = 4
WITH_STATE = 2
"""The first version with the whole state of compression."""
WITH_FILES = 3
"""The first version with files and pastes."""
WITH_AGENTS = 4
"""The first version with kinds of conversations, outcomes of calls, and runs of agents."""
MAX_ID = 100
MAX_SEAL = 100
Kind = Conversation.Kind
MODES = tuple(Conversation.Mode.values)


def recognises(data: object) -> bool:
    return isinstance(data, dict) and data.get("format") == FORMAT


def read_conversation(data: dict[str, Any]) -> ImportedSource:
    version = _checked_version(data.get("version"))
    row = read_object("conversation", data.get("conversation"))
    reader = Reader(with_files=version >= WITH_FILES, with_outcomes=version >= WITH_AGENTS)
    source = _source(data, row, reader)
    if "ledger" in data:
        source = replace(source, ledger=read_entries(data["ledger"], source.lines))
    if version >= WITH_AGENTS:
        source = _with_agents(data, row, source)
    elif "kind" in row:
        source = replace(source, fields={**source.fields, "kind": read_kind("conversation.kind", row["kind"])})
    if version >= WITH_STATE:
        updated = read_date("conversation.updated_at", row.get("updated_at"))
        return replace(source, updated=updated, state=read_state(data, source))
    # The summaries are not stored, but a file whose summaries do not fit its messages is not to be trusted.
    require_within(read_date("conversation.compressed_at", row.get("compressed_at")), source.lines)
    read_ranges(data.get("checkpoints", []), source.lines)
    return source


def _source(data: dict[str, Any], row: dict[str, Any], reader: Reader) -> ImportedSource:
    """The conversation without its state of compression."""
    return ImportedSource(
        title=read_text("conversation.title", row.get("title"), limit=MAX_TITLE_CHARS),
        system_prompt=clean_system_prompt(row.get("system_prompt") or "", field="conversation.system_prompt"),
        seal=read_text("conversation.seal", row.get("seal"), limit=MAX_SEAL),
        proposed_system_prompt=clean_system_prompt(
            row.get("proposed_system_prompt") or "", field="conversation.proposed_system_prompt"
        ),
        lines=tuple(reader.read(data.get("messages"))),
        results=reader.results,
        model=read_text("conversation.model", row.get("model"), limit=100),
        started=read_date("conversation.created_at", row.get("created_at")),
        fields={
            "mode": read_choice("conversation.mode", row.get("mode", Conversation.Mode.ASSISTANT), MODES),
            "policy": clean_policy("conversation.policy", row.get("policy", {})),
        },
        rules=clean_rules("conversation.rules", row["rules"]) if "rules" in row else [],
        goal=read_goal(row.get("goal")),
        id=read_text("conversation.id", row.get("id"), limit=MAX_ID) or None,
    )


def _with_agents(data: dict[str, Any], row: dict[str, Any], source: ImportedSource) -> ImportedSource:
    """The conversation with its kind; an executor's thread outside a run becomes a chat."""
    kind = read_choice("conversation.kind", row.get("kind", Kind.CHAT), (*KINDS, Kind.EXECUTOR.value))
    runs = read_runs(data.get("runs", []), source, read_thread=_thread) if kind == Kind.AGENT else ()
    fields = {
        "kind": Kind.AGENT.value if kind == Kind.AGENT else Kind.CHAT.value,
        "effort": read_choice("conversation.effort", row.get("effort") or "", ("", *Effort.values)),
        "uses_tools": read_flag("conversation.uses_tools", row.get("uses_tools", True)),
    }
    return replace(source, fields={**source.fields, **fields}, runs=runs)


def _thread(data: dict[str, Any]) -> ImportedSource:
    """A run's thread, read like a separate file; an executor delegates nothing, so it has no runs."""
    if not recognises(data):
        raise fault("format", f'must be "{FORMAT}".')
    source = read_conversation(data | {"runs": []})
    return replace(source, fields={**source.fields, "kind": Kind.EXECUTOR.value})


def _checked_version(version: object) -> int:
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise fault("version", "must be a whole number from 1.")
    if version > VERSION:
        raise Invalid(
            f"version: the file was written by a newer version ({version}); this one reads up to {VERSION}.",
            field="version",
            version=version,
            supported=VERSION,
        )
    return version
