"""What is told again from the rows is what was told when it happened; what is counted twice is counted alike."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from compression.core.values import Steering, ToolUse
from compression.ids import uuid7
from compression.models import Compaction
from conversations.api.events import catch_up
from conversations.compaction import lease
from conversations.context.elisions import UNKNOWN_NUMBER, placeholder
from conversations.context.transcript import bare_tokens, message_tokens
from conversations.models import Conversation
from conversations.runtime.event_types import EventType
from conversations.runtime.events import hub
from conversations.runtime.subscription import Event

KINDS = (EventType.COMPACTION_STARTED, EventType.COMPACTION_PROGRESS, EventType.COMPACTION_COMPLETED)


def told(events: list[Event]) -> list[Event]:
    return [event for event in events if event.type in KINDS]


@pytest.mark.parametrize("trigger", [Compaction.Trigger.MANUAL, Compaction.Trigger.AHEAD])
async def test_a_compaction_is_told_again_as_it_was(conversation: Conversation, trigger: Any) -> None:
    def again() -> list[Event]:
        return told([entry.event for entry in catch_up.since(conversation.pk, place).events])

    place = (await sync_to_async(catch_up.since)(conversation.pk, None)).place
    with hub.listen(conversation.pk) as listener:
        claimed = await sync_to_async(lease.claim)(conversation.pk, trigger=trigger, steering=Steering())
        row = await sync_to_async(lease.start)(claimed.pk, uuid7())
        assert row is not None
        await lease.advance(row, "identify", 5, summariser="scripted")
        under_way = await sync_to_async(again)()
        figures = {"pre_tokens": 900, "post_tokens": 90}
        await sync_to_async(lease.finish)(row, Compaction.Status.SUCCEEDED, **figures)
        ended = await sync_to_async(again)()
        heard = told([await listener.queue.get() for _ in range(3)])
    assert under_way == heard[:2]
    assert ended == heard[2:]


@pytest.mark.once
@pytest.mark.parametrize("role", ["assistant", "tool"])
def test_a_message_without_its_results_costs_the_same_wherever_it_is_counted(role: str) -> None:
    use = ToolUse("c-1", "look_up", '{"of": "port"}', "8443 " * 400)
    tools = (use,) if role == "assistant" else ()
    content = "I look." if role == "assistant" else "8443 " * 400
    bare = bare_tokens(content, tools, role=role)
    assert bare < message_tokens(content, tools, role=role)
    told = placeholder(use.result or content, tool=use.name if tools else "", number=UNKNOWN_NUMBER)
    elided = [ToolUse(use.call_id, use.name, use.arguments, told)] if tools else []
    assert bare == message_tokens(content if tools else told, elided, role=role)
