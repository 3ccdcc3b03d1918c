"""A model is found by its name alike, whatever way the name comes in."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conversations.context.policy import checked_policy
from conversations.errors import Refused
from conversations.exchange import exports, imports
from conversations.gateway.request import model_of
from conversations.instructions import conversation_settings
from conversations.llm.profiles import chat_profiles, enabled, named
from conversations.models import Conversation, ModelProfile, User

ROOT = Path(__file__).parents[3]


def by_policy(name: str, user: User) -> ModelProfile | None:
    return named(checked_policy({"summariser": name})["summariser"])


def by_import(name: str, user: User) -> ModelProfile | None:
    row = Conversation.objects.create(owner=user, title="Ports")
    row.messages.create(role="user", content="Hello", created_at=row.created_at)
    document: dict[str, Any] = exports.as_json(row)
    document["conversation"]["model"] = name
    return imports.import_conversations(user, json.dumps(document).encode()).conversations[0].model


WAYS: dict[str, Callable[[str, User], ModelProfile | None]] = {
    "API": lambda name, user: conversation_settings.named_profile(user, name),
    "gateway": lambda name, user: model_of(name, user.pk),
    "import": by_import,
    "policy": by_policy,
}


@pytest.mark.django_db
@pytest.mark.parametrize("way", WAYS)
def test_only_enabled_models_are_found(user: User, profile: ModelProfile, way: str) -> None:
    off = ModelProfile.objects.create(name="retired", model_id="retired-1", window=8_192, enabled=False)
    assert WAYS[way](profile.name, user) == profile
    try:
        found = WAYS[way](off.name, user)
    except Refused:
        return
    assert way == "import" and found == profile, "an import falls back to the default"


@pytest.mark.django_db
def test_a_model_for_summaries_is_none_to_talk_to(user: User, profile: ModelProfile) -> None:
    fast = ModelProfile.objects.create(name="quick", model_id="q", window=8_192, role=ModelProfile.Role.FAST)
    assert named("quick") == fast and named("quick", chat_profiles(user.pk)) is None
    assert list(enabled()) == [profile, fast] and named("") is None


@pytest.mark.once
def test_no_other_module_asks_which_models_are_enabled() -> None:
    asked = {
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "conversations").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "ModelProfile.objects.filter"
        and {"enabled", "name"} & {keyword.arg for keyword in node.keywords}
    }
    assert asked == {"conversations/llm/profiles.py"}
