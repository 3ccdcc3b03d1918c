"""The meter: how full the context window is, part by part, and when the conversation will be compacted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil
from typing import Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from compression.core.extractive.summariser import Extractive
from compression.core.forecast import after_compaction
from compression.core.plan.policy import Policy
from compression.core.tokens import count_tokens
from compression.core.values import Checkpoint, FlowUsage, Usage
from compression.records import active_checkpoints
from conversations.context import economy, prompt
from conversations.context.head import Head
from conversations.context.policy import policy_of
from conversations.context.transcript import Loaded
from conversations.llm import tools
from conversations.llm.profiles import summariser_of
from conversations.llm.windows import window_words
from conversations.memory import recall
from conversations.memory.recall import Past, Room
from conversations.models import Conversation
from conversations.requests import usage
from conversations.runtime.amounts import amount

MIN_WIDTH_PERCENT = 2.5
"""The least width of a part that has tokens, in percent."""
LABELS = {
    "system": gettext_noop("System prompt"),
    "project": gettext_noop("Project"),
    "tools": gettext_noop("Tools"),
    "summary": gettext_noop("Summary"),
    "recalled": gettext_noop("Recalled"),
    "protected": gettext_noop("Pinned messages"),
    "live": gettext_noop("Recent messages"),
}
MAY_BE_MISSING = ("project", "tools", "recalled")
LIMIT_LABELS: dict[str, str] = {
    "threshold": gettext_noop("the threshold"),
    "live": gettext_noop("the threshold of the tokens that a request may use here"),
    "reply": gettext_noop("so that there is room for the reply"),
    "recall": gettext_noop("so that there is room for recalled passages"),
    "local": gettext_noop(
        "a local model's text has filled three quarters of its room; a threshold of your own goes before that"
    ),
    "flow": gettext_noop("the agent's own budget of history"),
}
"""The limit that decides when a compaction is due, in words, by `policy.Reason`."""
RECENT_TURNS = 5
"""Turns whose mean size predicts the size of the next turns."""
LITTLE_SHARE = 0.25
"""A compaction by hand that frees less than this share of the request is announced as one that frees little."""
MAX_PREDICTED_TURNS = 99
"""The most turns that a prediction names."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the meter; `start` and `width` are in percent of the window. Parts with tokens are visibly wide."""

    kind: str
    label: str
    tokens: int
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class After:
    """The next request after a compaction by hand: its tokens by kind, and how many messages it condenses and keeps."""

    tokens: Mapping[str, int]
    total: int
    condensed: int
    kept: int


@dataclass(frozen=True, slots=True)
class Meter:
    """The fill of a context window, in tokens unless stated otherwise.

    `threshold`, in percent, is where compaction begins, and `reason` names the limit behind it. `reserve` is kept free
    for the reply. `turns` estimates the turns until compaction (0: before the next reply; None: unknown, or automatic
    compaction is off). `cost` is the most that the next request's tokens can cost, in US dollars (None: unknown).
    `is_near` says that compaction is near and that its owner has not postponed the warning.
    """

    used: int
    window: int
    percent: int
    threshold: int
    reason: str
    reserve: int
    parts: tuple[Part, ...]
    compacts: bool
    """Whether automatic compaction is on, and does not wait after an undo."""
    undone: Literal["", "fits", "full"]
    """After an undo, until the owner chooses how to go on: whether the next request fits the window. They may postpone
    the choice as long as it fits."""
    turns: int | None
    cost: Decimal | None
    is_near: bool
    flow: FlowUsage | None
    """The use that an agent's planner makes of its own budget."""
    target: int
    """Percent of the window after an automatic compaction."""
    window_words: str
    """The window that was set, and how much of it is used."""
    room: int
    """Tokens of the largest message that can be sent: the window less the system prompt and the reply."""
    lowered: str
    """A sentence about a model whose server reads less than its window was; "" for any other."""
    breaks_even: int | None
    """Turns after which that compaction has paid for itself, at the model's prices; None: no prices, or never."""
    after: After | None
    """The next request after a compaction by hand; None without a forecast, or if there is nothing to compact."""
    has_forecast: bool
    """Whether `after` was computed; a page asks for it later if not."""
    budgets: Mapping[str, int]
    """The most tokens by kind that requests of this chat have room for."""

    @property
    def left(self) -> int | None:
        """About how many tokens a compaction by hand would leave; None if it would find nothing to compact."""
        return self.after.total if self.after else None

    @property
    def frees(self) -> int:
        """About how many tokens of the next request a compaction by hand would free; 0: none."""
        return 0 if self.left is None else max(0, self.used - self.left)

    @property
    def frees_little(self) -> bool:
        """Whether that is less than LITTLE_SHARE of the request."""
        return self.frees < LITTLE_SHARE * self.used


def meter(conversation: Conversation, *, with_forecast: bool = True) -> Meter | None:
    """The conversation's meter; None without a model, since the window is the model's.

    The forecast of a compaction by hand takes half of the time, so callers that do not show it leave it out.
    """
    loaded = recall.load(conversation.pk)
    used = usage.usage_of(loaded)
    if used is None:
        return None
    policy, window = policy_of(loaded.head), used.window
    checkpoints = active_checkpoints(conversation.pk) if loaded.head.compressed_at else ()
    due = policy.due_at(used, messages=len(loaded.turns), local=bool(loaded.head.is_local))
    return Meter(
        used=used.total,
        window=window.size,
        percent=used.percent,
        threshold=round(100 * due.tokens / window.size),
        reason=_(LIMIT_LABELS[due.reason]),
        reserve=window.reserve,
        parts=shares(_tokens_by_kind(loaded, used), window.size, _part_labels(loaded, checkpoints)),
        compacts=policy.enabled and not loaded.head.undone_at,
        undone=_undone(conversation, loaded, used),
        turns=_turns_left(loaded, used, due.tokens) if policy.enabled and not loaded.head.undone_at else None,
        cost=price(conversation, used.total),
        is_near=_is_near(conversation, policy, used, due.tokens),
        flow=usage.flow_usage(loaded),
        target=round(100 * policy.target(window) / window.size),
        window_words=window_words.window(conversation.model),
        room=max(0, window.budget - used.system),
        lowered=window_words.lowered(conversation.model),
        breaks_even=economy.break_even_turns(loaded.head, policy, due=due.tokens) if policy.enabled else None,
        after=_after(conversation, loaded, policy, checkpoints) if with_forecast else None,
        has_forecast=with_forecast,
        budgets=_budgets(loaded.head, recall.project_policy(loaded.head), used),
    )


def _tokens_by_kind(loaded: Loaded, used: Usage) -> dict[str, int]:
    """Tokens by kind. System prompt and tools are counted together: tools take the difference that they make."""
    without = prompt.system_tokens(loaded.head) - tools.tokens(loaded.head.tools)
    system = used.window.corrected(without) if loaded.head.tools else used.system
    project = used.window.corrected(prompt.project_tokens(loaded.head))
    tokens = {"system": system - project, "project": project, "tools": used.system - system}
    return tokens | {kind: getattr(used, kind) for kind in LABELS if kind not in tokens}


def price(conversation: Conversation, tokens: int) -> Decimal | None:
    """The price of `tokens` uncached prompt tokens, in US dollars; None if the model has no price."""
    profile = conversation.model
    return None if profile is None or profile.price_input is None else tokens * profile.price_input / 1_000_000


def shares(tokens: Mapping[str, int], window: int, labels: Mapping[str, str] = LABELS) -> tuple[Part, ...]:
    """The parts of the window by kind, with `labels` translated; empty ones of MAY_BE_MISSING are left out."""
    parts: list[Part] = []
    start = 0.0
    for kind, label in labels.items():
        size = tokens.get(kind, 0)
        if kind in MAY_BE_MISSING and not size:
            continue
        width = max(100 * size / window, MIN_WIDTH_PERCENT) if size else 0.0
        parts.append(Part(kind, _(label), size, round(start, 2), round(width, 2)))
        start += width
    return tuple(parts)


def _budgets(head: Head, policy: Policy, used: Usage) -> dict[str, int]:
    """The most tokens by kind; system prompt and tools have what they take, live messages the rest."""
    window = used.window
    times = recall.SHARES_IN_A_PROJECT if head.recalls_in else 1
    summary = window.corrected(policy.context_budget(window))
    recalled = window.corrected(policy.recall_budget(window, shares=times))
    live = max(0, window.budget - used.system - summary - recalled)
    return {"system": used.system, "summary": summary, "recalled": recalled, "live": live, "reply": window.reserve}


def _after(
    conversation: Conversation, loaded: Loaded, policy: Policy, checkpoints: Sequence[Checkpoint]
) -> After | None:
    """The next request after a compaction by hand, with the passages for its question."""
    transcript = replace(prompt.request_transcript(loaded), checkpoints=tuple(checkpoints))
    is_selected = _is_selected(conversation, policy)
    forecast = after_compaction(transcript, policy, is_selected=is_selected, count=count_tokens)
    if forecast is None:
        return None
    head, window = loaded.head, transcript.window
    past = Past(conversation.pk, forecast.cut, forecast.verbatim, head.recalls_in, head.owner_id)
    rest = window.corrected(forecast.system + forecast.summaries + forecast.live)
    own = forecast.recall_budget
    beside = recall.project_policy(head)
    room = recall.room_beside(beside, window, rest, own=own) if head.recalls_in else Room(own, own)
    recalled = recall.found_in(past, forecast.tail, room=room, catches_up=False)
    tokens = {
        "system": forecast.system,
        "summary": forecast.summaries,
        "recalled": recalled.tokens if recalled else 0,
        "live": forecast.live,
    }
    total = min(window.corrected(sum(tokens.values())), window.budget)
    by_kind = {kind: window.corrected(number) for kind, number in tokens.items()}
    return After(by_kind, total, condensed=forecast.condensed, kept=forecast.kept)


def _is_selected(conversation: Conversation, policy: Policy) -> bool:
    """Whether no model writes the summary of a compaction by hand."""
    if policy.summariser or conversation.model is None:
        return policy.summariser == Extractive.name
    return summariser_of("standard", conversation.model) == Extractive.name


def _part_labels(loaded: Loaded, checkpoints: Sequence[Checkpoint]) -> dict[str, str]:
    """A label for each part that names its contents."""
    head, protected = loaded.head, sum(turn.protected for turn in loaded.turns)
    system = [_("System")]
    system += [_("mode")] if head.mode != Conversation.Mode.ASSISTANT else []
    system += [_("goal")] if head.goal else []
    rules = len(head.rules)
    system += [ngettext("%(number)s rule", "%(number)s rules", rules) % {"number": amount(rules)}] if rules else []
    noted = len(prompt.instructions_of(head).noted)
    system += [_("%(number)s noted") % {"number": amount(noted)}] if noted else []
    offered = len(head.tools)
    quotes = loaded.recalled.quotes if loaded.recalled else ()
    recalled, of_project = _labelled("recalled", len(quotes)), sum(bool(one.source.conversation_id) for one in quotes)
    if of_project:
        recalled = _("%(passages)s, %(number)s of the project") % {"passages": recalled, "number": amount(of_project)}
    return {
        "system": ", ".join(system),
        "project": _("Instructions of the project"),
        "tools": ngettext("%(number)s tool", "%(number)s tools", offered) % {"number": amount(offered)},
        "summary": _labelled("summary", len(checkpoints)),
        "recalled": recalled,
        "protected": _labelled("protected", protected) if protected else _("Pinned: none"),
        "live": _labelled("live", len(loaded.turns) - protected),
    }


def _labelled(kind: str, number: int) -> str:
    """The label of a part with the number of its contents."""
    words = {
        "summary": ngettext("Summary, %(number)s checkpoint", "Summary, %(number)s checkpoints", number),
        "recalled": ngettext("Recalled, %(number)s passage", "Recalled, %(number)s passages", number),
        "protected": ngettext("Pinned: %(number)s message", "Pinned: %(number)s messages", number),
        "live": _("Recent messages: %(number)s"),
    }
    return words[kind] % {"number": amount(number)}


def _turns_left(loaded: Loaded, used: Usage, due: float) -> int | None:
    """The turns until `due` tokens, if the next turns (a question with its replies) are as large as recent ones."""
    if used.total >= due:
        return 0
    sizes: list[int] = []
    for turn in loaded.live[: len(loaded.live) - loaded.waiting]:
        if turn.role == "user" or not sizes:
            sizes.append(0)
        sizes[-1] += turn.tokens
    recent = sizes[-RECENT_TURNS:]
    if not sum(recent):
        return None
    turns = ceil((due - used.total) / used.window.corrected(sum(recent)) * len(recent))
    return turns if turns <= MAX_PREDICTED_TURNS else None


def _undone(conversation: Conversation, loaded: Loaded, used: Usage) -> Literal["", "fits", "full"]:
    if not loaded.head.undone_at:
        return ""
    if used.over_budget:
        return "full"
    return "" if conversation.postponed_at_version == conversation.compression_version else "fits"


def _is_near(conversation: Conversation, policy: Policy, used: Usage, due: float) -> bool:
    is_postponed = conversation.postponed_at_version == conversation.compression_version
    return (
        policy.enabled
        and not conversation.undone_at
        and not is_postponed
        and used.total >= due - policy.lead(used.window)
    )
