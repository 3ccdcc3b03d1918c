"""Compression to be seen: the meter, its notice, and the next request before it is sent."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest

from compression.core.values import Steering
from conversations.compaction import compaction
from conversations.context import transcript
from conversations.models import Conversation, Message, ModelProfile, User
from conversations.page.meter import meter
from conversations.requests import next_request
from conversations.requests.next_request import build_next_request
from conversations.templatetags.chat import money
from conversations.turns import begin
from tests.conversations.chat import START, fill
from tests.conversations.pages import Pages
from tests.llm_server import LlmServer


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


@pytest.fixture
def folded(conversation: Conversation) -> Conversation:
    """Twelve messages, one of them protected, all but the last four folded."""
    conversation.policy = {"recall": False}
    conversation.save()
    fill(conversation, 12, protected=(2,))
    compaction.request(conversation, trigger="manual", steering=Steering())
    conversation.refresh_from_db()
    assert conversation.is_compressed
    return conversation


def words_of(page: Any) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page.content.decode()).split())


def turns(conversation: Conversation, count: int, *, tokens: int) -> None:
    """So many turns of so many tokens each."""
    for number in range(2 * count):
        at = START.replace(hour=20, minute=number)
        role = "assistant" if number % 2 else "user"
        Message.objects.create(
            conversation=conversation, role=role, content="x", created_at=at, token_count=tokens // 2
        )


def test_the_next_request_is_exactly_what_the_model_then_receives(folded: Conversation, llm: LlmServer) -> None:
    told = build_next_request(folded)
    assert [part.kind for part in told.parts] == ["system", "summary", "protected", *["live"] * 4]
    assert told.messages == list(next_request.preview(folded).messages)
    assert told.usage and told.tokens == told.usage.total
    begin.begin(folded, content="And now?")
    assert told.messages == llm.chats[-1].body["messages"][:-1]


def test_its_page_shows_it_part_by_part_with_tokens_and_cost(folded: Conversation, pages: Pages) -> None:
    ModelProfile.objects.update(price_input=Decimal("2.5"))
    whole, panel = pages.get("next", folded.pk), pages.get("next", folded.pk, htmx=True)
    assert "<html" in whole.content.decode() and "<html" not in panel.content.decode()
    for page in (whole.content.decode(), panel.content.decode()):
        kinds = re.findall(r'<li class="part (\w+)">', page)
        assert kinds == ["system", "summary", "protected", *["live"] * 4]
        assert f"at most {money(build_next_request(folded).tokens * Decimal('2.5') / 1_000_000)}" in page
        links = re.findall(r"#message-([\w-]+)", page)
        assert links == [part.message_id for part in build_next_request(folded).parts if part.message_id]
    assert "checkpoint 1" in words_of(panel)


def test_anothers_next_request_is_not_found(folded: Conversation) -> None:
    stranger = Pages(User.objects.create_user("mallory"))
    assert stranger.get("next", folded.pk).status_code == 404
    assert stranger.post("later", folded.pk).status_code == 404


def test_a_conversation_without_a_model_shows_its_next_request_too(folded: Conversation, pages: Pages) -> None:
    Conversation.objects.update(model=None)
    page = pages.get("next", folded.pk)
    assert page.status_code == 200
    assert "none is connected" in words_of(page)


def test_the_meter_says_what_each_part_consists_of(folded: Conversation) -> None:
    folded.rules = ["Never on Fridays."]
    folded.mode, folded.goal_text = "developer", "# Goal\nShip it"
    folded.save()
    shown = meter(folded)
    assert shown
    assert [part.label for part in shown.parts] == [
        "System, mode, goal, 1 rule", "Summary, 1 checkpoint", "Pinned: 1 message", "Recent messages: 4"
    ]  # fmt: skip
    assert sum(part.tokens for part in shown.parts) == shown.used


def test_the_meter_foretells_the_fold_by_the_size_of_the_last_turns(conversation: Conversation) -> None:
    assert meter(conversation).turns is None  # type: ignore[union-attr]
    turns(conversation, 4, tokens=300)
    shown = meter(conversation)
    assert shown
    due = shown.window * shown.threshold / 100
    assert shown.turns == -(-(due - shown.used) // 300)
    turns_more = Message.objects.filter(conversation=conversation)
    turns_more.update(token_count=500)
    assert meter(conversation).turns == 0  # type: ignore[union-attr]
    conversation.policy = {"enabled": False}
    conversation.save()
    assert meter(conversation).turns is None  # type: ignore[union-attr]


def test_the_meter_knows_the_cost_where_the_price_of_input_is_known(conversation: Conversation) -> None:
    assert meter(conversation).cost is None  # type: ignore[union-attr]
    assert conversation.model
    conversation.model.price_input = Decimal(3)
    shown = meter(conversation)
    assert shown and shown.cost == shown.used * Decimal(3) / 1_000_000


@pytest.mark.once
@pytest.mark.parametrize(
    ("amount", "told"),
    [("0", "$0.00"), ("0.0004", "$0.0004"), ("0.000047", "$0.000047"), ("0.1", "$0.10"), ("1234.5", "$1,234.50")],
)
def test_money_is_told_with_digits_that_say_something(amount: str, told: str) -> None:
    assert money(Decimal(amount)) == told


def test_the_meter_asks_no_query_more_for_a_message(folded: Conversation, django_assert_num_queries: Any) -> None:
    assert folded.model
    before = transcript.load(folded.pk)
    for more in (0, 30):
        turns(folded, more, tokens=2)
        with django_assert_num_queries(6 if before.kept else 5):
            meter(folded)


def test_a_full_conversation_gives_notice_once_until_it_was_folded(conversation: Conversation, pages: Pages) -> None:
    said = "At 75 % its older part is compacted."  # what is kept for the reply leaves no 80 %
    turns(conversation, 4, tokens=500)
    assert said not in words_of(pages.get("chat", conversation.pk))
    turns_more = Message.objects.filter(conversation=conversation)
    turns_more.update(token_count=310)
    assert said in words_of(pages.get("chat", conversation.pk))
    answer = pages.post("later", conversation.pk)
    assert 'id="notice" hx-swap-oob="innerHTML"></div>' in answer.content.decode()
    assert said not in words_of(pages.get("chat", conversation.pk))
    Conversation.objects.update(compression_version=1)
    assert said in words_of(pages.get("chat", conversation.pk))
    Conversation.objects.update(policy={"enabled": False})
    assert said not in words_of(pages.get("chat", conversation.pk))
