"""The policy of a conversation, as a person fills it in."""

from __future__ import annotations

from typing import Any

import pytest

from conversations.models import Conversation, ModelProfile, User
from conversations.page.forms import PolicyForm
from conversations.validation import POLICY
from tests.conversations.pages import Pages, elements

pytestmark = pytest.mark.once


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


def fields(response: Any) -> dict[str, str]:
    """What the policy's inputs hold, and what they held at first."""
    found, held, select = elements(response).found, {}, ""
    for tag, attributes in found:
        if "name" in attributes:
            held[select := attributes["name"]] = attributes.get("value", "")
        elif tag == "option" and "selected" in attributes:
            held[select] = attributes["value"]
    return held


def test_only_what_is_filled_in_is_the_conversations_own_policy(pages: Pages, conversation: Conversation) -> None:
    form = {
        "preset": "planner", "enabled": "true", "strategy": "rolling", "threshold": "82.5 %", "target_ratio": "40",
        "target_tokens": "2,000", "keep_recent": "6", "keep_user_tokens": "ALL", "min_messages": "", "cooldown": "0",
        "summary_max_tokens": "", "level": "2", "summariser": "extractive", "prompt": "",
    }  # fmt: skip
    for name, typed in form.items():
        response = pages.post("policy", conversation.pk, **{name: typed})
        assert response.status_code == 200 and b"Saved." in response.content
    conversation.refresh_from_db()
    assert conversation.policy == {
        "preset": "planner", "enabled": True, "strategy": "rolling", "threshold": 0.825, "target_ratio": 0.4,
        "target_tokens": 2000, "keep_recent": 6, "keep_user_tokens": "all", "cooldown": 0, "level": 2,
        "summariser": "extractive",
    }  # fmt: skip
    shown = fields(pages.get("context", conversation.pk, htmx=True))
    assert (shown["threshold"], shown["target_ratio"], shown["keep_user_tokens"]) == ("82.5", "40", "all")
    for name in form:
        pages.post("policy", conversation.pk, **{f"initial-{name}": shown[f"initial-{name}"], name: ""})
    conversation.refresh_from_db()
    assert conversation.policy == {}


def test_what_another_tab_saved_meanwhile_stays(pages: Pages, conversation: Conversation) -> None:
    Conversation.objects.update(policy={"threshold": 0.7, "cooldown": 30, "level": 2})
    one, other = (fields(pages.get("context", conversation.pk, htmx=True)) for _ in range(2))
    for held, changed in ((one, {"threshold": "60", "keep_recent": "8", "level": ""}), (other, {"cooldown": "45"})):
        for name, typed in changed.items():
            pages.post("policy", conversation.pk, **{f"initial-{name}": held[f"initial-{name}"], name: typed})
    conversation.refresh_from_db()
    assert conversation.policy == {"threshold": 0.6, "cooldown": 45, "keep_recent": 8}


def test_an_empty_field_tells_what_holds_then(pages: Pages, conversation: Conversation, settings: Any) -> None:
    settings.COMPRESSION_THRESHOLD = 0.7
    page = elements(pages.get("context", conversation.pk, htmx=True))
    assert page.by_id("policy-threshold")["placeholder"] == "70"
    assert page.by_id("policy-keep_recent")["placeholder"] == "4"
    pages.post("policy", conversation.pk, preset="executor")
    assert elements(pages.get("context", conversation.pk, htmx=True)).by_id("policy-summary_max_tokens")[
        "placeholder"
    ] == ("100")


@pytest.mark.parametrize(
    ("name", "value", "limits"),
    [
        ("threshold", "99", "50 % to 95 %"),
        ("threshold", "12,5", "50 % to 95 %"),
        ("target_ratio", "eighty", "10 % to 95 %"),
        ("target_ratio", "90", "below the threshold, which is 80 %"),
        ("keep_recent", "101", "0 to 100"),
        ("keep_recent", "2.5", "whole number"),
        ("keep_user_tokens", "some", "&quot;all&quot;"),
        ("min_messages", "0", "1 to 1,000"),
        ("target_tokens", "199", "200 to"),
        ("cooldown", "-1", "0 to 86,400"),
        ("summary_max_tokens", "99", "100 to 4,000"),
        ("strategy", "magic", "one of checkpoints"),
        ("preset", "magic", "one of chat"),
        ("enabled", "maybe", "true or false"),
        ("level", "4", "1 to 3"),
        ("summariser", "gpt-none", "There is no model called"),
        ("prompt", "Summarise.", "## Summary"),
    ],
)
def test_a_wrong_setting_names_its_limit_and_keeps_what_was_typed(
    pages: Pages, conversation: Conversation, name: str, value: str, limits: str
) -> None:
    response = pages.post("policy", conversation.pk, **{name: value})
    assert response.status_code == 400 and response.headers["HX-Retarget"] == f"#setting-{name}"
    complaint = response.content.decode().partition(f'id="policy-{name}_error"')[2].partition("</p>")[0]
    assert limits in complaint
    assert elements(response).by_id(f"policy-{name}")["aria-invalid"] == "true"
    assert (fields(response)[name] or "Summarise.") == value
    conversation.refresh_from_db()
    assert conversation.policy == {}


def test_a_setting_that_another_one_forbids_names_that_one(pages: Pages, conversation: Conversation) -> None:
    pages.post("policy", conversation.pk, target_ratio="70")
    response = pages.post("policy", conversation.pk, threshold="60")
    assert response.status_code == 400
    assert b"Shrink it to about: must be below the threshold, which is 60 %." in response.content
    assert pages.post("policy", conversation.pk).status_code == 400


def test_enabled_models_are_offered_and_one_that_is_gone_is_called_so(
    pages: Pages, conversation: Conversation, profile: ModelProfile
) -> None:
    ModelProfile.objects.create(name="retired", model_id="retired", enabled=False)
    Conversation.objects.update(policy={"summariser": "retired"})
    html = pages.get("context", conversation.pk, htmx=True).content.decode()
    assert '<option value="scripted">' in html and "retired (not there any more)" in html


def test_the_form_has_every_field_that_a_policy_has(conversation: Conversation) -> None:
    theirs = {"executor_history_tokens", "executor_history_messages", "executor_keep_recent"}
    assert set(PolicyForm(conversation).fields) == set(POLICY) - theirs, "a chat has no executors"
    conversation.kind = "agent"
    form = PolicyForm(conversation)
    assert set(form.fields) == set(POLICY)
    shown = {name: form.fields[name].widget.attrs["placeholder"] for name in (*theirs, "history_tokens")}
    assert shown == {
        "executor_history_tokens": "600", "executor_history_messages": "5", "executor_keep_recent": "4",
        "history_tokens": "2500",
    }  # fmt: skip
