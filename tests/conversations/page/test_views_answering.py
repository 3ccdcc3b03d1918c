"""The model of a conversation and its system prompt, chosen in its panel."""

from __future__ import annotations

from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from compression.core.tokens import count_tokens
from compression.models import Compaction
from conversations.instructions import conversation_settings
from conversations.llm.port import MAX_TOKENS
from conversations.models import Conversation, Message, ModelProfile, User
from tests.conversations.chat import START, Chat, fill
from tests.conversations.pages import Pages, elements, one_line

pytestmark = pytest.mark.once


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


@pytest.fixture
def small(profile: ModelProfile) -> ModelProfile:
    return ModelProfile.objects.create(
        name="small", model_id="small", base_url=profile.base_url, api_key="k", window=1_200, token_correction=1.0
    )


def panel(pages: Pages, conversation: Conversation) -> str:
    return unescape(pages.get("context", conversation.pk, htmx=True).content.decode())


def meter(pages: Pages, conversation: Conversation) -> dict[str, str]:
    return elements(pages.get("chat", conversation.pk)).by_id("context-meter")


def test_the_models_that_can_be_chosen_come_with_window_and_price(
    pages: Pages, conversation: Conversation, small: ModelProfile
) -> None:
    ModelProfile.objects.filter(name="small").update(price_input=Decimal("0.25"), price_output=Decimal(2))
    ModelProfile.objects.create(name="gone", model_id="x", enabled=False)
    ModelProfile.objects.create(name="summaries", model_id="x", role=ModelProfile.Role.FAST)
    html = one_line(panel(pages, conversation).partition('id="model-section"')[2].partition("</section>")[0])
    assert "selected>scripted (4k)<" in html and ">small (1.2k, $0.25 / $2.00)<" in html
    assert "gone" not in html and "summaries" not in html
    assert "Its window is 4,000 tokens; " in html and "No price is set for it." in html


def test_a_smaller_window_says_that_the_next_turn_folds_and_the_meter_follows(
    pages: Pages, conversation: Conversation, small: ModelProfile
) -> None:
    fill(conversation, 20)
    assert meter(pages, conversation)["data-window"] == "4000"
    response = pages.post("model", conversation.pk, model=str(small.pk))
    told = unescape(response.content.decode())
    assert response.headers["HX-Retarget"] == "#model-section"
    assert "small answers from now on." in told
    assert "Its window is 1,200 tokens: this conversation is compacted at the next turn." in told
    assert meter(pages, conversation)["data-window"] == "1200"
    assert not conversation.compactions.exists()
    back = pages.post("model", conversation.pk, model=str(conversation.model_id))
    assert "compacted" not in back.content.decode().partition("model-help")[2]


async def test_the_next_turn_folds_for_the_smaller_window_and_goes_to_the_new_model(
    chat: Chat, small: ModelProfile
) -> None:
    await sync_to_async(fill)(chat.conversation, 20)
    await sync_to_async(conversation_settings.change)(chat.conversation, model=small)
    reply = await chat.say("Which port has message 3?")
    assert reply.status == "complete", reply.error
    assert chat.llm.chats[-1].body["model"] == "small"
    assert await Compaction.objects.filter(status="succeeded").acount() >= 1
    await chat.check()


def test_no_switch_while_a_reply_is_written(pages: Pages, conversation: Conversation, small: ModelProfile) -> None:
    Message.objects.create(conversation=conversation, role="assistant", status="streaming", created_at=START)
    response = pages.post("model", conversation.pk, model=str(small.pk))
    assert response.status_code == 409
    assert "A reply is still being written" in response.content.decode()
    assert "selected>scripted (4k)<" in one_line(response.content.decode())
    address = f"/api/conversations/{conversation.pk}"
    body = {"model": "small", "title": "Another"}
    refused = pages.client.patch(address, body, content_type="application/json")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "reply_running")
    conversation.refresh_from_db()
    assert (conversation.model, conversation.title) == (ModelProfile.objects.get(name="scripted"), "")
    assert pages.client.patch(address, {"title": "Another"}, content_type="application/json").status_code == 200


@pytest.mark.parametrize("model", ["", "x", "-1", "٣", "9" * 30, str(MAX_TOKENS), "gone", "summaries"])
def test_a_model_that_cannot_be_chosen_is_refused(pages: Pages, conversation: Conversation, model: str) -> None:
    rows = {
        "gone": ModelProfile.objects.create(name="gone", model_id="x", enabled=False),
        "summaries": ModelProfile.objects.create(name="summaries", model_id="x", role=ModelProfile.Role.FAST),
    }
    response = pages.post("model", conversation.pk, model=str(rows[model].pk) if model in rows else model)
    assert response.status_code == 400
    assert elements(response).by_id("model-select_error")
    conversation.refresh_from_db()
    assert conversation.model_id == ModelProfile.objects.get(name="scripted").pk


def test_a_model_that_is_not_there_any_more_says_who_answers_instead(
    pages: Pages, conversation: Conversation, small: ModelProfile
) -> None:
    ModelProfile.objects.filter(name="scripted").update(enabled=False)
    assert "scripted no longer exists: small answers instead." in panel(pages, conversation)
    ModelProfile.objects.all().delete()
    assert "None is connected" in panel(pages, conversation)


def test_the_panel_opens_at_the_model_where_a_notice_asks_for_another(pages: Pages, conversation: Conversation) -> None:
    opened = elements(pages.get("context", conversation.pk, htmx=True, at="model"))
    assert [one.get("id") for one in opened.with_attribute("autofocus")] == ["model-select"]
    tabs = opened.with_attribute("aria-selected")
    assert [tab["id"] for tab in tabs if tab["aria-selected"] == "true"] == ["tab-model"]
    usual = elements(pages.get("context", conversation.pk, htmx=True))
    assert usual.with_attribute("autofocus") == []


def test_a_system_prompt_is_saved_counted_and_part_of_the_meter(pages: Pages, conversation: Conversation) -> None:
    before = int(meter(pages, conversation)["data-used"])
    text = "You are the site's librarian.\nAnswer in one sentence."
    response = pages.post("system_prompt", conversation.pk, system_prompt=f"  {text}\r\n\n".replace("\n", "\r\n"))
    assert "Saved" in response.content.decode()
    conversation.refresh_from_db()
    assert conversation.system_prompt == text
    assert f"<b>{count_tokens(text)}</b> tokens" in panel(pages, conversation)
    assert int(meter(pages, conversation)["data-used"]) > before
    pages.post("system_prompt", conversation.pk, system_prompt=" ")
    conversation.refresh_from_db()
    assert conversation.system_prompt == ""


@pytest.mark.parametrize("text", ["x" * 50_001, "a\0b"])
def test_a_system_prompt_that_cannot_be_one_is_told_beside_it_and_kept_in_the_form(
    pages: Pages, conversation: Conversation, text: str
) -> None:
    response = pages.post("system_prompt", conversation.pk, system_prompt=text)
    assert response.status_code == 400
    found = elements(response)
    assert found.by_id("system-prompt")["aria-describedby"] == "system-prompt-cost system_prompt_error"
    assert found.by_id("system_prompt_error") and text in response.content.decode()
    conversation.refresh_from_db()
    assert conversation.system_prompt == ""


def test_a_system_prompt_that_leaves_no_room_says_so(
    pages: Pages, conversation: Conversation, small: ModelProfile
) -> None:
    Conversation.objects.update(system_prompt="word " * 2_000, model=small)
    assert "the system prompt alone takes" in panel(pages, conversation)


def test_what_is_being_written_is_counted(pages: Pages, conversation: Conversation) -> None:
    response = pages.post("count", system_prompt="Be brief.")
    assert response.content.decode().strip() == f"<b>{count_tokens('Be brief.')}</b> tokens"
    assert pages.post("count", system_prompt="x" * 50_001).status_code == 400
    assert Client().post("/settings/count", {"system_prompt": "x"}).status_code == 302


def test_the_panel_takes_the_same_queries_however_long_the_conversation_is(
    pages: Pages, conversation: Conversation, django_assert_max_num_queries: Any
) -> None:
    def asked() -> int:
        with django_assert_max_num_queries(25) as queries:
            panel(pages, conversation)
        return len(queries)

    fill(conversation, 2)
    few = asked()
    Message.objects.all().delete()
    fill(conversation, 60)
    assert asked() == few
