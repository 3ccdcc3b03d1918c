"""Stores a person's accepted answers of models, so that no request is paid for twice."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Protocol
from uuid import UUID

from django.db import DatabaseError

from compression.models import KeptSummary

logger = logging.getLogger(__name__)


class AnswerStore(Protocol):
    """A store of accepted answers, by a key made of the model and the request."""

    async def get(self, key: str) -> str | None: ...

    async def put(self, key: str, text: str) -> None: ...

    async def forget(self, keys: Collection[str]) -> None: ...


class NoAnswerStore:
    """A store that keeps nothing, so that every request is made."""

    async def get(self, key: str) -> str | None:
        return None

    async def put(self, key: str, text: str) -> None:
        pass

    async def forget(self, keys: Collection[str]) -> None:
        pass


class StoredAnswers:
    """Keeps one person's answers as database rows; no other person is ever given them.

    An answer is deleted together with the conversation that it was first made for.
    """

    def __init__(self, owner_id: int, conversation_id: UUID) -> None:
        self._owner_id = owner_id
        self._conversation_id = conversation_id

    async def get(self, key: str) -> str | None:
        rows = KeptSummary.objects.filter(owner_id=self._owner_id, key=key)
        return await rows.values_list("text", flat=True).afirst()

    async def put(self, key: str, text: str) -> None:
        row = KeptSummary(owner_id=self._owner_id, conversation_id=self._conversation_id, key=key, text=text)
        try:
            # Another run may have made the same request meanwhile: the first answer stays.
            await KeptSummary.objects.abulk_create([row], ignore_conflicts=True)
        except DatabaseError:
            logger.exception("an answer could not be kept")

    async def forget(self, keys: Collection[str]) -> None:
        await KeptSummary.objects.filter(owner_id=self._owner_id, key__in=keys).adelete()
