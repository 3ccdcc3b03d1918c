"""Who summarises, in which order: the next one is tried where one fails, down to one that cannot."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from asgiref.sync import sync_to_async
from django.utils import timezone

from compression.core.extractive import Extractive
from compression.core.ports import Summariser
from compression.core.truncation import Truncation
from compression.core.values import Steering
from compression.models import Compaction
from conversations.llm.profiles import connect, summary_profile
from conversations.llm.summariser import ModelSummariser
from conversations.models import ModelProfile
from conversations.transcript import Head

FAILURES = 3
"""Compactions in a row for which a model failed: it is left alone for a while then."""
REST = timedelta(minutes=5)
LOOKED_AT = 20


async def ladder(head: Head, steering: Steering, *, with_model: bool) -> list[Summariser]:
    """A model where one is set for it, then selection from the text, then a note of what was left out."""
    if not with_model:
        return [Truncation()]
    profile = await sync_to_async(_profile)(head, steering)
    lower: list[Summariser] = [Extractive(), Truncation()]
    return [ModelSummariser(profile, connect(profile), mode=head.mode), *lower] if profile else lower


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
