"""Builds the engine's policy from the settings, checks the settings, and loads the prompt templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.core.checks import CheckMessage, Error, register

from compression.core.plan.policy import PRESETS, STRATEGIES, Policy
from compression.defaults import setting
from compression.models import PromptTemplate
from compression.policy_fields import FIELDS

SUMMARY_ROLES = ("system", "user", "assistant")
EXECUTOR_PREFIX = "executor_"
"""The prefix of a conversation's policy values that apply to its executors."""
SHARED_WITH_EXECUTORS = ("enabled", "summariser")
"""A conversation's policy values that apply to its executors too."""


def policy(overrides: Mapping[str, Any] | None = None, *, flow: str = "chat") -> Policy:
    """The policy of a conversation: defaults, overridden by the settings, the flow's preset and `overrides`, in order.

    `overrides` may name the `preset` of another flow.
    """
    own = {name: value for name, value in (overrides or {}).items() if not name.startswith(EXECUTOR_PREFIX)}
    site = {field.name: setting(field.setting) for field in FIELDS if field.setting}
    settled = Policy(min_retention=setting("COMPRESSION_MIN_RETENTION"), **site)
    return replace(settled, **PRESETS[own.pop("preset", flow)] | own)


def executor_policy(overrides: Mapping[str, Any]) -> Policy:
    """The policy of the executors in an agent's conversation with these overrides.

    Only the conversation's values in SHARED_WITH_EXECUTORS and those with EXECUTOR_PREFIX apply.
    """
    shared = {name: value for name, value in overrides.items() if name in SHARED_WITH_EXECUTORS}
    budget = {
        name.removeprefix(EXECUTOR_PREFIX): value
        for name, value in overrides.items()
        if name.startswith(EXECUTOR_PREFIX)
    }
    return policy(shared | budget, flow="executor").without_model


def template(mode: str) -> str:
    """The prompt template for summaries: the administrator's for the mode, else theirs for all modes, else ours."""
    texts = PromptTemplate.objects.filter(mode__in=(mode, "")).order_by("-mode").values_list("text", flat=True)
    return texts.first() or usual_template()


def template_digest(text: str) -> str:
    """The first 8 digits of the SHA-256 of a template, which tell prompts apart in figures."""
    return sha256(text.encode()).hexdigest()[:8]


@cache
def usual_template() -> str:
    """The prompt template that comes with the engine."""
    return (Path(__file__).parent / "instructions" / "summary.txt").read_text(encoding="utf-8")


RANGES = {
    **{field.setting: (field.low, field.high) for field in FIELDS if field.setting and field.high},
    "COMPRESSION_MIN_RETENTION": (0, 1),
    "COMPRESSION_PARTS_AT_ONCE": (1, 16),
    "COMPACTION_LOG_DAYS": (1, 36_500),
    "TOOL_RESULT_MAX_CHARS": (100, 1_000_000),
}


@register
def check_settings(**_: Any) -> list[CheckMessage]:
    """Check the values of the settings; an error names its setting and prevents the start."""
    errors: list[CheckMessage] = [
        Error(f"{name} must be from {low} to {high}, not {setting(name)}.", id="compression.E001")
        for name, (low, high) in RANGES.items()
        if setting(name) is not None and not low <= setting(name) <= high
    ]
    if setting("COMPRESSION_SUMMARY_ROLE") not in SUMMARY_ROLES:
        errors.append(
            Error(f"COMPRESSION_SUMMARY_ROLE must be one of {', '.join(SUMMARY_ROLES)}.", id="compression.E002")
        )
    if setting("COMPRESSION_STRATEGY") not in STRATEGIES:
        errors.append(Error(f"COMPRESSION_STRATEGY must be one of {', '.join(STRATEGIES)}.", id="compression.E003"))
    return errors
