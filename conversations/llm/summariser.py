"""A model that summarises: the engine's port, over the port to models."""

from __future__ import annotations

import secrets

from compression import conf
from compression.core.errors import CompactionFailed
from compression.core.instructions import wording
from compression.core.values import Passage, Written
from conversations import prompt
from conversations.llm.attempts import ATTEMPTS, Attempts
from conversations.llm.base import Model, ModelError, Spent
from conversations.models import ModelProfile

REPLY_SHARE = 2
"""How much longer than asked a summary may get before it is cut off: a cut one is refused, a long one trimmed."""


class ModelSummariser:
    """Asks the model of `profile` for summaries. `window` is in our own tokens; `spent` is what it cost so far.

    In its whole life it makes at most ATTEMPTS requests, and one more for each passage after the first. Summarisers
    that share `attempts` keep to that together.
    """

    provisional = False
    fills_budget = False
    marks_progress = True

    def __init__(self, profile: ModelProfile, model: Model, *, mode: str, attempts: Attempts | None = None) -> None:
        window = profile.usable_window
        self.name = profile.name
        self.window: int | None = int(window.size / window.correction)
        self.profile = profile
        self.spent = Spent(0, 0)
        self._model = model
        self._mode = mode
        self._attempts = attempts or Attempts()
        self._passages = 0

    async def summarise(self, passage: Passage) -> Written:
        """Raises CompactionFailed for every fault of the provider."""
        self._passages += 1
        self._attempts.allow(ATTEMPTS + self._passages - 1)
        system, request = wording(passage, template=conf.usual_template(), mode=self._mode, delimiter=_delimiter())
        try:
            reply = await self._model.complete(
                prompt.for_summary(system, request),
                max_tokens=REPLY_SHARE * passage.max_tokens,
                attempts=self._attempts,
            )
        except ModelError as fault:
            raise CompactionFailed("summarise", fault.reason) from fault
        if reply.spent:
            self.spent = self.spent + reply.spent
        if reply.refused:
            raise CompactionFailed("summarise", f"{self.name} refused to summarise")
        return Written(reply.text, finished=reply.finish_reason != "length")


def _delimiter() -> str:
    """One that no text can have guessed."""
    return f"=====[{secrets.token_hex(8)}]====="
