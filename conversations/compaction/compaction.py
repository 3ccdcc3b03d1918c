"""Runs a compaction: claim, load, let the engine summarise, save. No transaction spans a model call."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import replace
from datetime import timedelta
from functools import partial
from uuid import UUID

from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from compression.core import pipeline
from compression.core.error_codes import ErrorCode
from compression.core.errors import CompactionFailed, CompactionSkipped
from compression.core.plan.policy import Policy
from compression.core.ports import Originals, Summariser
from compression.core.tokens import count_tokens
from compression.core.values import Draft, Steering, Transcript
from compression.ids import uuid7
from compression.models import Compaction
from conversations import limits, spending
from conversations.compaction import ahead_of_time, emergency, lease
from conversations.compaction.commit import commit
from conversations.compaction.compaction_figures import count_spending, figures_of, record_spending
from conversations.compaction.fallback import fallback_chain, first_good_draft
from conversations.compaction.lease import BY_HAND, claim, finish, renewed, start
from conversations.compaction.model_summariser import ModelSummariser
from conversations.compaction.parts import Parts
from conversations.compaction.progress import Progress, eta_seconds
from conversations.compaction.prompt_cache_reuse import so_far
from conversations.compaction.snapshots import Superseded, rollback, undo
from conversations.context import prompt, transcript
from conversations.context.policy import policy_of
from conversations.context.transcript import Loaded
from conversations.errors import TooMany
from conversations.instructions import ledger_entries
from conversations.llm import tracing
from conversations.memory.facts_kept import look_for_facts
from conversations.models import Conversation
from conversations.models.model_profile import DEFAULT_WINDOW
from conversations.requests.usage import publish_usage
from conversations.runtime import queue
from conversations.runtime.lease import LeaseLost
from conversations.validation import clean_prompt, clean_text

__all__ = ["active", "command", "eta_seconds", "request", "rollback", "run", "undo"]

logger = logging.getLogger(__name__)

Status = Compaction.Status

COMMAND = re.compile(r"\A\s*/compact(?:\s+(?P<instructions>.*))?\Z", re.DOTALL | re.IGNORECASE)
MAX_INSTRUCTIONS = 2_000
RUNS_A_MINUTE = 10
STOPPED = "It was stopped before it was done."
LATE = "Its worker was not heard of for too long."
CHANGED = "The conversation changed while it was compacted."
BROKEN = "Something went wrong; the log says what."
EXPECTED = (LeaseLost, Superseded, Conversation.DoesNotExist, CompactionSkipped, CompactionFailed)
"""Exceptions that end a compaction without an effect; every other exception is raised again."""
SAVE = {Compaction.Trigger.EMERGENCY: emergency.commit, Compaction.Trigger.AHEAD: ahead_of_time.store}
"""How a draft is saved, by trigger; every other trigger uses `commit`."""


def command(content: str) -> str | None:
    """The instructions in a `/compact [instructions]`, "" if there are none; None for any other text."""
    found = COMMAND.match(content)
    return (found["instructions"] or "").strip() if found else None


def request(conversation: Conversation, *, trigger: str, steering: Steering) -> Compaction:
    """Start a compaction in the background. Raises Conflict while one runs, TooMany over the rate limit."""
    clean_text("instructions", steering.instructions, limit=MAX_INSTRUCTIONS, allow_blank=True)
    clean_prompt("prompt", steering.prompt)
    _require_rate(conversation.owner_id)
    limits.require_compaction(conversation.owner_id)
    spending.require_budget(conversation.owner_id)
    row = claim(conversation.pk, trigger=trigger, steering=steering)
    queue.enqueue("compact", str(row.pk))
    return row


def active(conversation: Conversation) -> Compaction | None:
    """The conversation's pending or running compaction, if any."""
    return lease.active(conversation.pk)


async def run(compaction_id: UUID) -> None:
    """Carry out a claimed compaction; the outcome is in its row. Raises only for a bug or a cancelled task."""
    token = uuid7()
    try:
        row = await sync_to_async(start)(compaction_id, token)
    except asyncio.CancelledError:
        await asyncio.shield(sync_to_async(lease.release)(compaction_id, error=STOPPED, token=token))
        raise
    if row is None:
        return
    try:
        progress = Progress(row)
        async with renewed(row, news=progress.news):
            with tracing.compaction(row.trigger):
                await _compact(row, progress)
    except BaseException as fault:
        if not await asyncio.shield(_handed_back(row, fault)) and row.is_active:
            await asyncio.shield(_end(row, *_ending(fault)))
        if not isinstance(fault, EXPECTED):
            raise
    finally:
        await sync_to_async(publish_usage)(row.conversation_id)


async def _handed_back(row: Compaction, fault: BaseException) -> bool:
    """Whether another worker continues with the row: a compaction that a person asked for survives a lost worker."""
    is_asked_for = row.trigger in BY_HAND
    if isinstance(fault, asyncio.CancelledError) and is_asked_for:
        await sync_to_async(lease.hand_back)(row)
        return True
    if isinstance(fault, LeaseLost) and (is_asked_for or await sync_to_async(_is_over)(row)):
        await sync_to_async(lease.active)(row.conversation_id)  # recovers the row, unless another worker has it already
        return True
    return False


def _ending(fault: BaseException) -> tuple[str, str, str]:
    """The status, the error and its code of a compaction that ended with `fault`."""
    match fault:
        case LeaseLost():
            return Status.DISCARDED, LATE, ""
        case Superseded() | Conversation.DoesNotExist():
            return Status.DISCARDED, CHANGED, ""
        case CompactionSkipped():
            return Status.SKIPPED, str(fault), ""
        case CompactionFailed():
            return Status.FAILED, str(fault), fault.code
        case Exception():
            return Status.FAILED, BROKEN, ErrorCode.FAULT_OF_THIS_SITE
    return Status.FAILED, STOPPED, ErrorCode.WORKER_STOPPED


def _require_rate(owner_id: int) -> None:
    now = timezone.now()
    since = now - timedelta(minutes=1)
    recent = Compaction.objects.filter(
        created_at__range=(since, now), trigger__in=BY_HAND, conversation__owner_id=owner_id
    ).order_by("created_at")
    # The copies in a fork have the dates of their originals and must not count: no person asked for them.
    times = list(recent.values_list("created_at", flat=True).distinct()[:RUNS_A_MINUTE])
    if len(times) == RUNS_A_MINUTE:
        wait = max(1, round((times[0] - since).total_seconds()))
        raise TooMany(
            _("At most %(most)s compactions a minute. Try again in %(wait)s s.")
            % {"most": RUNS_A_MINUTE, "wait": wait},
            retry_after=wait,
        )


def _is_over(row: Compaction) -> bool:
    """Whether the row has ended already: it was cancelled, or discarded in favour of another compaction."""
    return not Compaction.objects.filter(pk=row.pk, status__in=Compaction.ACTIVE).exists()


async def _compact(row: Compaction, progress: Progress) -> None:
    await sync_to_async(look_for_facts)(row.conversation_id)
    loaded = await sync_to_async(transcript.load)(row.conversation_id)
    steering = Steering(**row.steering)
    policy, save = policy_of(loaded.head), SAVE.get(Compaction.Trigger(row.trigger), commit)
    if row.trigger == Compaction.Trigger.EMERGENCY:
        policy = replace(policy, strategy="truncate")
    with_model = policy.strategy != "truncate" and policy.enabled
    begin = await sync_to_async(source)(loaded, rebuild=with_model)
    originals = sync_to_async(partial(transcript.originals, row.conversation_id))
    within = so_far(loaded) if with_model and policy.summary_request == "conversation" else None
    chain = await fallback_chain(
        loaded.head, steering, policy=policy, source=begin, with_model=with_model, within=within
    )
    try:
        chosen = await first_good_draft(
            chain,
            partial(_drafted, progress, begin, policy, steering, originals),
            least=policy.min_retention,
            pinned=[*loaded.head.rules, *(text for _, text in loaded.head.noted)],
        )
        figures = await sync_to_async(figures_of)(row, chain.summarisers, chosen)
        await sync_to_async(save)(
            row,
            loaded.head,
            chosen.draft,
            summariser=chosen.summariser.name,
            strategy=policy.strategy,
            steps=[*row.steps, *chosen.steps],
            **figures,
        )
    except BaseException:
        if row.is_active:
            await asyncio.shield(sync_to_async(record_spending)(row, chain.summarisers))
        raise
    finally:
        await asyncio.shield(sync_to_async(count_spending)(loaded.head.owner_id, chain.summarisers))


async def _drafted(
    progress: Progress,
    source: Transcript,
    policy: Policy,
    steering: Steering,
    originals: Originals,
    summariser: Summariser,
) -> Draft:
    progress.begin(summariser)
    try:
        draft = await pipeline.compact(
            source,
            policy,
            steering=steering,
            summariser=summariser,
            count=count_tokens,
            on_stage=progress.on_stage,
            watch=Parts(progress, summariser),
            at_once=settings.COMPRESSION_PARTS_AT_ONCE,
            originals=originals,
        )
    except CompactionFailed:
        await _settle(summariser, accepted=False)
        raise
    await _settle(summariser, accepted=True)
    return draft


async def _settle(summariser: Summariser, *, accepted: bool) -> None:
    if isinstance(summariser, ModelSummariser):
        await summariser.settle(accepted=accepted)


def source(loaded: Loaded, *, rebuild: bool) -> Transcript:
    """The transcript that the engine compacts; see `transcript.transcript`."""
    window = loaded.head.window or DEFAULT_WINDOW
    made = transcript.transcript(
        loaded, system_tokens=prompt.system_tokens(loaded.head), window=window, rebuild=rebuild
    )
    return replace(made, taken_back=ledger_entries.taken_back(loaded.head.parent_id or loaded.head.id))


async def _end(row: Compaction, status: str, error: str, code: str) -> None:
    try:
        await sync_to_async(finish)(row, status, error=error, error_code=code)
    except LeaseLost:
        if not await sync_to_async(_is_over)(row):
            logger.warning("compaction %s ended after its lease: %s", row.pk, error)
