"""How full the context window is, part by part, as a picture; and when it will be folded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import ceil

from django.template.defaultfilters import pluralize

from compression.core import outlook
from compression.core.policy import AHEAD_BY, Policy
from compression.core.values import FlowUsage, Usage
from compression.models import Checkpoint
from conversations.context import prompt, recall, usage
from conversations.context.policy import policy_of
from conversations.context.transcript import Loaded
from conversations.llm import tools
from conversations.models import Conversation

VISIBLE = 2.5
LABELS = {
    "system": "System prompt",
    "tools": "Tools",
    "summary": "Summary",
    "recalled": "Recalled",
    "protected": "Protected",
    "live": "Live messages",
}
REASONS: dict[str, str] = {
    "threshold": "the threshold",
    "reply": "so that there is room for the reply",
    "local": "a local model's text has filled three quarters of its room; a threshold of your own goes before that",
    "flow": "the agent's own budget of history",
}
"""Why a compaction is due where it is, by `policy.Reason`."""
RECENT = 5
"""Turns whose size says how large the next ones will be."""
FORESEEN = 99
"""Turns: what is further away than that is not foretold."""


@dataclass(frozen=True, slots=True)
class Part:
    """`start` and `width` are in percent of the window; what is there at all is wide enough to be seen."""

    kind: str
    label: str
    tokens: int
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Meter:
    """`threshold`, in percent, is where folding begins, and `reason` the limit that it is; `reserve` is kept free for
    the reply.

    `turns` is about how many more there will be until then (0: it folds before the next reply; None: nobody can say,
    or it does not fold by itself). `cost` is the most that the next request's tokens can cost, in US dollars (None: not
    known). `is_near` says that a person is to be told: it will fold soon, and they have not said that it can wait.
    """

    used: int
    window: int
    percent: int
    threshold: int
    reason: str
    reserve: int
    parts: tuple[Part, ...]
    folds: bool
    turns: int | None
    cost: Decimal | None
    is_near: bool
    flow: FlowUsage | None
    """Of an agent: how much its planner uses of its own budget."""
    target: int
    """Percent of the window that a compaction which nobody asked for comes out at."""
    left: int | None
    """About how many tokens a compaction by hand would leave; None where it would find nothing to compact."""


def meter(conversation: Conversation) -> Meter | None:
    """None where no model is connected: a window is a model's."""
    loaded = recall.load(conversation.pk)
    used = usage.usage_of(loaded)
    if used is None:
        return None
    policy, window = policy_of(loaded.head), used.window
    due = policy.due_at(used, messages=len(loaded.turns), local=bool(loaded.head.is_local))
    return Meter(
        used=used.total,
        window=window.size,
        percent=used.percent,
        threshold=round(100 * due.tokens / window.size),
        reason=REASONS[due.reason],
        reserve=window.reserve,
        parts=shares(_tokens(loaded, used), window.size, _labels(conversation, loaded)),
        folds=policy.enabled,
        turns=_turns_left(loaded, used, due.tokens) if policy.enabled else None,
        cost=price(conversation, used.total),
        is_near=_is_near(conversation, policy, used, due.tokens),
        flow=usage.flow_usage(loaded),
        target=round(100 * policy.target(window) / window.size),
        left=outlook.tokens_left(prompt.request_transcript(loaded), policy),
    )


def _tokens(loaded: Loaded, used: Usage) -> dict[str, int]:
    """By kind. What a request begins with is counted as one: the tools take what it is more with them."""
    without = prompt.system_tokens(loaded.head) - tools.tokens(loaded.head.tools)
    system = used.window.corrected(without) if loaded.head.tools else used.system
    tokens = {"system": system, "tools": used.system - system}
    return tokens | {kind: getattr(used, kind) for kind in LABELS if kind not in tokens}


def price(conversation: Conversation, tokens: int) -> Decimal | None:
    """US dollars for so many tokens of a request, none of them cached; None where that is not known."""
    profile = conversation.model
    return None if profile is None or profile.price_input is None else tokens * profile.price_input / 1_000_000


def shares(tokens: Mapping[str, int], window: int, labels: Mapping[str, str] = LABELS) -> tuple[Part, ...]:
    """Of the window, by kind; tools only where there are any."""
    parts: list[Part] = []
    start = 0.0
    for kind, label in labels.items():
        if kind in ("tools", "recalled") and not tokens[kind]:
            continue
        width = max(100 * tokens[kind] / window, VISIBLE) if tokens[kind] else 0.0
        parts.append(Part(kind, label, tokens[kind], round(start, 2), round(width, 2)))
        start += width
    return tuple(parts)


def _labels(conversation: Conversation, loaded: Loaded) -> dict[str, str]:
    """What each part consists of; one query where there is a summary."""
    head, protected = loaded.head, sum(turn.protected for turn in loaded.turns)
    system = ["System"]
    system += ["mode"] if head.mode != Conversation.Mode.ASSISTANT else []
    system += ["goal"] if head.goal else []
    system += [_counted(len(head.rules), "rule")] if head.rules else []
    active = Checkpoint.objects.filter(conversation=conversation, active=True)
    return {
        "system": ", ".join(system),
        "tools": _counted(len(head.tools), "tool").capitalize(),
        "summary": f"Summary, {_counted(active.count() if head.compressed_at else 0, 'checkpoint')}",
        "recalled": f"Recalled, {_counted(len(loaded.recalled.quotes) if loaded.recalled else 0, 'passage')}",
        "protected": f"Protected, {_counted(protected, 'message')}",
        "live": f"Live, {_counted(len(loaded.turns) - protected, 'message')}",
    }


def _counted(number: int, noun: str) -> str:
    return f"{f'{number:,}' if number else 'no'} {noun}{pluralize(number)}"


def _turns_left(loaded: Loaded, used: Usage, due: float) -> int | None:
    """If the next turns, a question with all that answers it, are as large as the last ones."""
    if used.total >= due:
        return 0
    sizes: list[int] = []
    for turn in loaded.live[: len(loaded.live) - loaded.waiting]:
        if turn.role == "user" or not sizes:
            sizes.append(0)
        sizes[-1] += turn.tokens
    recent = sizes[-RECENT:]
    if not sum(recent):
        return None
    turns = ceil((due - used.total) / used.window.corrected(sum(recent)) * len(recent))
    return turns if turns <= FORESEEN else None


def _is_near(conversation: Conversation, policy: Policy, used: Usage, due: float) -> bool:
    is_postponed = conversation.postponed_at_version == conversation.compression_version
    return policy.enabled and not is_postponed and used.total >= due - AHEAD_BY * used.window.size
