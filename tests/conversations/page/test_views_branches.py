"""What a message offers: asked anew, answered anew, gone on with elsewhere."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.urls import reverse

from compression.core.values import Steering
from conversations.compaction import compaction
from conversations.models import Conversation, Message, ModelProfile, User
from tests.conversations.chat import fill
from tests.conversations.pages import Pages, elements
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once

CONVERGE = '{"converge": {}}'


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


def numbered(conversation: Conversation, number: int) -> Message:
    return conversation.messages.order_by("created_at")[number]


def acts(response: Any) -> str:
    return response.content.decode().partition('class="acts"')[2].partition("</p>")[0]


def menu_of(pages: Pages, row: Message) -> str:
    return str(pages.get("message_menu", row.conversation_id, row.pk).content.decode())


def test_each_message_offers_what_fits_it(pages: Pages, conversation: Conversation) -> None:
    fill(conversation, 2)
    rows = numbered(conversation, 0), numbered(conversation, 1)
    asked, answered = (acts(pages.get("message", conversation.pk, row.pk)) for row in rows)
    assert "Edit" in asked and "Regenerate" not in asked
    assert "Regenerate" in answered and "Edit" not in answered
    asked, answered = (menu_of(pages, row) for row in rows)
    assert "Fork" in asked and "Compact up to here" in asked and "Regenerate with" not in asked
    assert "Fork" in answered and "Regenerate with" in answered


def test_what_is_being_written_or_was_replaced_offers_nothing(pages: Pages, conversation: Conversation) -> None:
    fill(conversation, 4)
    row, other = numbered(conversation, 1), numbered(conversation, 3)
    Message.objects.filter(pk=row.pk).update(replaced_by=other)
    assert acts(pages.get("message", conversation.pk, row.pk)) == ""
    Message.objects.filter(pk=other.pk).update(status="streaming")
    assert acts(pages.get("message", conversation.pk, other.pk)) == ""
    assert pages.post("regenerate", conversation.pk, row.pk).status_code == 404


def test_a_compressed_message_offers_them_once_it_is_opened(pages: Pages, conversation: Conversation) -> None:
    fill(conversation, 20)
    compaction.request(conversation, trigger="manual", steering=Steering())
    row = numbered(conversation, 0)
    assert "Edit" in acts(pages.get("message", conversation.pk, row.pk, body=""))
    assert "Fork" in menu_of(pages, row) and "Compact up to here" not in menu_of(pages, row)


def test_the_last_reply_is_written_anew_at_once(pages: Pages, conversation: Conversation, llm: LlmServer) -> None:
    fill(conversation, 2)
    llm.enqueue("Another one.")
    response = pages.post("regenerate", conversation.pk, numbered(conversation, 1).pk)
    assert (response.status_code, response.headers["HX-Trigger"]) == (204, CONVERGE)
    live = conversation.messages.filter(replaced_by=None).order_by("created_at")
    assert [message.content for message in live][1:] == ["Another one."]


def test_where_later_messages_leave_it_is_asked_for_once_more(
    pages: Pages, conversation: Conversation, llm: LlmServer
) -> None:
    fill(conversation, 5)
    row = numbered(conversation, 1)
    response = pages.post("regenerate", conversation.pk, row.pk)
    assert b"3 messages below stay in the present version." in response.content
    assert response.headers["HX-Retarget"] == f"#acts-{row.pk}"
    assert conversation.messages.filter(replaced_by=None).count() == 5
    llm.enqueue("Another one.")
    assert pages.post("regenerate", conversation.pk, row.pk, sure="1").status_code == 204
    assert conversation.messages.filter(replaced_by=None).count() == 2
    assert conversation.messages.count() == 6


def test_a_message_is_edited_in_place_and_asked_again(pages: Pages, conversation: Conversation, llm: LlmServer) -> None:
    fill(conversation, 4)
    row = numbered(conversation, 2)
    form = pages.get("edit", conversation.pk, row.pk)
    assert row.content in form.content.decode()
    assert b"1 message below stays in the present version." in form.content
    assert elements(form).by_id(f"edited-{row.pk}")["name"] == "content"
    llm.enqueue("Port 6000.")
    response = pages.post("edit", conversation.pk, row.pk, content="And which\r\nport now?")
    assert (response.status_code, response.headers["HX-Trigger"]) == (204, CONVERGE)
    live = [message.content for message in conversation.messages.filter(replaced_by=None).order_by("created_at")]
    assert live[2:] == ["And which\nport now?", "Port 6000."]
    assert llm.chats[-1].text.count("Message 2 says") == 0


@pytest.mark.parametrize(("content", "status"), [("  ", 400), ("a\0b", 400), ("word " * 5_000, 413)])
def test_an_edit_that_cannot_be_is_refused_in_its_form_and_changes_nothing(
    pages: Pages, conversation: Conversation, content: str, status: int
) -> None:
    fill(conversation, 4)
    row = numbered(conversation, 2)
    response = pages.post("edit", conversation.pk, row.pk, content=content)
    assert response.status_code == status
    assert response.headers["HX-Retarget"] == f"#refused-{row.pk}"
    assert conversation.messages.filter(replaced_by=None).count() == 4


def test_a_reply_cannot_be_edited_nor_a_question_be_regenerated(pages: Pages, conversation: Conversation) -> None:
    fill(conversation, 2)
    asked, answered = numbered(conversation, 0), numbered(conversation, 1)
    assert pages.get("edit", conversation.pk, answered.pk).status_code == 404
    assert pages.post("edit", conversation.pk, answered.pk, content="mine").status_code == 404
    assert pages.post("regenerate", conversation.pk, asked.pk).status_code == 404
    assert pages.post("regenerate", conversation.pk, uuid4()).status_code == 404


def test_a_fork_opens(pages: Pages, conversation: Conversation) -> None:
    fill(conversation, 6)
    response = pages.post("fork", conversation.pk, numbered(conversation, 3).pk)
    copy = Conversation.objects.exclude(pk=conversation.pk).get()
    assert response.headers["HX-Redirect"] == reverse("chat", args=[copy.pk])
    assert copy.messages.count() == 4


def test_a_fresh_start_needs_a_summary(pages: Pages, conversation: Conversation) -> None:
    fill(conversation, 4)
    response = pages.post("fresh", conversation.pk)
    assert response.status_code == 409 and response.headers["HX-Retarget"] == "#alert"


def test_an_edit_asks_before_messages_leave_that_came_since_it_was_begun(
    pages: Pages, conversation: Conversation, llm: LlmServer
) -> None:
    fill(conversation, 3)
    row = numbered(conversation, 2)
    seen = elements(pages.get("edit", conversation.pk, row.pk)).named("seen")["value"]
    llm.enqueue("And so on.")
    pages.post("send", conversation.pk, content="Written elsewhere")
    asked = pages.post("edit", conversation.pk, row.pk, content="Again?", seen=seen)
    assert (asked.status_code, asked.headers["HX-Retarget"]) == (409, f"#refused-{row.pk}")
    assert b"2 messages came since you began this edit and would stay" in asked.content
    assert conversation.messages.filter(replaced_by=None).count() == 5
    llm.enqueue("Once more.")
    saved = pages.post("edit", conversation.pk, row.pk, content="Again?", seen=elements(asked).named("seen")["value"])
    assert saved.status_code == 204
    assert conversation.messages.filter(replaced_by=None).count() == 4


def test_a_regeneration_asks_again_if_messages_came_since_it_asked(
    pages: Pages, conversation: Conversation, llm: LlmServer
) -> None:
    fill(conversation, 5)
    row, seen = numbered(conversation, 1), str(numbered(conversation, 3).pk)
    again = pages.post("regenerate", conversation.pk, row.pk, sure="1", seen=seen)
    assert b"3 messages below stay" in again.content
    assert conversation.messages.filter(replaced_by=None).count() == 5


def test_an_edit_of_a_message_that_was_edited_elsewhere_says_so_in_its_form(
    pages: Pages, conversation: Conversation, llm: LlmServer
) -> None:
    fill(conversation, 3)
    row = numbered(conversation, 2)
    llm.enqueue("Once.")
    pages.post("edit", conversation.pk, row.pk, content="Elsewhere")
    response = pages.post("edit", conversation.pk, row.pk, content="Here")
    assert (response.status_code, response.headers["HX-Retarget"]) == (409, f"#refused-{row.pk}")
    assert b"edited or replaced elsewhere" in response.content


def test_another_model_is_chosen_only_once_it_is_sure(pages: Pages, conversation: Conversation) -> None:
    fill(conversation, 4)
    other = ModelProfile.objects.create(
        name="larger", model_id="larger", base_url=conversation.model.base_url, window=8_000
    )
    row = numbered(conversation, 1)
    listed = pages.get("regenerate_with", conversation.pk, row.pk, htmx=True).content.decode()
    assert "larger" in listed and "8,000 tokens" in listed and "answers now" in listed
    asked = pages.post("regenerate", conversation.pk, row.pk, model=str(other.pk))
    assert f'"model": "{other.pk}"' in asked.content.decode()
    conversation.refresh_from_db()
    assert conversation.model != other
    assert pages.post("regenerate", conversation.pk, row.pk, sure="1", model="none").status_code == 400
    assert pages.post("regenerate", conversation.pk, row.pk, sure="1", model=str(other.pk)).status_code == 204
    conversation.refresh_from_db()
    assert conversation.model == other
    assert pages.get("regenerate_with", conversation.pk, numbered(conversation, 0).pk).status_code == 404
