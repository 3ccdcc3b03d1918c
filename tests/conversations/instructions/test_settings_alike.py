"""Each setting of a conversation ends the same, is checked the same and is told of the same, by page and by API."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, get_type_hints

import pytest
from asgiref.sync import sync_to_async

from conversations.api.schemas.conversations import ConversationChanges
from conversations.errors import Invalid
from conversations.instructions.conversation_settings import Changes, change
from conversations.models import Conversation, ModelProfile, User
from conversations.runtime.events import hub
from tests.conversations.api_client import Api
from tests.conversations.pages import Pages


class Setting(NamedTuple):
    """How a page sends a value, and how a program does; one that is refused, for each."""

    view: str
    form: dict[str, str]
    value: Any
    bad_form: dict[str, str] | None = None
    bad_value: Any = None


SETTINGS = {
    "title": Setting(
        "rename", {"title": " Ports \n and hosts "}, " Ports \n and hosts ", {"title": "x" * 201}, "x" * 201
    ),
    "model": Setting("model", {"model": "other"}, "other", {"model": "none"}, "none"),
    "effort": Setting("effort", {"effort": "high"}, "high", {"effort": "enormous"}, "enormous"),
    "mode": Setting("mode", {"mode": "developer"}, "developer", {"mode": "sleepy"}, "sleepy"),
    "system_prompt": Setting(
        "system_prompt", {"system_prompt": " Be brief.\r\n"}, " Be brief.\r\n", {"system_prompt": "a\0b"}, "a\0b"
    ),
    "policy": Setting(
        "policy", {"threshold": "60", "keep_recent": "4"}, {"threshold": 0.6, "keep_recent": 4},
        {"keep_recent": "2000"}, {"keep_recent": 2000},
    ),
    "rules": Setting("rules", {"rule": " Use  UTC "}, [" Use  UTC "], {"rule": "w" * 5_000}, ["w" * 5_000]),
    "uses_tools": Setting("tools", {}, False),
    "shares_memory": Setting("share_memory", {}, False),
    "pinned": Setting("pin", {"on": ""}, True),
    "archived": Setting("archive", {"on": ""}, True),
}  # fmt: skip


@pytest.fixture
def other(profile: ModelProfile) -> ModelProfile:
    return ModelProfile.objects.create(name="other", model_id="other-1", window=8_192, base_url=profile.base_url)


def test_all_settings_are_here() -> None:
    """Projects have tests of their own: `test_projects`."""
    assert {*SETTINGS, "project"} == set(get_type_hints(Changes)) == set(ConversationChanges.model_fields)


async def outcome(conversation: Conversation, name: str, act: Callable[[], Any]) -> tuple[Any, list[str], int]:
    """The value that is stored, the events that tell of it, and the status of the answer."""
    with hub.listen(conversation.pk) as listener:
        response = await sync_to_async(act)()
        await sync_to_async(conversation.refresh_from_db)()
        events = [listener.queue.get_nowait().type for _ in range(listener.queue.qsize())]
    return getattr(conversation, f"{name}_id" if name == "model" else name), events, response.status_code


@pytest.mark.parametrize("is_good", [True, False])
@pytest.mark.parametrize("name", SETTINGS)
async def test_a_setting_ends_the_same_by_page_and_by_api(
    user: User, conversation: Conversation, other: ModelProfile, name: str, is_good: bool
) -> None:
    told = SETTINGS[name]
    if not is_good and told.bad_form is None:
        return
    form, value = (told.form, told.value) if is_good else (told.bad_form or {}, told.bad_value)
    if name == "model" and is_good:
        form = {"model": str(other.pk)}
    pages, api = await sync_to_async(Pages)(user), await sync_to_async(Api)(user)
    before = {field.attname: getattr(conversation, field.attname) for field in Conversation._meta.concrete_fields}
    by_page = await outcome(conversation, name, lambda: pages.post(told.view, conversation.pk, **form))
    await Conversation.objects.filter(pk=conversation.pk).aupdate(**before)
    conversation = await Conversation.objects.aget(pk=conversation.pk)
    address = f"/api/conversations/{conversation.pk}"
    by_api = await outcome(conversation, name, lambda: api.patch(address, {name: value}))
    assert by_api == by_page
    assert by_page[2] == (200 if is_good else 400)
    was = before[f"{name}_id" if name == "model" else name]
    assert (by_page[0] != was) == is_good
    if not is_good:
        assert by_page[1] == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("title", "x" * 201), ("title", " " + "x" * 200), ("title", "a\0b"), ("mode", "sleepy"), ("mode", "")],
)
def test_a_refusal_is_one_sentence_by_page_and_by_api(
    user: User, conversation: Conversation, name: str, value: str
) -> None:
    by_page = Pages(user).post(SETTINGS[name].view, conversation.pk, **{name: value})
    shown = re.search(r"""(?:<p\s+class="complaint"[^>]*|\A<p)>([^<]+)""", by_page.content.decode())
    by_api = Api(user).patch(f"/api/conversations/{conversation.pk}", {name: value})
    made = Api(user).post("/api/conversations", {name: value})
    assert by_page.status_code == by_api.status_code == made.status_code == 400
    told = by_api.json()["error"]
    assert shown and shown[1].strip() == Invalid(told["message"], **told["detail"]).without_field
    assert made.json()["error"] == told
    assert told["detail"]["field"] == name


def test_a_title_without_words_is_refused_by_the_page_alone(user: User, conversation: Conversation) -> None:
    """The API takes an empty title for one that the first message gives."""
    change(conversation, title="Ports")
    refused = Pages(user).post("rename", conversation.pk, title=" \n")
    assert refused.status_code == 400 and b"Must not be empty." in refused.content
    address = f"/api/conversations/{conversation.pk}"
    assert Api(user).patch(address, {"title": " \n"}).json()["title"] == ""


def test_the_apis_modes_are_those_of_conversations() -> None:
    described = ConversationChanges.model_json_schema()["properties"]["mode"]
    assert described["enum"] == Conversation.Mode.values


@pytest.mark.parametrize("mode", [5, None, ["developer"]])
def test_a_mode_of_another_type_is_refused_as_any_unknown_one(
    user: User, conversation: Conversation, mode: Any
) -> None:
    refused = Api(user).patch(f"/api/conversations/{conversation.pk}", {"mode": mode})
    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == "mode: must be one of assistant, developer, planning, debugger."


async def test_a_refused_field_leaves_the_others_as_they_were(user: User, conversation: Conversation) -> None:
    api = await sync_to_async(Api)(user)
    address = f"/api/conversations/{conversation.pk}"
    for changes in ({"title": "New", "model": "none"}, {"pinned": True, "rules": ["Never say never"] * 60}):
        _, events, status = await outcome(conversation, "title", lambda body=changes: api.patch(address, body))
        assert (status, events) == (400, [])
        assert conversation.title != "New" and not conversation.pinned


def test_rules_without_room_are_refused_for_a_new_conversation_too(user: User, profile: ModelProfile) -> None:
    small = ModelProfile.objects.create(name="small", model_id="s", window=1_024)
    rules = [f"Rule {number}: " + "never restart anything on Fridays " * 5 for number in range(20)]
    response = Api(user).post("/api/conversations", {"model": small.name, "rules": rules})
    assert response.status_code == 400 and "take" in response.json()["error"]["message"]


def test_rules_are_measured_by_the_window_of_the_model_that_comes_with_them(
    user: User, conversation: Conversation, other: ModelProfile
) -> None:
    """Whichever of the two models the conversation leaves: 1,024 tokens have no room for what 8,192 have."""
    ModelProfile.objects.filter(pk=conversation.model_id).update(window=1_024)
    api, address, small = Api(user), f"/api/conversations/{conversation.pk}", conversation.model.name
    rules = [f"Rule {number}: " + "never restart anything on Fridays " * 5 for number in range(20)]
    assert api.patch(address, {"rules": rules, "model": "other"}).status_code == 200
    api.patch(address, {"rules": ["Use UTC"]})
    refusal = api.patch(address, {"rules": rules, "model": small})
    assert refusal.status_code == 400 and refusal.json()["error"]["detail"]["field"] == "rules"
    conversation.refresh_from_db()
    assert (conversation.model, conversation.rules) == (other, ["Use UTC"])
