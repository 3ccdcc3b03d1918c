"""Files of agents that no export has written."""

from __future__ import annotations

import json

import pytest

from conversations.exchange.exports import as_json
from conversations.exchange.imports import import_conversations
from conversations.models import Conversation, User
from tests.agents.rows import worked


@pytest.mark.once
def test_runs_within_runs_are_not_read_however_deep_they_are(user: User, conversation: Conversation) -> None:
    worked(conversation)
    bare = as_json(conversation) | {"messages": [], "runs": []}
    usual = {"task": "Add.", "status": "done", "turns": 1, "error": "", "created_at": None, "finished_at": None}
    file = bare
    for _ in range(300):
        file = bare | {"runs": [usual | {"steps": [], "thread": file}]}
    (back,) = import_conversations(user, json.dumps(file).encode())
    run = back.agent_runs.get()
    assert (run.task, run.thread.kind, run.thread.agent_runs.count()) == ("Add.", "executor", 0)
