"""An administrator connects a model by a preset, an address, a key and a name; it is asked before it is saved."""

from __future__ import annotations

from typing import Any

import pytest

from conversations.llm.presets import PRESETS
from conversations.models import ModelProfile, User
from tests import llm_windows
from tests.conversations.pages import Pages
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once


@pytest.fixture
def admin(transactional_db: None) -> Pages:
    return Pages(User.objects.create_superuser("root"))


def form(llm: LlmServer, **changed: Any) -> dict[str, Any]:
    return {
        "preset": "other",
        "address": llm.url,
        "key": "sk-secret",
        "model_id": "scripted",
        "called": "Mine",
    } | changed


@pytest.mark.parametrize("preset", [preset.id for preset in PRESETS])
def test_each_preset_has_a_form(admin: Pages, preset: str) -> None:
    html = admin.get("connect_model", preset=preset).content.decode()
    assert html.count('aria-current="true"') == 1 and 'name="model_id"' in html


def test_a_model_that_answers_is_saved_and_asked_for_its_window(admin: Pages, llm: LlmServer) -> None:
    llm.facts = llm_windows.ollama("scripted", loaded=12_000)
    response = admin.post("save_model", **form(llm))
    assert response.headers["HX-Redirect"] == "/"
    profile = ModelProfile.objects.get()
    assert (profile.name, profile.model_id, profile.base_url, profile.api_key) == (
        "Mine",
        "scripted",
        llm.url,
        "sk-secret",
    )
    assert (profile.window, profile.window_source, profile.enabled, profile.role) == (12_000, "asked", True, "chat")
    assert "Mine is connected" in admin.get("home").content.decode()


def test_one_that_does_not_answer_says_why_and_is_saved_only_if_told(admin: Pages, llm: LlmServer) -> None:
    llm.enqueue(status=401, message="Incorrect API key provided: sk-secret", times=2)
    response = admin.post("save_model", **form(llm))
    html = response.content.decode()
    assert response.status_code == 200 and "Save it all the same" in html and "sk-secret" not in html
    assert not ModelProfile.objects.exists()
    admin.post("save_model", **form(llm, anyway="1"))
    assert ModelProfile.objects.get().name == "Mine"
    assert "sk-secret" not in admin.get("home").content.decode()


def test_the_server_s_models_are_offered(admin: Pages, llm: LlmServer) -> None:
    llm.models = ["qwen3:8b", 'a "quoted" <model>']
    html = admin.post("list_models", **form(llm)).content.decode()
    assert '<option value="qwen3:8b">' in html and "&lt;model&gt;" in html
    nobody = admin.post("list_models", **form(llm, address="http://127.0.0.1:9/v1")).content.decode()
    assert "The server lists no models" in nobody


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"preset": "nothing"}, "here is no such preset"),
        ({"address": ""}, "Address: is required"),
        ({"address": "file:///etc/passwd"}, "Address: Enter an address"),
        ({"model_id": " "}, "Model: "),
        ({"model_id": "m" * 201}, "200"),
        ({"called": "n" * 101}, "Name: "),
    ],
)
def test_a_wrong_field_is_named(admin: Pages, llm: LlmServer, changed: dict[str, str], said: str) -> None:
    response = admin.post("save_model", **form(llm, **changed))
    assert response.status_code == 400 and said in response.content.decode()
    assert not ModelProfile.objects.exists() and not llm.chats


def test_a_name_that_is_taken_is_refused(admin: Pages, llm: LlmServer) -> None:
    ModelProfile.objects.create(name="Mine", model_id="x")
    assert (
        "Name: There is a model of this name already. Enter another name."
        in admin.post("save_model", **form(llm)).content.decode()
    )


@pytest.mark.parametrize("is_staff", [False, True])
def test_nobody_else_connects_models(admin: Pages, llm: LlmServer, is_staff: bool) -> None:
    eve = Pages(User.objects.create_user("eve", is_staff=is_staff))
    assert eve.get("connect_model").status_code == 404
    assert [eve.post(name, **form(llm)).status_code for name in ("list_models", "save_model")] == [404, 404]
    assert not ModelProfile.objects.exists()
