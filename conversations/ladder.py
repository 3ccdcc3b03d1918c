"""Who summarises, in which order: the next one is tried where one fails, down to one that cannot."""

from __future__ import annotations

from asgiref.sync import sync_to_async

from compression.core.extractive import Extractive
from compression.core.ports import Summariser
from compression.core.truncation import Truncation
from compression.core.values import Steering
from conversations.llm.profiles import connect, summary_profile
from conversations.llm.summariser import ModelSummariser
from conversations.models import ModelProfile
from conversations.transcript import Head


async def ladder(head: Head, steering: Steering, *, with_model: bool) -> list[Summariser]:
    """A model where one is set for it, then selection from the text, then a note of what was left out."""
    if not with_model:
        return [Truncation()]
    profile = await sync_to_async(_profile)(head, steering)
    lower: list[Summariser] = [Extractive(), Truncation()]
    return [ModelSummariser(profile, connect(profile), mode=head.mode), *lower] if profile else lower


def _profile(head: Head, steering: Steering) -> ModelProfile | None:
    chat = ModelProfile.objects.filter(pk=head.profile_id, enabled=True).first() if head.profile_id else None
    return summary_profile(steering.quality, chat) if chat else None
