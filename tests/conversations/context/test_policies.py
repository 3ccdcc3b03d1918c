from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from compression import conf
from conversations.context.policy import checked_policy
from conversations.errors import Invalid
from conversations.instructions.conversation_settings import change
from conversations.models import Conversation, ModelProfile
from conversations.runtime.events import hub
from conversations.validation import clean_policy

pytestmark = pytest.mark.once

HEADINGS = "## Summary\n## Decisions\n## Files\n## State\n## Context"


def test_a_policy_is_put_in_force_without_what_is_null(conversation: Conversation) -> None:
    stale = Conversation.objects.get()
    stale.title = "Not to be saved"
    change(stale, policy={"threshold": 0.7, "level": None, "cooldown": None, "summariser": "extractive"})
    conversation.refresh_from_db()
    assert conversation.policy == {"threshold": 0.7, "summariser": "extractive"}
    assert conversation.title == ""
    change(conversation, policy={})
    assert Conversation.objects.get().policy == {}


def test_a_refused_policy_leaves_the_old_one(conversation: Conversation) -> None:
    change(conversation, policy={"keep_recent": 2})
    with pytest.raises(Invalid):
        change(conversation, policy={"keep_recent": 2_000})
    assert conversation.policy == Conversation.objects.get().policy == {"keep_recent": 2}


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        ([], "policy"),
        (None, "policy"),
        ({"nonsense": None}, "policy.nonsense"),
        ({"summariser": "nobody"}, "policy.summariser"),
        ({"summariser": "resting"}, "policy.summariser"),
        ({"summariser": 7}, "policy.summariser"),
        ({"prompt": "Summarise."}, "policy.prompt"),
        ({"prompt": f"$everything\n{HEADINGS}"}, "policy.prompt"),
        ({"prompt": f"{HEADINGS}\n".ljust(20_001)}, "policy.prompt"),
        ({"prompt": f"{HEADINGS}\0"}, "policy.prompt"),
        ({"target_ratio": 0.8}, "policy.target_ratio"),
        ({"target_ratio": 0.6, "threshold": 0.6}, "policy.target_ratio"),
    ],
)
def test_what_cannot_hold_is_refused_by_name(profile: ModelProfile, policy: Any, field: str) -> None:
    ModelProfile.objects.create(name="resting", model_id="x", enabled=False)
    with pytest.raises(Invalid) as refused:
        checked_policy(policy)
    assert refused.value.detail["field"] == field
    assert refused.value.message.startswith(f"{field}: ")


@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"summariser": "scripted"},
        {"summariser": ""},
        {"prompt": HEADINGS, "preset": "planner"},
        {"prompt": ""},
        {"target_ratio": 0.7},
        {"target_ratio": 0.85, "threshold": 0.9},
        {"threshold": 0.5},
    ],
)
def test_what_can_hold_is_taken_as_it_is(profile: ModelProfile, policy: dict[str, Any]) -> None:
    assert checked_policy(policy) == policy
    assert conf.policy(policy)


def test_the_target_is_measured_by_the_threshold_of_the_settings(transactional_db: None, settings: Any) -> None:
    settings.COMPRESSION_THRESHOLD = 0.6
    with pytest.raises(Invalid, match=r"policy\.target_ratio: must be below the threshold, which is 0\.6"):
        checked_policy({"target_ratio": 0.7})


def test_the_pure_check_asks_neither_settings_nor_rows() -> None:
    policy = {"summariser": "nobody here", "target_ratio": 0.9}
    assert clean_policy("policy", policy) == policy
    with pytest.raises(Invalid, match=r"^policy\.prompt: lacks ## Decisions, ## Files, ## State, ## Context\.$"):
        clean_policy("policy", {"prompt": "## Summary"})


async def test_those_who_listen_are_told_how_full_the_window_is_now(conversation: Conversation) -> None:
    with hub.listen(conversation.pk) as listener:
        await sync_to_async(change)(conversation, policy={"threshold": 0.6})
        event = await listener.queue.get()
    assert event.type == "usage.updated"
