"""A model that summarises: the engine's port, over the port to models."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Callable, Collection
from hashlib import sha256
from typing import Protocol
from uuid import UUID

from django.db import DatabaseError

from compression import conf
from compression.core.error_codes import ErrorCode
from compression.core.errors import CompactionFailed
from compression.core.instructions import summary_request
from compression.core.tokens import count_tokens
from compression.core.values import Passage, Written
from compression.models import KeptSummary
from conversations.llm import request
from conversations.llm.errors import ModelError
from conversations.llm.port import Model, Reply, Spent
from conversations.llm.retries import ATTEMPTS, Attempts
from conversations.models import ModelProfile

logger = logging.getLogger(__name__)

REPLY_SHARE = 2
"""How much longer than asked a summary may get before it is cut off: a cut one is refused, a long one trimmed."""


class Answers(Protocol):
    """Where good answers are kept, by a key that says what was asked of whom."""

    async def get(self, key: str) -> str | None: ...

    async def put(self, key: str, text: str) -> None: ...

    async def forget(self, keys: Collection[str]) -> None: ...


class NoAnswers:
    """Nothing is kept: every request is made."""

    async def get(self, key: str) -> str | None:
        return None

    async def put(self, key: str, text: str) -> None:
        pass

    async def forget(self, keys: Collection[str]) -> None:
        pass


class KeptAnswers:
    """The answers that one person's requests got, as rows; nobody else is ever given them.

    They go with the conversation that they were first asked for.
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
            # Another run may have asked the same meanwhile: the first answer stays.
            await KeptSummary.objects.abulk_create([row], ignore_conflicts=True)
        except DatabaseError:
            logger.exception("an answer could not be kept")

    async def forget(self, keys: Collection[str]) -> None:
        await KeptSummary.objects.filter(owner_id=self._owner_id, key__in=keys).adelete()


class ModelSummariser:
    """Asks the model of `profile` for summaries. `window` is in our own tokens; `spent` is what it cost so far.

    In its whole life it makes at most ATTEMPTS requests, and one more for each passage after the first. Summarisers
    that share `attempts` keep to that together. `template` is in place of the usual one, a passage's own before both.
    What is among the `answers` is not asked again; `has_asked` says whether anything was. A request is left for each
    of the `others` that share the attempts and come after it.
    """

    provisional = False
    fills_budget = False
    marks_progress = True

    def __init__(
        self,
        profile: ModelProfile,
        model: Model,
        *,
        mode: str,
        template: str = "",
        answers: Answers | None = None,
        attempts: Attempts | None = None,
        others: int = 0,
        quality: str = "",
    ) -> None:
        window = profile.usable_window
        self.name = profile.name
        self.window: int | None = int(window.size / window.correction) - _excess(template)
        self.profile = profile
        self.spent = Spent(0, 0)
        self.has_asked = False
        self._model = model
        self._mode = mode
        self._template = template or conf.usual_template()
        self._answers = NoAnswers() if answers is None else answers
        self._attempts = attempts or Attempts()
        self._others = others
        self._quality = quality
        self._passages = 0
        self._written = 0
        self.on_share: Callable[[float], None] | None = None
        """Told the share that is written of the summary that is expected of a passage."""
        self._given: dict[str, str] = {}
        self._accepted: list[str] = []

    async def summarise(self, passage: Passage) -> Written:
        """Raises CompactionFailed for every fault of the provider."""
        self._passages += 1
        self._attempts.allow(ATTEMPTS + self._passages - 1)
        self._attempts.reserved = self._others
        key = self._key(passage)
        if kept := await self._answers.get(key):
            self._given[key] = kept
            return Written(kept)
        reply = await self._asked(passage)
        self._given[key] = reply.text
        return Written(reply.text, finished=reply.finish_reason != "length")

    async def settle(self, *, accepted: bool) -> None:
        """Keep the answers of a summary that was accepted; forget those of one that was not, wherever from."""
        self._accepted = list(self._given) if accepted else []
        if accepted:
            for key, text in self._given.items():
                await self._answers.put(key, text)
        elif self._given:
            await self._answers.forget(self._given)
        self._given = {}

    @property
    def answers(self) -> list[str]:
        """The keys of the answers that the last accepted summary came from."""
        return self._accepted

    async def _asked(self, passage: Passage) -> Reply:
        self.has_asked = True
        asked, made = self._wording(passage, _delimiter()), self._attempts.made
        expected = passage.max_tokens * _characters_a_token(passage)
        self._written = 0

        def on_written(characters: int) -> None:
            self._written = characters
            if self.on_share:
                self.on_share(characters / expected)

        try:
            reply = await self._model.complete(
                request.for_summary(*asked),
                max_tokens=REPLY_SHARE * passage.max_tokens,
                attempts=self._attempts,
                on_written=on_written,
            )
        except ModelError as fault:
            raise CompactionFailed("summarise", fault.reason, code=fault.code) from fault
        except asyncio.CancelledError:
            if self._attempts.made > made:
                written = self._written / _characters_a_token(passage)
                self.spent += self._estimated(sum(map(count_tokens, asked)), written)
            raise
        if reply.spent:
            self.spent = self.spent + reply.spent
        if reply.refused:
            raise CompactionFailed("summarise", f"{self.name} refused to summarise", code=ErrorCode.REFUSAL)
        return reply

    def _estimated(self, prompt_tokens: int, completion_tokens: float) -> Spent:
        """What a request took that was broken off: its provider does not say any more."""
        corrected = self.profile.usable_window.corrected
        return Spent(corrected(prompt_tokens), corrected(round(completion_tokens)))

    def _wording(self, passage: Passage, delimiter: str) -> tuple[str, str]:
        return summary_request(passage, template=passage.prompt or self._template, mode=self._mode, delimiter=delimiter)

    def _key(self, passage: Passage) -> str:
        """A hash of the model and all that it is asked. Without the delimiter the parts could run into each other.

        Of the quality too: with one model for both, a quick summary is not handed out for a better one.
        """
        model = (self.profile.provider, self.profile.base_url, self.profile.model_id, passage.max_tokens, self._quality)
        parts = (passage.earlier, passage.goal, passage.instructions)
        return sha256(json.dumps([*model, *self._wording(passage, ""), *parts]).encode()).hexdigest()


def _excess(template: str) -> int:
    """Tokens that a template takes beyond those that every summariser's window keeps free for the usual one."""
    return max(0, count_tokens(template) - count_tokens(conf.usual_template())) if template else 0


def _characters_a_token(passage: Passage) -> float:
    """Of its text, as a summary of it is written alike."""
    return max(1.0, len(passage.text) / max(1, sum(turn.tokens for turn in passage.turns)))


def _delimiter() -> str:
    """One that no text can have guessed."""
    return f"=====[{secrets.token_hex(8)}]====="
