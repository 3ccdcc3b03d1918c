"""Who summarises, in which order: the next one is tried where one fails, down to one that cannot."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from asgiref.sync import sync_to_async
from django.utils import timezone

from compression.core.errors import CompactionFailed, CompactionSkipped
from compression.core.extractive import Extractive
from compression.core.ports import Summariser
from compression.core.truncation import Truncation
from compression.core.values import Draft, Steering
from compression.models import Compaction
from conversations.lease import LeaseLost
from conversations.llm.profiles import connect, summary_profile
from conversations.llm.summariser import ModelSummariser
from conversations.models import ModelProfile
from conversations.transcript import Head

logger = logging.getLogger(__name__)

FAILURES = 3
"""Compactions in a row for which a model failed: it is left alone for a while then."""
REST = timedelta(minutes=5)
LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class Climb:
    """What came of asking one after the other: the draft, who wrote it, and why others did not."""

    draft: Draft
    summariser: Summariser
    steps: list[dict[str, str]]


async def ladder(head: Head, steering: Steering, *, with_model: bool) -> list[Summariser]:
    """A model where one is set for it, then selection from the text, then a note of what was left out."""
    if not with_model:
        return [Truncation()]
    profile = await sync_to_async(_profile)(head, steering)
    lower: list[Summariser] = [Extractive(), Truncation()]
    return [ModelSummariser(profile, connect(profile), mode=head.mode), *lower] if profile else lower


async def climb(
    rungs: Sequence[Summariser], draft_by: Callable[[Summariser], Awaitable[Draft]], *, least: float
) -> Climb:
    """The draft of the first summariser that succeeds and keeps at least the share `least` of the facts.

    Where none does, the one that keeps most; a mere note is no improvement on any. Raises CompactionFailed.
    """
    steps: list[dict[str, str]] = []
    kept: list[tuple[Draft, Summariser]] = []
    for rung in rungs:
        if kept and rung.provisional:
            break
        try:
            draft = await draft_by(rung)
        except (LeaseLost, CompactionSkipped):
            raise
        except CompactionFailed as failure:
            if failure.stage == "identify":
                raise
            steps.append({"summariser": rung.name, "failed": str(failure)})
            logger.warning("%s could not summarise: %s", rung.name, failure)
        except Exception:
            steps.append({"summariser": rung.name, "failed": "Something went wrong; the log says what."})
            logger.exception("%s could not summarise", rung.name)
        else:
            kept.append((draft, rung))
            if draft.retention.share >= least:
                break
    if not kept:
        raise CompactionFailed("summarise", "; ".join(f"{step['summariser']}: {step['failed']}" for step in steps))
    best = max(kept, key=lambda one: one[0].retention.share)
    return Climb(*best, [*steps, *(_low(*one) for one in kept if one is not best)])


def _low(draft: Draft, rung: Summariser) -> dict[str, str]:
    told = f"kept {draft.retention.kept} of {draft.retention.found} facts, another one more"
    return {"summariser": rung.name, "failed": told}


def _profile(head: Head, steering: Steering) -> ModelProfile | None:
    chat = ModelProfile.objects.filter(pk=head.profile_id, enabled=True).first() if head.profile_id else None
    profile = summary_profile(steering.quality, chat) if chat else None
    return None if profile and _is_resting(head.id, profile.name) else profile


def _is_resting(conversation_id: UUID, name: str) -> bool:
    """Whether a model failed the last times it was asked, the last one just now; after a rest it gets one trial."""
    rows = Compaction.objects.filter(conversation_id=conversation_id, finished_at__isnull=False).order_by("-created_at")
    tried = [
        (row.finished_at, row.summariser != name)
        for row in rows.only("finished_at", "summariser", "steps")[:LOOKED_AT]
        if row.summariser == name or any(step["summariser"] == name for step in row.steps)
    ][:FAILURES]
    if len(tried) < FAILURES or not all(failed for _, failed in tried):
        return False
    newest = tried[0][0]
    return newest is not None and newest > timezone.now() - REST
