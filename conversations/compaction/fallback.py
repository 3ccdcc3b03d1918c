"""Orders the summarisers and tries them one after the other; the last in the chain cannot fail."""

from __future__ import annotations

import logging
from asyncio import to_thread
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone

from compression import conf
from compression.core.context import join_summaries
from compression.core.error_codes import ErrorCode
from compression.core.errors import CompactionFailed, CompactionSkipped
from compression.core.extractive.summariser import Extractive
from compression.core.facts.find import kept_facts, normalised
from compression.core.ledger.rules import find_rules
from compression.core.plan.policy import Policy
from compression.core.ports import Summariser
from compression.core.stages.identify import identify
from compression.core.stages.prepare import prepare
from compression.core.tokens import count_tokens
from compression.core.truncation import Truncation
from compression.core.values import Draft, Steering, Transcript
from compression.models import Compaction
from conversations.compaction.answer_store import StoredAnswers
from conversations.compaction.concurrency import ConcurrencyLimiter
from conversations.compaction.model_summariser import ModelSummariser
from conversations.compaction.prompt_cache_reuse import AnsweredPrefix, caches
from conversations.context.transcript import HISTORY, Head
from conversations.llm.profiles import connect, named, open_to, summary_profiles
from conversations.llm.retries import EXHAUSTED, Attempts
from conversations.models import Conversation, GatewayCall, Message, ModelProfile
from conversations.runtime.lease import LeaseLost

logger = logging.getLogger(__name__)

FAILURES = 3
"""The number of failed compactions in a row after which a model rests for `REST`."""
REST = timedelta(minutes=5)
LOOKED_AT = 20
CALLS_BETWEEN = 10
"""The number of calls for each summary of a program's history by a model: if instructions and tools fill most of the
window, summaries would be so frequent that they cost more than the calls. In between, summaries are extracted.
"""
RESTING = f"resting after {FAILURES} failures"
LATELY = f"wrote a summary less than {CALLS_BETWEEN} calls ago"
UNKNOWN = "there is no such model, or it is not enabled; the usual one was taken"
BROKEN = "Something went wrong; the log says what."

type Step = dict[str, Any]
"""Why a summariser was not used: its name, the failure in words (`failed`) and the failure's error `code`."""


@dataclass(frozen=True, slots=True)
class FallbackChain:
    """The summarisers to ask, in order, and the `steps` that explain why others are not asked."""

    summarisers: tuple[Summariser, ...]
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class FallbackResult:
    """The result of the fallback chain: the draft, its summariser, and why the others were not used."""

    draft: Draft
    summariser: Summariser
    steps: list[Step]


@dataclass(frozen=True, slots=True)
class UsableDraft:
    """A usable draft, its summariser, and the person's rules that it lost."""

    draft: Draft
    summariser: Summariser
    lost: tuple[str, ...]

    def keeps(self, least: float) -> bool:
        return self.draft.retention.share >= least and not (self.lost and least)

    @property
    def worth(self) -> tuple[int, float]:
        return -len(self.lost), self.draft.retention.share

    @property
    def passed_over(self) -> Step:
        retained = f"kept {self.draft.retention.own} of {self.draft.retention.judged} facts"
        lost = f" and lost the rule {self.lost[0]!r}" if self.lost else ""
        return _failed(self.summariser.name, f"{retained}{lost}; another summary was better", ErrorCode.FACTS_LOST)


async def fallback_chain(
    head: Head,
    steering: Steering,
    *,
    policy: Policy,
    source: Transcript,
    with_model: bool,
    within: AnsweredPrefix | None = None,
) -> FallbackChain:
    """The summarisers for a conversation: its models, then extraction from the text, then truncation with a note.

    The models share one budget of requests. After a switch of models, the previous one goes first if the new one could
    not read the whole text in one request. With `within`, the conversation's own model is first asked at the end of
    the conversation, if it is the first of them and its provider caches.
    """
    if not with_model:
        return FallbackChain((Truncation(),))
    models, larger, steps = await sync_to_async(_models)(head, steering, policy, within)
    if larger and not await to_thread(_holds, models[0], source, policy, steering):
        models = [larger, *models]
    resting = [model for model in models if await sync_to_async(_is_resting)(head.id, model.name)]
    steps += [_failed(model.name, RESTING, ErrorCode.RESTING) for model in resting]
    asked = [model for model in models if model not in resting]
    return FallbackChain((*asked, Extractive(), Truncation()), tuple(steps))


async def first_good_draft(
    on: FallbackChain, draft_by: Callable[[Summariser], Awaitable[Draft]], *, least: float, pinned: Sequence[str] = ()
) -> FallbackResult:
    """The draft of the first summariser that succeeds, keeps the share `least` of the facts by itself, and loses no
    rule.

    Without one, the draft that keeps most is used; truncation is only tried if no draft exists. What is in
    a `pinned` text cannot be lost, and with a `least` of 0 rules are not checked. Raises CompactionFailed.
    """
    steps = list(on.steps)
    tried: list[UsableDraft] = []
    for summariser in on.summarisers:
        if tried and summariser.provisional:
            break
        try:
            draft = await draft_by(summariser)
        except (LeaseLost, CompactionSkipped):
            raise
        except CompactionFailed as failure:
            if failure.stage == "identify":
                raise
            steps.append(_failed(summariser.name, str(failure), failure.code))
            logger.warning("%s could not summarise: %s", summariser.name, failure)
        except Exception:
            steps.append(_failed(summariser.name, BROKEN, ErrorCode.FAULT_OF_THIS_SITE))
            logger.exception("%s could not summarise", summariser.name)
        else:
            tried.append(UsableDraft(draft, summariser, await to_thread(lost_rules, draft, pinned) if least else ()))
            if tried[-1].keeps(least):
                break
    return _best(tried, steps)


def lost_rules(draft: Draft, pinned: Sequence[str]) -> tuple[str, ...]:
    """The person's rules in the summarised messages that are neither in the summary nor in a pinned text."""
    words = (turn.typed for turn in draft.condensed)
    typed_rules = {normalised(rule) for text in (join_summaries(draft.folded), *words) for rule in find_rules(text)}
    sent = [normalised(rule) for rule in pinned]
    typed_rules = {rule for rule in typed_rules if not any(rule in text for text in sent)}
    rules = [fact for fact in draft.facts if fact.kind == "rule" and normalised(fact.text) in typed_rules]
    there = kept_facts(rules, draft.summary)
    return tuple(rule.text for rule in rules if rule not in there)


def _failed(summariser: str, why: str, code: str) -> Step:
    return {"summariser": summariser, "failed": why, "code": code}


def _best(tried: list[UsableDraft], steps: list[Step]) -> FallbackResult:
    if not tried:
        reason = "; ".join(f"{step['summariser']}: {step['failed']}" for step in steps)
        raise CompactionFailed("summarise", reason, code=steps[0]["code"] if steps else "")
    best = max(tried, key=lambda one: one.worth)
    return FallbackResult(best.draft, best.summariser, [*steps, *(one.passed_over for one in tried if one is not best)])


def _models(
    head: Head, steering: Steering, policy: Policy, within: AnsweredPrefix | None
) -> tuple[list[ModelSummariser], ModelSummariser | None, list[Step]]:
    """The models to summarise with, in order; the model before a switch; the steps for an unknown model.

    The model before a switch is None if it cannot read more than the first.
    """
    if policy.summariser == Extractive.name:
        return [], None, []
    if head.kind == Conversation.Kind.GATEWAY and _summarised_lately(head.id):
        return [], None, [_failed("models", LATELY, ErrorCode.RESTING)]
    owner_id = Conversation.objects.values_list("owner_id", flat=True).get(pk=head.id)
    own = named(policy.summariser, open_to(owner_id))
    is_unknown = policy.summariser and not own
    unknown = [_failed(policy.summariser, UNKNOWN, ErrorCode.NO_MODEL)] if is_unknown else []
    profiles, before = ([own], None) if own else _usual(head, steering, owner_id)
    if within and profiles and profiles[0].pk == head.profile_id and caches(profiles[0], head.id):
        profiles = [profiles[0], *profiles]
    else:
        within = None
    shared: dict[str, Any] = {
        "mode": head.mode,
        "template": conf.template(head.mode),
        "answers": StoredAnswers(owner_id, head.id),
        "attempts": Attempts(),
        "quality": steering.quality,
    }
    limits: dict[str, ConcurrencyLimiter] = {}
    models = [
        ModelSummariser(
            profile,
            connect(profile),
            others=others,
            at_once=_at_once(profile, limits),
            within=within if others == len(profiles) - 1 else None,
            **shared,
        )
        for others, profile in zip(reversed(range(len(profiles))), profiles, strict=True)
    ]
    if before is None:
        return models, None, unknown
    at_once = _at_once(before, limits)
    larger = ModelSummariser(before, connect(before), others=len(models), at_once=at_once, **shared)
    return models, larger, unknown


def _at_once(profile: ModelProfile, limits: dict[str, ConcurrencyLimiter]) -> ConcurrencyLimiter:
    """How many requests at a time the profile's server is sent; all models of a server share that in a run.

    The built-in model answers one at a time.
    """
    is_builtin = profile.provider == ModelProfile.Provider.BUILTIN
    most = 1 if is_builtin else settings.COMPRESSION_PARTS_AT_ONCE
    return limits.setdefault(profile.base_url or profile.provider, ConcurrencyLimiter(most))


def _usual(head: Head, steering: Steering, owner_id: int) -> tuple[list[ModelProfile], ModelProfile | None]:
    models = open_to(owner_id)
    chat = models.filter(pk=head.profile_id).first() if head.profile_id else None
    profiles = summary_profiles(steering.quality, chat) if chat else []
    if not profiles:
        return [], None
    replies = Message.objects.filter(HISTORY, conversation=head.id, role=Message.Role.ASSISTANT).exclude(model="")
    before = named(replies.order_by("-created_at").values_list("model", flat=True).first() or "", models)
    larger = summary_profiles(steering.quality, before)[:1] if before and before != chat else []
    return profiles, larger[0] if larger and _reads(larger[0]) > _reads(profiles[0]) else None


def _reads(profile: ModelProfile) -> float:
    """The size of a model's window in the site's own tokens."""
    return profile.usable_window.size / profile.token_correction


def _holds(model: ModelSummariser, source: Transcript, policy: Policy, steering: Steering) -> bool:
    """Whether all the text to summarise fits a single request to this model."""
    try:
        draft = identify(Draft(source), policy, steering)
        draft = prepare(draft, policy, steering, summariser=model, count=count_tokens)
    except CompactionFailed as failure:
        return failure.stage != "prepare"
    except CompactionSkipped:
        return True
    return len(draft.passages) == 1


def _summarised_lately(conversation_id: UUID) -> bool:
    """Whether fewer than CALLS_BETWEEN calls of the gateway used the conversation since a model last summarised it."""
    ended = Compaction.objects.filter(conversation_id=conversation_id, status=Compaction.Status.SUCCEEDED)
    written = ended.exclude(summariser__in=("", Extractive.name, Truncation.name)).order_by("-created_at")
    last = written.values_list("created_at", flat=True).first()
    if last is None:
        return False
    calls = GatewayCall.objects.filter(conversation_id=conversation_id, created_at__gt=last)
    return len(calls.values_list("pk")[:CALLS_BETWEEN]) < CALLS_BETWEEN


def _is_resting(conversation_id: UUID, name: str) -> bool:
    """Whether a model failed its last FAILURES compactions, the latest within REST; after REST it gets one trial."""
    ended = Compaction.objects.filter(conversation_id=conversation_id, finished_at__isnull=False)
    rows = ended.exclude(status=Compaction.Status.CANCELLED).order_by("-created_at")
    tried = [
        (row.finished_at, row.summariser != name)
        for row in rows.only("finished_at", "summariser", "steps")[:LOOKED_AT]
        if row.summariser == name or any(_was_asked(step, name) for step in row.steps)
    ][:FAILURES]
    if len(tried) < FAILURES or not all(failed for _, failed in tried):
        return False
    newest = tried[0][0]
    return newest is not None and timezone.now() - REST < newest <= timezone.now()


def _was_asked(step: Step, name: str) -> bool:
    failed = step.get("failed", "")
    return step["summariser"] == name and failed not in (RESTING, UNKNOWN) and EXHAUSTED not in failed
