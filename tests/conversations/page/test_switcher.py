"""The list of models in a chat's head: what it shows, what it changes, and whose it is."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from conversations.models import Conversation, Message, ModelProfile, User
from conversations.preferences import preference_of
from tests.conversations.pages import Pages


@pytest.fixture
def small(conversation: Conversation) -> ModelProfile:
    return ModelProfile.objects.create(
        name="tiny & <b>quick</b>",
        model_id="s",
        base_url="http://127.0.0.1:9/v1",
        window=1_000,
        calls_tools=True,
        is_local=True,
    )


def said(conversation: Conversation, role: str, content: str, *, number: int = 0, **fields: Any) -> None:
    at = timezone.now() + timedelta(microseconds=number)
    Message.objects.create(conversation=conversation, role=role, content=content, created_at=at, **fields)


def row(html: str, name: str) -> str:
    """The part of the list that is about one model."""
    return next(part for part in html.split('<div class="row"')[1:] if name in part)


def test_each_model_is_listed_with_what_it_can_its_window_and_its_price(
    user: User, conversation: Conversation, small: ModelProfile
) -> None:
    ModelProfile.objects.create(
        name="seer", model_id="x", provider="anthropic", window=200_000, sees_images=True, effort="high",
        price_input=Decimal(3), price_output=Decimal("0.5"),
    )  # fmt: skip
    ModelProfile.objects.create(name="off", model_id="x", enabled=False)
    html = Pages(user).get("switcher", conversation.pk).content.decode()
    seer, quick = row(html, "seer"), row(html, "tiny")
    assert 'data-abilities="sees reasons"' in seer
    assert "200k" in seer and "$3.00 / $0.50" in seer and "Anthropic" in seer
    assert "tiny &amp; &lt;b&gt;quick&lt;/b&gt;" in quick
    assert "tools" in quick and "Free" in quick
    assert ">off<" not in html
    assert html.count('aria-current="true"') == 1


def test_a_smaller_window_says_that_the_chat_is_compacted_first(
    user: User, conversation: Conversation, small: ModelProfile
) -> None:
    assert ">compacts" not in row(Pages(user).get("switcher", conversation.pk).content.decode(), "tiny")
    for number in range(6):
        said(conversation, "user", "words " * 200, token_count=204, number=number)
    html = Pages(user).get("switcher", conversation.pk).content.decode()
    assert ">compacts" in row(html, "tiny")
    assert html.count(">compacts") == 1


def test_a_choice_is_kept_at_once(user: User, conversation: Conversation, small: ModelProfile) -> None:
    pages = Pages(user)
    html = pages.post("switch", conversation.pk, model=small.pk).content.decode()
    conversation.refresh_from_db()
    assert conversation.model == small
    assert "data-chosen" in html
    html = pages.post("switch", conversation.pk, effort="high").content.decode()
    conversation.refresh_from_db()
    assert (conversation.effort, conversation.model) == ("high", small)
    assert "data-chosen" not in html, "the list stays open while the effort is chosen"


@pytest.mark.parametrize("posted", [{"model": "999"}, {"model": "x"}, {"model": ""}, {"effort": "huge"}, {}])
def test_what_cannot_be_chosen_is_refused_within_the_list(
    user: User, conversation: Conversation, posted: dict[str, str]
) -> None:
    before = (conversation.model_id, conversation.effort)
    response = Pages(user).post("switch", conversation.pk, **posted)
    assert response.status_code == 400
    assert 'role="alert"' in response.content.decode()
    conversation.refresh_from_db()
    assert (conversation.model_id, conversation.effort) == before


def test_a_model_is_not_switched_while_it_writes(user: User, conversation: Conversation, small: ModelProfile) -> None:
    said(conversation, "assistant", "", status="streaming")
    response = Pages(user).post("switch", conversation.pk, model=small.pk)
    assert response.status_code == 409
    assert 'role="alert"' in response.content.decode()


def test_favourites_stand_first_and_are_a_persons_own(
    user: User, conversation: Conversation, small: ModelProfile
) -> None:
    pages, bob = Pages(user), User.objects.create_user("bob")
    html = pages.post("favourite", conversation.pk, model=small.pk).content.decode()
    assert html.index("Favourites") < html.index("tiny &amp;") < html.index("All models")
    assert preference_of(user).favourite_models == [small.pk]
    assert preference_of(bob).favourite_models == []
    html = pages.post("favourite", conversation.pk, model=small.pk).content.decode()
    assert "Favourites" not in html
    small.delete()
    assert pages.get("switcher", conversation.pk).status_code == 200


def test_the_list_of_anothers_chat_is_nobodys(user: User, conversation: Conversation, small: ModelProfile) -> None:
    other = Pages(User.objects.create_user("bob"))
    assert other.get("switcher", conversation.pk).status_code == 404
    assert other.post("switch", conversation.pk, model=small.pk).status_code == 404
    assert other.post("favourite", conversation.pk, model=small.pk).status_code == 404


def test_the_list_takes_the_same_queries_however_many_models_there_are(
    user: User, conversation: Conversation, small: ModelProfile
) -> None:
    pages, counts = Pages(user), []
    for number in range(40):
        if number in (0, 39):
            with CaptureQueriesContext(connection) as ran:
                pages.get("switcher", conversation.pk)
            counts.append(len(ran))
        ModelProfile.objects.create(name=f"m{number}", model_id="x", window=4_000 + number)
    assert counts[0] == counts[1] <= 14
