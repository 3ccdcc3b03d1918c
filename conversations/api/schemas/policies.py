"""A conversation's own settings of compression."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from compression.core.policy import MAX_THRESHOLD, MIN_HISTORY_TOKENS, MIN_THRESHOLD
from conversations.api.schemas.fields import LooksLike
from conversations.context.policy import checked_policy
from conversations.validation import MAX_PROMPT


class PolicySettings(BaseModel):
    """What is not named, or null, is as the site has it."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"threshold": 0.7, "keep_recent": 6}})

    preset: Literal["chat", "planner", "executor"] | None = Field(
        default=None, description="What the rest starts from."
    )
    enabled: bool | None = Field(
        default=None, description="Off: where the window is full, the oldest messages are left out."
    )
    recall: bool | None = Field(
        default=None, description="Whether passages of what is condensed are quoted for each new message."
    )
    ahead: bool | None = Field(default=None, description="Whether a summary is prepared before it is needed.")
    strategy: Literal["checkpoints", "rolling", "continuation", "truncate"] | None = Field(
        default=None,
        description="A new summary each time, one folded again, one of everything, or a note without a model.",
    )
    threshold: float | None = Field(
        default=None,
        ge=MIN_THRESHOLD,
        le=MAX_THRESHOLD,
        description="Share of the window from which on it is compressed, local models too; null: 0.8, and a local "
        "model's once verbatim text fills three quarters of its room.",
    )
    keep_recent: int | None = Field(default=None, ge=0, le=100, description="Latest messages that stay word for word.")
    keep_user_tokens: Annotated[int, Field(ge=0, le=1_000_000)] | Literal["all"] | None = Field(
        default=None, description="Tokens of a person's latest condensed messages that stay word for word."
    )
    min_messages: int | None = Field(default=None, ge=1, le=1_000, description="Fewer are not worth a summary.")
    target_ratio: float | None = Field(
        default=None, ge=0.1, le=MAX_THRESHOLD, description="Share of the window to come out at; below the threshold."
    )
    target_tokens: int | None = Field(default=None, ge=200, le=10_000_000, description="The same in tokens.")
    cooldown: int | None = Field(
        default=None, ge=0, le=86_400, description="Seconds between two automatic compactions."
    )
    summary_max_tokens: int | None = Field(
        default=None, ge=100, le=4_000, description="Tokens that a summary is asked for."
    )
    level: int | None = Field(default=None, ge=1, le=3, description="3 detailed, 2 moderate, 1 compact; null: by size.")
    summariser: str | None = Field(
        default=None,
        max_length=200,
        description='Name of a model, or "extractive", which needs none; empty: by quality.',
    )
    prompt: str | None = Field(
        default=None, max_length=MAX_PROMPT, description="Template of the summary's request; empty: the usual one."
    )
    history_tokens: int | None = Field(
        default=None,
        ge=MIN_HISTORY_TOKENS,
        le=10_000_000,
        description="Tokens of history beyond which it is compressed, however large the window. An agent's planner "
        "has 2,500, a chat none.",
    )
    history_messages: int | None = Field(
        default=None,
        ge=1,
        le=1_000,
        description="Messages that such a history may have, whatever they take. An agent's planner has 10.",
    )
    executor_history_tokens: int | None = Field(
        default=None,
        ge=MIN_HISTORY_TOKENS,
        le=10_000_000,
        description="The same for what is said to an agent's executors: 600 where nothing is set.",
    )
    executor_history_messages: int | None = Field(
        default=None, ge=1, le=1_000, description="The same for its executors: 5 where nothing is set."
    )


Policy = Annotated[dict[str, Any], AfterValidator(checked_policy), LooksLike(PolicySettings)]
