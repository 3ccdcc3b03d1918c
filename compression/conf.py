"""The settings of compression as the engine takes them, checked; and the texts of its prompts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from compression.core.policy import PRESETS, STRATEGIES, Policy
from compression.models import PromptTemplate
from compression.policy_fields import FIELDS, OF_EXECUTORS

SUMMARY_ROLES = ("system", "user", "assistant")
SHARED = ("enabled", "summariser")
"""Of a conversation's own settings, those that its executors have too."""


def policy(overrides: Mapping[str, Any] | None = None, *, flow: str = "chat") -> Policy:
    """The defaults, then the settings, then what the flow wants, then what a conversation says instead.

    A conversation may also name the `preset` of another flow.
    """
    own = {name: value for name, value in (overrides or {}).items() if not name.startswith(OF_EXECUTORS)}
    site = {field.name: getattr(settings, field.setting) for field in FIELDS if field.setting}
    settled = Policy(min_retention=settings.COMPRESSION_MIN_RETENTION, **site)
    return replace(settled, **PRESETS[own.pop("preset", flow)] | own)


def executor_policy(overrides: Mapping[str, Any]) -> Policy:
    """What holds for the executors of an agent's conversation that says so much of its own.

    Whether anything is summarised, and by whom, holds for all of it; else the flow stays as it is, but for the budget
    that the conversation names for its executors.
    """
    shared = {name: value for name, value in overrides.items() if name in SHARED}
    budget = {
        name.removeprefix(OF_EXECUTORS): value for name, value in overrides.items() if name.startswith(OF_EXECUTORS)
    }
    return policy(shared | budget, flow="executor").without_model


def template(mode: str) -> str:
    """The template of a summary's prompt: the administrator's for that mode, else theirs for all, else our own."""
    texts = PromptTemplate.objects.filter(mode__in=(mode, "")).order_by("-mode").values_list("text", flat=True)
    return texts.first() or usual_template()


@cache
def usual_template() -> str:
    """The one that comes with the engine."""
    return (Path(__file__).parent / "instructions" / "summary.txt").read_text(encoding="utf-8")


RANGES = {
    **{field.setting: (field.low, field.high) for field in FIELDS if field.setting and field.high},
    "COMPRESSION_MIN_RETENTION": (0, 1),
    "COMPACTION_LOG_DAYS": (1, 36_500),
    "TOOL_RESULT_MAX_CHARS": (100, 1_000_000),
}


@register
def check_settings(**_: Any) -> list[CheckMessage]:
    """What a value may be: a wrong one stops the start and names its setting."""
    found: list[CheckMessage] = [
        Error(f"{name} must be from {low} to {high}, not {getattr(settings, name)}.", id="compression.E001")
        for name, (low, high) in RANGES.items()
        if getattr(settings, name) is not None and not low <= getattr(settings, name) <= high
    ]
    if settings.COMPRESSION_SUMMARY_ROLE not in SUMMARY_ROLES:
        found.append(
            Error(f"COMPRESSION_SUMMARY_ROLE must be one of {', '.join(SUMMARY_ROLES)}.", id="compression.E002")
        )
    if settings.COMPRESSION_STRATEGY not in STRATEGIES:
        found.append(Error(f"COMPRESSION_STRATEGY must be one of {', '.join(STRATEGIES)}.", id="compression.E003"))
    return found
