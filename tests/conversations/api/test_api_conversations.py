from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from conversations.models import Conversation, ModelProfile, User
from conversations.runtime.events import hub
from tests.conversations.api_client import Api, refused

ALL = "/api/conversations"


@pytest.fixture
def api(user: User) -> Api:
    return Api(user)


@pytest.fixture
def gpt(transactional_db: None) -> ModelProfile:
    return ModelProfile.objects.create(name="gpt", model_id="gpt", base_url="http://127.0.0.1:9/v1")


def make(user: User, count: int) -> list[Conversation]:
    """Some of the same moment, so that only their ids tell them apart."""
    now = timezone.now()
    return [
        Conversation.objects.create(owner=user, title=f"Chat {n}", updated_at=now - timedelta(minutes=n // 2))
        for n in range(count)
    ]


def test_a_new_conversation_takes_what_is_given_and_the_default_model(api: Api, user: User, gpt: ModelProfile) -> None:
    fields = {"title": "Ports", "mode": "developer", "system_prompt": "Be brief.", "policy": {"threshold": 0.7}}
    response = api.post(ALL, fields)

    assert response.status_code == 201
    told = response.json()
    assert {name: told[name] for name in fields} == fields
    assert told["model"] == "gpt"
    assert Conversation.objects.get(pk=told["id"]).owner == user
    assert api.get(f"{ALL}/{told['id']}").json() == told


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"title": "t" * 201}, "title"),
        ({"title": None}, "title"),
        ({"system_prompt": "x" * 50_001}, "system_prompt"),
        ({"mode": "poet"}, "mode"),
        ({"model": "unknown"}, "model"),
        ({"model": "switched off"}, "model"),
        ({"model": "summaries"}, "model"),
        ({"policy": {"threshold": 0.99}}, "policy.threshold"),
        ({"policy": {"threshold": True}}, "policy.threshold"),
        ({"policy": {"keep_recent": 1.5}}, "policy.keep_recent"),
        ({"policy": {"nonsense": 1}}, "policy.nonsense"),
        ({"policy": []}, "policy"),
        ({"compressed_context": "forged"}, "compressed_context"),
        ({"owner": 1}, "owner"),
    ],
)
def test_a_field_out_of_range_is_named_and_nothing_is_stored(api: Api, fields: dict[str, Any], place: str) -> None:
    ModelProfile.objects.create(name="switched off", model_id="x", enabled=False)
    ModelProfile.objects.create(name="summaries", model_id="x", role="fast")
    row = Conversation.objects.create(owner=User.objects.get(), title="Ports")
    assert refused(api.post(ALL, fields), 400, "invalid")["field"] == place
    assert refused(api.patch(f"{ALL}/{row.pk}", fields), 400, "invalid")["field"] == place
    assert list(Conversation.objects.values_list("title", "mode", "policy")) == [("Ports", "assistant", {})]


def test_a_change_leaves_everything_else_as_it_is(api: Api, user: User, gpt: ModelProfile) -> None:
    row = Conversation.objects.create(owner=user, title="Ports", mode="developer", policy={"threshold": 0.7})
    told = api.patch(f"{ALL}/{row.pk}", {"pinned": True, "archived": True, "model": "gpt"}).json()
    assert (told["pinned"], told["archived"], told["model"]) == (True, True, "gpt")
    assert (told["title"], told["mode"], told["policy"]) == ("Ports", "developer", {"threshold": 0.7})
    assert told == api.get(f"{ALL}/{row.pk}").json()
    assert api.patch(f"{ALL}/{row.pk}", {}).json() == told
    assert api.patch(f"{ALL}/{row.pk}", {"title": ""}).json()["title"] == ""


async def test_a_new_title_is_told_to_who_has_the_conversation_open(api: Api, user: User) -> None:
    row = await Conversation.objects.acreate(owner=user, title="Ports")
    with hub.listen(row.pk) as listener:
        await sync_to_async(api.patch)(f"{ALL}/{row.pk}", {"title": "Hosts"})
        async with asyncio.timeout(5):
            event = await listener.queue.get()
    assert (event.type, event.data) == ("title.updated", {"title": "Hosts"})


def test_deleting_takes_messages_along_even_replaced_ones(api: Api, user: User) -> None:
    row = Conversation.objects.create(owner=user)
    new = row.messages.create(role="user", content="b", created_at=timezone.now())
    row.messages.create(role="user", content="a", created_at=new.created_at - timedelta(seconds=1), replaced_by=new)
    response = api.send("DELETE", f"{ALL}/{row.pk}", b"")
    assert (response.status_code, response.content) == (204, b"")
    refused(api.get(f"{ALL}/{row.pk}"), 404, "not_found")


@pytest.mark.once
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("conversations/{nobody}", "conversation"),
        ("conversations/{nobody}/messages", "conversation"),
        ("conversations/{id}/attachments/{nobody}", "attachment"),
        ("conversations/{id}/runs/{nobody}", "agent run"),
        ("context/{nobody}/compactions", "conversation"),
        ("tasks/{nobody}/progress", "task"),
        ("projects/{nobody}", "project"),
    ],
)
def test_what_is_missing_is_named(api: Api, user: User, path: str, kind: str) -> None:
    row = Conversation.objects.create(owner=user)
    response = api.get(f"/api/{path.format(id=row.pk, nobody='00000000-0000-7000-8000-000000000000')}")
    assert (response.status_code, response.json()["error"]["message"]) == (
        404,
        f"There is no such {kind}, or it is another person's.",
    )


def test_pages_hold_every_conversation_once_the_latest_first(api: Api, user: User) -> None:
    rows = make(user, 7)
    seen: list[str] = []
    cursor = None
    while True:
        page = api.get(ALL, limit=2, **({"cursor": cursor} if cursor else {})).json()
        seen += [item["id"] for item in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
        assert len(page["items"]) == 2
    rows.sort(key=lambda row: (row.updated_at, row.pk), reverse=True)
    assert seen == [str(row.pk) for row in rows]


def test_a_full_last_page_has_no_next(api: Api, user: User) -> None:
    make(user, 2)
    assert api.get(ALL, limit=2).json()["next"] is None


def test_q_finds_a_part_of_the_title(api: Api, user: User) -> None:
    make(user, 3)
    assert [item["title"] for item in api.get(ALL, q="chat 2").json()["items"]] == ["Chat 2"]
    assert api.get(ALL, q="%").json()["items"] == []
    assert refused(api.get(ALL, q="a\0"), 400, "invalid")["field"] == "q"


def test_a_list_takes_the_same_queries_whatever_its_length(
    api: Api, user: User, django_assert_num_queries: Any
) -> None:
    api.get(ALL)
    profile = ModelProfile.objects.create(name="gpt", model_id="gpt")
    make(user, 30)
    Conversation.objects.update(model=profile)
    with django_assert_num_queries(2):
        assert len(api.get(ALL, limit=200).json()["items"]) == 30
