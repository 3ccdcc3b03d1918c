"""A chat whose provider fails in another way at each turn: every turn ends, and nothing that was said is lost."""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from compression.models import Compaction
from conversations.models import Message
from tests.conversations.chat import Chat

TURNS = int(os.environ.get("FAULTY_TURNS", "40"))
"""`make torture` sets 500."""
AT_ONCE: list[dict[str, Any]] = [
    {"status": 400},
    {"status": 401},
    {"status": 404},
    {"status": 429, "code": "insufficient_quota"},
    {"status": 429, "retry_after": "0.01", "times": 3},
    {"status": 500, "retry_after": "0.01", "times": 3},
    {"status": 503, "retry_after": "3600"},
    {"status": 529, "retry_after": "0.01"},
    {"text": ""},
    {"text": "", "refusal": True},
    {"finish_reason": "length"},
    {"finish_reason": "content_filter"},
    {"usage": None},
    {"fault": "html"},
    {"fault": "bytes"},
    {"fault": "null"},
    {"fault": "no_choices"},
    {"fault": "half"},
    {"fault": "unended"},
    {"fault": "late_reset"},
    {"fault": "error_midway", "code": "server_error"},
    {"fault": "stall"},
    {"fault": "half_stall"},
    {"status": 400, "code": "context_length_exceeded"},
]
"""What the scripted server does instead of a good answer."""
WORDS = "This reply has words that a person reads, {}."


@pytest.mark.long
@pytest.mark.once
async def test_every_turn_ends_and_nothing_is_lost(chat: Chat, settings: Any) -> None:
    settings.MODEL_TIMEOUT_SECONDS = 0.3
    settings.COMPRESSION_COOLDOWN_SECONDS = 0
    chosen = random.Random(7)
    ends: Counter[str] = Counter()
    for number in range(TURNS):
        chat.llm.clear()
        if number % 3:
            how = chosen.choice(AT_ONCE)
            chat.llm.enqueue(**({"text": WORDS.format(number)} | how))
        if number % 4 == 0:
            how = chosen.choice(AT_ONCE)
            chat.llm.enqueue_summary(**({"text": "## Summary\n- cut"} | how))
        reply = await chat.say(f"Mark {number}: port {5000 + number}. " + f"word{number} " * 60)
        await chat.idle()
        ends[reply.status] += 1
        assert reply.status == "complete" or reply.error, reply.status
        rows = Message.objects.filter(conversation=chat.conversation)
        assert await rows.filter(role="user").acount() == number + 1
        assert not await rows.streaming().aexists()
        assert not await sync_to_async(Compaction.objects.active().exists)()
        if number % 3 == 0 and reply.status == "complete":
            await chat.check()
    await chat.refresh()
    assert ends["complete"] > TURNS // 3 and ends["failed"] and chat.conversation.is_compressed, ends
