"""A setting of compression stands in one table: checks, validation, form, API and docs have all that it has."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site
from pydantic import ValidationError

from compression import conf
from compression.core.plan.policy import PRESETS, STRATEGIES, Policy
from compression.policy_fields import BY_NAME, FIELDS, OF_EXECUTORS, PolicyField
from conversations.api.schemas.policies import PolicySettings
from conversations.errors import Invalid
from conversations.models import Conversation
from conversations.page.forms import PERCENT_FIELDS, PolicyForm
from conversations.validation import POLICY, clean_policy

SETTINGS = Path(__file__).parents[3] / "docs" / "settings.md"
NAMES = [field.name for field in FIELDS]
NUMBERS = [field for field in FIELDS if field.kind in ("whole", "share", "level")]


@pytest.fixture
def agent(conversation: Conversation) -> Conversation:
    conversation.kind = Conversation.Kind.AGENT
    return conversation


@pytest.mark.django_db
def test_every_setting_is_everywhere(agent: Conversation) -> None:
    assert list(POLICY) == list(PolicyForm(agent).fields) == list(PolicySettings.model_fields) == NAMES
    table = SETTINGS.read_text().partition("| `enabled`, `ahead`, `strategy`")
    rows = (table[0].rpartition("\n\n")[2] + table[1] + table[2].partition("\n\n")[0]).splitlines()
    told = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    assert set(NAMES) <= told, "docs/settings.md names each"


def test_the_engine_knows_each_and_the_table_all_that_a_conversation_may_set() -> None:
    own = {name.removeprefix(OF_EXECUTORS) for name in NAMES} - {"preset"}
    assert {field.name for field in fields(Policy)} - own == {"min_retention"}
    assert own <= {field.name for field in fields(Policy)}
    assert tuple(BY_NAME["preset"].choices) == tuple(PRESETS) and tuple(BY_NAME["strategy"].choices) == STRATEGIES


@pytest.mark.parametrize("setting", [field for field in FIELDS if field.setting], ids=lambda field: field.name)
def test_the_site_s_own_value_is_checked_by_the_same_bounds(setting: PolicyField, settings: Any) -> None:
    assert hasattr(site, setting.setting)
    if setting.high:
        setattr(settings, setting.setting, setting.high + 1)
        assert any(setting.setting in fault.msg for fault in conf.check_settings())


def allowed_by_form(agent: Conversation, field: PolicyField, value: float) -> bool:
    shown = f"{100 * value:g}" if field.name in PERCENT_FIELDS else f"{value:g}" if value < 1e6 else str(int(value))
    return PolicyForm(agent, {field.name: shown}).is_valid()


def allowed_by_api(field: PolicyField, value: float) -> bool:
    try:
        PolicySettings(**{field.name: value})
    except ValidationError:
        return False
    return True


def allowed_in_file(field: PolicyField, value: float) -> bool:
    try:
        clean_policy("policy", {field.name: value})
    except Invalid:
        return False
    return True


@pytest.mark.django_db
@pytest.mark.parametrize("field", NUMBERS, ids=lambda field: field.name)
def test_form_api_and_files_allow_the_same_numbers(agent: Conversation, field: PolicyField) -> None:
    step = 0.01 if field.kind == "share" else 1
    for value, is_good in (
        (field.low, True), (field.high, True), (field.low - step, False), (field.high + step, False),
    ):  # fmt: skip
        answers = allowed_in_file(field, value), allowed_by_api(field, value)
        assert answers == (is_good, is_good), value
        if value >= 0 and not field.choices:
            assert allowed_by_form(agent, field, value) == is_good
