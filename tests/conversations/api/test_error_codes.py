"""Why something failed is written to its row where that is known: figures read no sentences."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from compression.core.error_codes import ErrorCode
from compression.core.errors import CompactionFailed
from compression.core.text.summary_text import require_headings
from conversations.analytics import tallies
from conversations.llm.providers.fault_mapping import Endpoint, error_of_status, explain
from conversations.models import Conversation, Message
from conversations.turns import recovery
from tests.conversations.chat import Chat, fill
from tests.conversations.spent import NOON

ASKED = Endpoint("scripted", "m-1", "http://host/v1", 60.0, "openai")
NO_CREDIT = {"error": {"code": "insufficient_quota"}}
TOO_LONG = {"error": {"code": "context_length_exceeded"}}


@pytest.mark.once
@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (400, None, "request_refused"),
        (400, TOO_LONG, "context_too_large"),
        (401, None, "key_refused"),
        (404, None, "model_not_found"),
        (409, None, "request_refused"),
        (429, None, "rate_limited"),
        (429, NO_CREDIT, "no_credit"),
        (402, NO_CREDIT, "no_credit"),
        (500, None, "provider_fault"),
        (529, None, "provider_fault"),
    ],
)
def test_a_provider_s_status_has_a_code(status: int, body: Any, code: str) -> None:
    fault = error_of_status(status, body, ASKED)
    assert fault.code == code


@pytest.mark.once
@pytest.mark.parametrize("begun", [True, False])
def test_silence_has_a_code(begun: bool) -> None:
    fault = explain(TimeoutError(), ASKED, begun=begun)
    assert fault.code == "silence"


@pytest.mark.once
def test_a_summary_without_headings_has_a_code() -> None:
    with pytest.raises(CompactionFailed) as failure:
        require_headings("Nothing to see.")
    assert failure.value.code == "no_headings"


async def test_a_failed_reply_says_why_and_figures_read_that(chat: Chat) -> None:
    chat.llm.enqueue(status=401)
    reply = await chat.say("hello")
    assert (reply.status, reply.error_code) == ("failed", "key_refused")
    days = tallies.Days.until(reply.created_at.date(), 1)
    assert {kind.reason for kind in await sync_to_async(tallies.replies)(days)} == {"key_refused"}


async def test_a_reply_that_worked_has_no_code(chat: Chat) -> None:
    assert (await chat.say("hello")).error_code == ""


async def test_a_summariser_that_was_passed_over_has_a_code(chat: Chat) -> None:
    await sync_to_async(fill)(chat.conversation, 40)
    chat.llm.enqueue_summary(status=401, times=9)
    row = await chat.compact()
    assert [(step["summariser"], step["code"]) for step in row.steps] == [("scripted", "key_refused")]


def test_a_reply_that_nobody_writes_any_more_has_a_code(conversation: Conversation) -> None:
    row = Message.objects.create(conversation=conversation, role="assistant", status="streaming", created_at=NOON)
    assert recovery.give_up(row, status="failed", error=recovery.NOBODY, error_code=ErrorCode.WORKER_STOPPED)
    row.refresh_from_db()
    assert row.error_code == "worker_stopped"
