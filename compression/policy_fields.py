"""A conversation's own settings of compaction: one table, which validation, checks, form and API are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from compression.core.instructions import MAX_TEMPLATE_CHARS
from compression.core.plan.policy import MAX_THRESHOLD, MIN_HISTORY_TOKENS, MIN_THRESHOLD

MAX_NAME = 200
MAX_SUMMARY_TOKENS = 4_000
MIN_LIVE_TOKENS, MAX_LIVE_TOKENS = 2_000, 10_000_000
OF_EXECUTORS = "executor_"
"""The prefix of a conversation's settings for its executors."""


@dataclass(frozen=True, slots=True)
class PolicyField:
    """One setting.

    `kind` is its type: a `share` of the window is a number that people read in percent, a `switch` is true or false,
    a `level` a whole number that has a name for each value. `low` and `high` bound a number; `high` a text's
    characters. `also` is a word that is allowed beside the numbers. `label`, `unit` and `choices` (words by value) are
    for the page, `about` for the API, `unset` says what holds where neither the site nor a preset says anything.
    `setting` is the site's own, "" where it has none; `nullable` says that null may be stored.
    """

    name: str
    kind: Literal["whole", "share", "switch", "choice", "level", "name", "template"]
    label: str
    about: str
    unit: str = ""
    low: float = 0
    high: float = 0
    choices: Mapping[str, str] = field(default_factory=dict)
    also: str = ""
    unset: str = ""
    setting: str = ""
    nullable: bool = False


FIELDS = (
    PolicyField(
        "preset", "choice", "Preset", "What the rest starts from.", unset="Chat",
        choices={
            "chat": "Chat: by the window alone",
            "planner": "Planner: history of 2,500 tokens",
            "economy": "Economy: by the model's prices",
            "short": "Short: requests of about 7,000 tokens",
            "executor": "Executor: history of 600 tokens",
        },
    ),
    PolicyField(
        "enabled", "switch", "Compaction", "Off: where the window is full, the oldest messages are left out.",
        choices={"true": "On", "false": "Off: cut once it overflows"}, setting="COMPRESSION_ENABLED",
    ),
    PolicyField(
        "ahead", "switch", "Prepared ahead", "Whether a summary is prepared before it is needed.",
        choices={"true": "On: ready before it is due", "false": "Off"}, setting="COMPRESSION_AHEAD",
    ),
    PolicyField(
        "recall", "switch", "Recall", "Whether passages of what was compacted are quoted for each new message.",
        choices={"true": "On: quoted for each message", "false": "Off"},
    ),
    PolicyField(
        "strategy", "choice", "Strategy",
        "A new summary each time, one written anew, one of everything, or a note without a model.",
        choices={
            "checkpoints": "Checkpoints: one for each compaction",
            "rolling": "Rolling: one summary, written anew",
            "continuation": "Continuation: one summary of all",
            "truncate": "Truncate: a note in place, no model",
        },
        setting="COMPRESSION_STRATEGY",
    ),
    PolicyField(
        "threshold", "share", "Summarise when the chat is",
        "Share of the window from which on it is compacted, local models too; null: 0.8, and a local model's once "
        "verbatim text fills three quarters of its room.",
        unit="% full", low=MIN_THRESHOLD, high=MAX_THRESHOLD, setting="COMPRESSION_THRESHOLD",
    ),
    PolicyField(
        "target_ratio", "share", "Shrink it to about", "Share of the window to come out at; below the threshold.",
        unit="% of the window", low=0.1, high=MAX_THRESHOLD,
    ),
    PolicyField(
        "target_tokens", "whole", "Shrink it to at most", "The same in tokens.",
        unit="tokens", low=200, high=10_000_000, unset="none", nullable=True,
    ),
    PolicyField(
        "max_live_tokens", "whole", "Never send more than",
        "Tokens that a request may use before it is compacted, however large the window: the window counts as no "
        "larger where it is compacted, where it comes out, and for the shares of summaries and recalled passages. "
        "The model's window alone says which requests it cannot read.",
        unit="tokens", low=MIN_LIVE_TOKENS, high=MAX_LIVE_TOKENS, unset="the window", nullable=True,
        setting="COMPRESSION_MAX_LIVE_TOKENS",
    ),
    PolicyField(
        "keep_recent", "whole", "Newest messages, never summarised", "Latest messages that stay word for word.",
        unit="messages", high=100, setting="COMPRESSION_KEEP_RECENT",
    ),
    PolicyField(
        "keep_user_tokens", "whole", "Your own words, kept as typed",
        "Tokens of a person's latest compacted messages that stay word for word.",
        unit="tokens, or all", high=1_000_000, also="all",
    ),
    PolicyField(
        "min_messages", "whole", "Summarise at least", "Fewer are not worth a summary, unless they are long.",
        unit="messages", low=1, high=1_000,
    ),
    PolicyField(
        "cooldown", "whole", "Wait between summaries at least", "Seconds between two automatic compactions.",
        unit="seconds", high=86_400, setting="COMPRESSION_COOLDOWN_SECONDS",
    ),
    PolicyField(
        "summary_max_tokens", "whole", "Summary length",
        "The most tokens of a new summary, whoever writes it, kept facts included. null: a sixteenth of what a request "
        "may use is asked for, from 300 to 3,000. Either way a summary takes at most a fifth of its messages' tokens.",
        unit="tokens", low=100, high=MAX_SUMMARY_TOKENS, unset="by the window", nullable=True,
        setting="COMPRESSION_SUMMARY_MAX_TOKENS",
    ),
    PolicyField(
        "summary_share", "share", "All summaries",
        "Share of what a request may use (the window without the room for the reply) that all summaries together may "
        "take: at least 900 tokens, at most 16,000.",
        unit="% of a request", low=0.02, high=0.5,
    ),
    PolicyField(
        "recall_share", "share", "Recalled passages",
        "Share of what a request may use that passages quoted from the compacted part may take.",
        unit="% of a request", low=0.02, high=0.5,
    ),
    PolicyField(
        "recall_max_tokens", "whole", "Recalled at most",
        "The most tokens of recalled passages, as the model counts them, however large the window.",
        unit="tokens", low=200, high=1_000_000, setting="COMPRESSION_RECALL_MAX_TOKENS",
    ),
    PolicyField(
        "level", "level", "Detail", "3 detailed, 2 moderate, 1 compact; null: by size.",
        low=1, high=3, choices={"3": "Detailed", "2": "Moderate", "1": "Compact"}, unset="by size", nullable=True,
    ),
    PolicyField(
        "summariser", "name", "Summariser",
        'Name of a model, or "extractive", which needs none; empty: by quality.',
        high=MAX_NAME, choices={"extractive": "Extractive: the text's own sentences"}, unset="automatic",
    ),
    PolicyField(
        "unsupported", "choice", "Not found",
        "What becomes of a statement in a model's summary with a name, number, date or quotation that no message has.",
        choices={
            "mark": "Marked: (not found in the messages)",
            "drop": "Dropped from the summary",
            "keep": "Kept as it is",
        },
    ),
    PolicyField(
        "summary_request", "choice", "Summary asked for",
        "In a request of its own, which quotes the messages as data; or, where the conversation's own model writes the "
        "summary and its provider caches, at the end of the conversation's own request, which is cheaper.",
        choices={
            "own": "By itself",
            "conversation": "At its end, if cached",
        },
    ),
    PolicyField(
        "history_tokens", "whole", "History budget",
        "Tokens of history beyond which it is compacted, however large the window. An agent's planner has 2,500, a "
        "chat none.",
        unit="tokens", low=MIN_HISTORY_TOKENS, high=10_000_000, unset="none",
    ),
    PolicyField(
        "history_messages", "whole", "History, messages",
        "Messages that this history may have, of any size. An agent's planner has 10.",
        unit="messages", low=1, high=1_000,
    ),
    PolicyField(
        f"{OF_EXECUTORS}history_tokens", "whole", "Executors' budget",
        "The same for what is said to an agent's executors: 600 where nothing is set.",
        unit="tokens", low=MIN_HISTORY_TOKENS, high=10_000_000,
    ),
    PolicyField(
        f"{OF_EXECUTORS}history_messages", "whole", "Executors' history, messages",
        "The same for its executors: 5 where nothing is set.",
        unit="messages", low=1, high=1_000,
    ),
    PolicyField(
        f"{OF_EXECUTORS}keep_recent", "whole", "Executors' newest messages",
        "Latest messages of an executor that stay word for word: 4 where nothing is set.",
        unit="messages", high=100,
    ),
    PolicyField(
        "prompt", "template", "Prompt of the summariser",
        "Template of the summary's request; empty: the usual one.", high=MAX_TEMPLATE_CHARS,
    ),
)  # fmt: skip
BY_NAME = {one.name: one for one in FIELDS}
