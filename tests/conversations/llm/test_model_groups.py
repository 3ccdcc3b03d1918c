"""Models of groups: only their members and superusers see, choose and ask them, wherever a model is named."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import Group

from conversations.errors import Invalid, NotFound
from conversations.gateway.request import model_of, models
from conversations.instructions import conversation_settings
from conversations.llm.errors import NotConfigured
from conversations.llm.profiles import chat_profiles, default_profile, is_open_to, profile_for
from conversations.messages.replies import settle_model
from conversations.models import Conversation, ModelProfile, User
from tests.conversations.api_client import Api
from tests.conversations.pages import Pages

pytestmark = pytest.mark.django_db


@pytest.fixture
def dear(profile: ModelProfile) -> ModelProfile:
    """A second chat model, of two groups; nobody is in them yet."""
    row = ModelProfile.objects.create(
        name="dear", provider=profile.provider, base_url=profile.base_url, model_id="dear", window=8_000
    )
    row.groups.set([Group.objects.create(name="writers"), Group.objects.create(name="editors")])
    return row


def shows(pages: Pages, name: str, place: tuple[Any, ...]) -> bool:
    answer: Any = pages.get(*place, htmx=place[0] == "context")
    assert answer.status_code == 200
    return re.search(rf"\b{name}\b", answer.content.decode()) is not None


def names(user: User) -> list[str]:
    return [one.name for one in chat_profiles(user.pk)]


def test_members_of_any_of_its_groups_and_superusers_may_use_a_model(
    user: User, profile: ModelProfile, dear: ModelProfile
) -> None:
    assert names(user) == [profile.name]
    user.groups.set(Group.objects.all())
    assert names(user) == [profile.name, "dear"], "of both groups, and listed once"
    user.groups.set([])
    assert not is_open_to(dear, user.pk)
    user.is_superuser = True
    user.save()
    assert is_open_to(dear, user.pk)
    ModelProfile.objects.filter(pk=dear.pk).update(enabled=False)
    dear.refresh_from_db()
    assert not is_open_to(dear, user.pk)


def test_who_leaves_the_group_goes_on_with_their_default_model(
    user: User, profile: ModelProfile, dear: ModelProfile, conversation: Conversation
) -> None:
    user.groups.set([dear.groups.first()])
    conversation_settings.change(conversation, model=dear)
    assert profile_for(dear.pk, user.pk) == conversation_settings.profile_of(conversation) == dear
    user.groups.clear()
    assert conversation_settings.profile_of(conversation) == profile
    settle_model(conversation.pk)
    conversation.refresh_from_db()
    assert conversation.model == profile
    profile.groups.set([dear.groups.first()])
    assert default_profile(user.pk) is None
    with pytest.raises(NotConfigured):
        settle_model(conversation.pk)


def test_pages_and_programs_neither_list_it_nor_take_it(
    user: User, profile: ModelProfile, dear: ModelProfile, conversation: Conversation
) -> None:
    api, pages = Api(user), Pages(user)
    listed = api.get("/api/models").json()["items"]
    assert [one["name"] for one in listed] == [profile.name] == [one.name for one in models(user.pk)]
    for answer in (
        api.post("/api/conversations", {"model": "dear"}),
        api.patch(f"/api/conversations/{conversation.pk}", {"model": "dear"}),
        api.patch(f"/api/conversations/{conversation.pk}", {"policy": {"summariser": "dear"}}),
        api.post("/api/projects", {"name": "Ours", "model": "dear"}),
    ):
        assert answer.status_code == 400, answer.content
        assert "there is no model called" in json.dumps(answer.json())
    with pytest.raises(Invalid, match="there is no such model any more"):
        conversation_settings.chosen_profile(user, str(dear.pk))
    with pytest.raises(NotFound, match="there is no model called 'dear'"):
        model_of("dear", user.pk)
    places: list[tuple[Any, ...]] = [
        ("home",),
        ("switcher", conversation.pk),
        ("context", conversation.pk),
        ("settings",),
    ]
    assert not any(shows(pages, "dear", place) for place in places)
    user.groups.set([dear.groups.first()])
    assert model_of("dear", user.pk) == dear
    assert all(shows(pages, "dear", place) for place in places)
    assert api.post("/api/conversations", {"model": "dear"}).status_code == 201
