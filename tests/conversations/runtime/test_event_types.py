"""Each event type is documented, and each one that changes a page is rendered."""

from __future__ import annotations

import re
from pathlib import Path
from uuid import uuid4

import pytest

from conversations.api.openapi import EVENT_TYPES
from conversations.models import Conversation, Message
from conversations.page import fragments
from conversations.runtime.event_types import GROWING, EventType
from conversations.runtime.subscription import Event
from conversations.turns import conversations
from tests.conversations.chat import START

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[3]


def test_each_kind_is_described() -> None:
    table = (ROOT / "docs/events.md").read_text().partition("## Types")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert [name for row in rows for name in re.findall(r"`([^`]+)`", row)] == list(EventType)
    assert re.findall(r"`([^`]+)`", EVENT_TYPES) == list(EventType)


@pytest.mark.parametrize("kind", EventType)
def test_each_kind_changes_an_open_page(conversation: Conversation, kind: EventType) -> None:
    told_apart = {*GROWING, EventType.MESSAGE_CREATED, EventType.CONVERSATION_DELETED}
    assert (kind in fragments.HANDLERS) != (kind in told_apart)
    if kind not in told_apart:
        return
    row = Message(id=uuid4(), role=Message.Role.USER, content="Hello")
    fields = {name: getattr(row, name) for name in ("role", "name", "content", "status", "is_protected")}
    told = {"id": str(row.pk), "created_at": START.isoformat(), **fields}
    data = {"id": "m", "text": "Hello", "at": 0, "message": told}
    if kind == EventType.CONVERSATION_DELETED:
        conversations.delete(conversation)
    assert fragments.render_event(conversation.pk, Event(kind, data))
