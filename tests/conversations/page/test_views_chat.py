from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from compression.core.values import Steering
from compression.models import Compaction
from conversations.compaction import compaction
from conversations.models import Conversation, Message, ModelProfile, ToolCall, User
from conversations.page import fragments
from tests.conversations.chat import fill
from tests.conversations.pages import Pages, elements
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once

CONVERGE = '{"converge": {}}'
HOSTILE = "</textarea><script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


def states(response: Any) -> list[str]:
    return [found["data-state"] for found in elements(response).with_attribute("data-message-id")]


def running(conversation: Conversation, trigger: str = "auto") -> Compaction:
    return Compaction.objects.create(
        conversation=conversation,
        trigger=trigger,
        status="running",
        stage="summarise",
        percent=45,
        lease_expires_at=timezone.now() + timedelta(seconds=60),
    )


def test_the_page_has_its_hooks(pages: Pages, conversation: Conversation) -> None:
    fill(conversation, 2)
    page = elements(pages.get("chat", conversation.pk))
    for id in ("thread", "composer", "send", "stop", "compact", "compression-status", "conversations"):
        assert page.by_id(id)
    meter = page.by_id("context-meter")
    assert meter["data-window"] == "4000"
    assert 0 < int(meter["data-used"]) < 4000 and meter["data-percent"].isdigit()
    assert page.by_id("content")["name"] == "content"
    first, second = page.with_attribute("data-message-id")
    assert (first["data-role"], first["data-state"], first["data-status"]) == ("user", "live", "complete")
    assert second["data-role"] == "assistant"


@pytest.mark.parametrize("count", [20, 300])
def test_the_pages_queries_do_not_grow_with_the_conversation(
    pages: Pages, conversation: Conversation, count: int, django_assert_num_queries: Any
) -> None:
    fill(conversation, count)
    compaction.request(conversation, trigger="manual", steering=Steering())
    pages.get("chat", conversation.pk)
    with django_assert_num_queries(25):
        assert states(pages.get("chat", conversation.pk)) == ["compressed"] * 4 + ["live"] * 4


def test_hostile_words_are_words(pages: Pages, user: User, profile: ModelProfile) -> None:
    conversation = Conversation.objects.create(owner=user, model=profile, title=HOSTILE)
    now = timezone.now()
    row = Message.objects.create(conversation=conversation, role="user", content=HOSTILE, name=HOSTILE, created_at=now)
    reply = Message.objects.create(
        conversation=conversation, role="assistant", content=HOSTILE, error=HOSTILE, status="failed",
        created_at=now + timedelta(seconds=1),
    )  # fmt: skip
    ToolCall.objects.create(
        message=reply, call_id="1", name=HOSTILE, arguments=HOSTILE, result=HOSTILE, error=HOSTILE, created_at=now
    )
    for response in (pages.get("chat", conversation.pk), pages.get("message", conversation.pk, row.pk)):
        assert response.status_code == 200
        assert b"<script>alert" not in response.content
        assert not [tag for tag, _ in elements(response).found if tag == "img"]


def test_a_question_and_its_pending_reply_come_back(pages: Pages, conversation: Conversation, llm: LlmServer) -> None:
    llm.enqueue("Port **5433**.")
    response = pages.post("send", conversation.pk, content="which port?\r\nplease", client_id="one")
    assert [found["data-role"] for found in elements(response).with_attribute("data-message-id")] == [
        "user",
        "assistant",
    ]
    question, reply = Message.objects.order_by("created_at")
    assert question.content == "which port?\nplease"
    again = pages.asks_for_itself(conversation.pk, reply.pk)
    assert "<strong>5433</strong>" in again.content.decode()
    assert again.headers["HX-Trigger"] == CONVERGE
    cancelled = pages.get("message", conversation.pk, reply.pk, htmx=True)
    assert cancelled.content == again.content and "HX-Trigger" not in cancelled.headers


def test_what_was_stored_just_now_is_shown_without_reading_it(pages: Pages, conversation: Conversation) -> None:
    with CaptureQueriesContext(connection) as ran:
        assert "hello" in pages.post("send", conversation.pk, content="hello").content.decode()
    tables = ("conversations_attachment", "conversations_paste", "conversations_toolcall")
    assert not [query["sql"] for query in ran if any(f'FROM "{table}"' in query["sql"] for table in tables)]


def test_sending_twice_stores_once(pages: Pages, conversation: Conversation) -> None:
    for _ in range(2):
        assert pages.post("send", conversation.pk, content="once", client_id="same").status_code == 200
    assert Message.objects.filter(role="user").count() == 1


@pytest.mark.parametrize(
    ("content", "status"), [("", 400), ("  \n", 400), ("a\0b", 400), ("word " * 5_000, 413), ("x" * 300_000, 400)]
)
def test_what_cannot_be_sent_is_refused_beside_the_composer(
    pages: Pages, conversation: Conversation, content: str, status: int
) -> None:
    response = pages.post("send", conversation.pk, content=content)
    assert response.status_code == status
    assert (response.headers["HX-Retarget"], response.headers["HX-Reswap"]) == ("#alert", "innerHTML")
    assert not Message.objects.exists()


def test_a_pending_reply_asks_for_itself_and_shows_plain_text(pages: Pages, conversation: Conversation) -> None:
    reply = Message.objects.create(
        conversation=conversation, role="assistant", status="streaming", content="**so <far>", created_at=timezone.now()
    )
    response = pages.get("message", conversation.pk, reply.pk)
    bubble = elements(response).by_id(f"message-{reply.pk}")
    assert bubble["hx-trigger"] == "every 5s" and bubble["aria-busy"] == "true"
    assert b"**so &lt;far&gt;</div>" in response.content
    assert "HX-Trigger" not in response.headers


def test_compact_is_a_button_and_a_command(pages: Pages, conversation: Conversation) -> None:
    fill(conversation, 20)
    response = pages.post("send", conversation.pk, content="/compact keep the ports")
    assert response.headers["HX-Retarget"] == "#compression-status"
    row = Compaction.objects.get()
    assert (row.trigger, row.status, row.instructions) == ("manual", "succeeded", "keep the ports")
    assert not Message.objects.filter(content__startswith="/compact").exists()
    assert pages.post("compact", conversation.pk).status_code == 200


@pytest.mark.parametrize(("messages", "outcome"), [(2, b"Nothing was compacted."), (20, b"Compacted")])
def test_a_compaction_that_has_ended_before_the_answer_keeps_its_outcome_on_the_page(
    pages: Pages, conversation: Conversation, messages: int, outcome: bytes
) -> None:
    fill(conversation, messages)
    assert outcome in pages.post("compact", conversation.pk).content


def test_an_outcome_is_that_of_the_moment_it_is_shown(conversation: Conversation) -> None:
    row = running(conversation)
    assert "Compressing context" in fragments.status(conversation, finished=row)
    Compaction.objects.filter(pk=row.pk).update(status="skipped", error="Nothing is old enough.")
    assert "Nothing was compacted. Nothing is old enough." in fragments.status(conversation, finished=row)
    row = running(conversation)
    Compaction.objects.filter(pk=row.pk).delete()
    assert not fragments.status(conversation, finished=row).strip()


def test_while_one_runs_another_is_refused_and_the_page_waits(pages: Pages, conversation: Conversation) -> None:
    row = running(conversation)
    assert pages.post("compact", conversation.pk).status_code == 409
    page = elements(pages.get("chat", conversation.pk))
    assert (
        "disabled" in page.by_id("content") and "disabled" in page.by_id("send") and "disabled" in page.by_id("compact")
    )
    status = pages.get("status", conversation.pk)
    (busy,) = elements(status).with_attribute("data-busy")
    assert busy["hx-get"].endswith(f"?was={row.pk}") and busy["hx-trigger"] == "every 5s"
    assert b"Compressing context" in status.content and b"summarising" in status.content and b"45 %" in status.content


def test_what_is_prepared_ahead_disturbs_nobody(pages: Pages, conversation: Conversation) -> None:
    running(conversation, trigger="ahead")
    assert "disabled" not in elements(pages.get("chat", conversation.pk)).by_id("content")
    assert pages.get("status", conversation.pk).content.strip() == b""


def test_a_page_that_waited_for_a_dead_worker_is_told_and_gets_its_box_back(
    pages: Pages, conversation: Conversation
) -> None:
    row = running(conversation)
    Compaction.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    response = pages.get("status", conversation.pk, was=str(row.pk))
    assert not elements(response).with_attribute("data-busy")
    assert b"The compaction did not work, and nothing was changed." in response.content
    assert response.headers["HX-Trigger"] == CONVERGE


def test_a_thread_that_has_not_changed_is_not_sent_again(pages: Pages, conversation: Conversation) -> None:
    fill(conversation, 4)
    version = elements(pages.get("thread", conversation.pk)).by_id("version")["value"]
    assert pages.get("thread", conversation.pk, version=version).status_code == 204
    Message.objects.create(conversation=conversation, role="user", content="new", created_at=timezone.now())
    changed = elements(pages.get("thread", conversation.pk, version=version))
    assert len(changed.with_attribute("data-fresh")) == len(changed.with_attribute("data-message-id")) == 1
    assert changed.by_id("context-meter")
    assert pages.get("thread", conversation.pk, version=changed.by_id("version")["value"]).status_code == 204
    Conversation.objects.update(compression_version=F("compression_version") + 1)
    changed = elements(pages.get("thread", conversation.pk, version=version))
    assert changed.by_id("thread")["hx-swap-oob"] == "innerHTML"
    assert len(changed.with_attribute("data-message-id")) == 5


@pytest.mark.parametrize("changed", [{"title": "Another"}, {"effort": "high"}, {"system_prompt": "Be brief."}])
def test_a_page_that_missed_a_change_of_its_head_gets_it_alone(
    pages: Pages, conversation: Conversation, changed: dict[str, str]
) -> None:
    fill(conversation, 4)
    version = elements(pages.get("thread", conversation.pk)).by_id("version")["value"]
    Conversation.objects.update(**changed)
    answer = pages.get("thread", conversation.pk, version=version)
    assert answer.status_code == 200
    assert not elements(answer).with_attribute("data-message-id")
    assert pages.get("thread", conversation.pk, version=elements(answer).by_id("version")["value"]).status_code == 204


@pytest.mark.parametrize("version", ["", ":::", "::::", "x:y:z:u:v", "1:2:3:4:5:6", "ü" * 5_000])
def test_a_version_that_nobody_gave_is_answered_with_all_of_the_thread(
    pages: Pages, conversation: Conversation, version: str
) -> None:
    fill(conversation, 4)
    assert len(elements(pages.get("thread", conversation.pk, version=version)).with_attribute("data-message-id")) == 4


def test_a_thread_with_a_reply_in_the_making_is_always_sent(pages: Pages, conversation: Conversation) -> None:
    Message.objects.create(conversation=conversation, role="assistant", status="streaming", created_at=timezone.now())
    version = elements(pages.get("thread", conversation.pk)).by_id("version")["value"]
    assert pages.get("thread", conversation.pk, version=version).status_code == 200


def test_the_rest_of_a_fold_and_the_body_of_a_row_are_loaded_on_demand(
    pages: Pages, conversation: Conversation
) -> None:
    fill(conversation, 20)
    compaction.request(conversation, trigger="manual", steering=Steering())
    asked = [found["hx-get"] for found in elements(pages.get("chat", conversation.pk)).with_attribute("hx-get")]
    rest = pages.client.get(next(address for address in asked if "after=" in address))
    assert states(rest) == ["compressed"] * 12
    body = pages.client.get(next(address for address in asked if address.endswith("?body")))
    assert b"Message 0 says port 5000." in body.content
    assert not elements(body).with_attribute("data-message-id")


def test_view_shows_the_summary_beside_its_sources_and_undo_takes_it_back(
    pages: Pages, conversation: Conversation
) -> None:
    fill(conversation, 20)
    row = compaction.request(conversation, trigger="manual", steering=Steering())
    for response in (pages.get("compaction", conversation.pk, row.pk, htmx=htmx) for htmx in (True, False)):
        assert "They began with" in response.content.decode()
        assert "Message 0 says port 5000." in response.content.decode()
        assert "Message 15 says port 5015." in response.content.decode()
    assert pages.post("undo", conversation.pk, row.pk).headers["HX-Trigger"] == CONVERGE
    undone = pages.get("thread", conversation.pk)
    assert states(undone) == ["live"] * 20
    assert not elements(undone).with_attribute("data-compaction-id")
    assert pages.post("undo", conversation.pk, row.pk).status_code == 409


def test_only_the_last_failed_reply_is_tried_again(pages: Pages, conversation: Conversation, llm: LlmServer) -> None:
    llm.enqueue(status=401, message="bad key")
    pages.post("send", conversation.pk, content="hello?")
    reply = Message.objects.get(role="assistant")
    assert b">Try again</button>" in pages.get("message", conversation.pk, reply.pk).content
    llm.enqueue("There.")
    assert pages.post("retry", conversation.pk, reply.pk).status_code == 200
    again = Message.objects.get(role="assistant", replaced_by=None)
    assert (again.status, again.content) == ("complete", "There.")
    assert pages.post("retry", conversation.pk, reply.pk).status_code == 409


def test_stopping_what_does_not_run_is_fine(pages: Pages, conversation: Conversation) -> None:
    assert pages.post("stop", conversation.pk).status_code == 204


@pytest.mark.parametrize(
    ("name", "query"),
    [("thread", {"before": "yesterday"}), ("thread", {"before": "2026-01-01T00:00:00"}), ("status", {"was": "x"})],
)
def test_an_address_that_makes_no_sense_is_refused(
    pages: Pages, conversation: Conversation, name: str, query: dict[str, str]
) -> None:
    assert pages.get(name, conversation.pk, **query).status_code == 400


def test_the_demo_model_is_called_one(pages: Pages, conversation: Conversation) -> None:
    assert b"demo model" not in pages.get("chat", conversation.pk).content
    ModelProfile.objects.update(provider="builtin")
    assert b"demo model" in pages.get("chat", conversation.pk).content


def test_without_a_model_the_page_opens_and_says_what_to_do(pages: Pages, user: User) -> None:
    conversation = Conversation.objects.create(owner=user)
    response = pages.get("chat", conversation.pk)
    assert b"No model is connected" in response.content
    assert elements(response).by_id("context-meter")["data-window"] == "0"
