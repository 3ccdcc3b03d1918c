"""Summarises with a model: implements the engine's summariser port by the port to models."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable
from hashlib import sha256

from compression import conf
from compression.core.error_codes import ErrorCode
from compression.core.errors import CompactionFailed
from compression.core.instructions import closing_request, summary_request
from compression.core.tokens import count_tokens
from compression.core.values import Passage, SummariserOutput
from conversations.compaction.answer_store import AnswerStore, NoAnswerStore
from conversations.compaction.concurrency import ConcurrencyLimiter, Slot
from conversations.compaction.prompt_cache_reuse import AnsweredPrefix
from conversations.llm import request
from conversations.llm.errors import ModelError
from conversations.llm.port import Model, Reply, ReportedTokens
from conversations.llm.retries import ATTEMPTS, Attempts, pause_before_next
from conversations.models import ModelProfile

REPLY_SHARE = 2
"""The greatest length of a summary, as a multiple of the requested length.

A longer one is cut off and refused; one between the requested and the greatest length is trimmed.
"""

CROWDED = frozenset({ErrorCode.RATE_LIMITED, ErrorCode.SILENCE})
"""Errors by which a provider refuses several requests at a time: by a limit, or by a queue that is too long."""


class ModelSummariser:
    """Asks the model of `profile` for summaries.

    `window` is the model's window in the site's own tokens, `spent` the usage so far. `has_asked` is True after the
    first request. A summariser makes at most ATTEMPTS requests, and one more for each passage after the first. It makes
    `at_once` of them at a time. A request that the provider refuses because of the others is repeated, and does not
    count. Summarisers that share `attempts` share this limit; one request is reserved for each of the `others` that
    come after this one. `template` replaces the usual template, and a passage's own prompt replaces both. No request is
    made for a passage with an answer in `answers`. `within` is a conversation with the passage: the request for the
    summary continues it.
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
        answers: AnswerStore | None = None,
        attempts: Attempts | None = None,
        at_once: ConcurrencyLimiter | None = None,
        others: int = 0,
        quality: str = "",
        within: AnsweredPrefix | None = None,
    ) -> None:
        window = profile.usable_window
        self.name = profile.name
        self.window: int | None = int(window.size / window.correction) - _excess(template)
        self.profile = profile
        self.spent = ReportedTokens(0, 0)
        self.has_asked = False
        self._model = model
        self._mode = mode
        self._template = template or conf.usual_template()
        self._answers = NoAnswerStore() if answers is None else answers
        self._attempts = attempts or Attempts()
        self._at_once = at_once or ConcurrencyLimiter(1)
        self._others = others
        self._quality = quality
        self._within = within
        self._passages = 0
        self._refused = 0
        self._has_words = False
        self.on_share: Callable[[int, float], None] | None = None
        """Called with a passage's number and the written share of its expected summary, while the model writes."""
        self._given: dict[str, str] = {}
        self._kept: set[str] = set()
        self._stored: set[str] = set()
        self._has_failed = False
        self._accepted: list[str] = []

    async def summarise(self, passage: Passage) -> SummariserOutput:
        """Summarise a passage. Raises CompactionFailed for every fault of the provider."""
        self._passages += 1
        self._allow()
        self._attempts.reserved = self._others
        key = self._key(passage)
        if kept := await self._answers.get(key):
            self._given[key] = kept
            self._stored.add(key)
            return SummariserOutput(kept, saw_all=self._is_within(passage))
        try:
            reply = await self._answered(passage)
        except ModelError as fault:
            raise CompactionFailed("summarise", fault.reason, code=fault.code) from fault
        if reply.refused:
            self._has_failed = True
            raise CompactionFailed("summarise", f"{self.name} refused to summarise", code=ErrorCode.REFUSAL)
        self._given[key] = reply.text
        return SummariserOutput(reply.text, finished=reply.finish_reason != "length", saw_all=self._is_within(passage))

    async def keep(self, passage: Passage) -> None:
        """Keep a passage's answer, which was accepted: it is not paid again, even if the whole summary fails."""
        key = self._key(passage)
        self._kept.add(key)
        if key not in self._stored:
            self._stored.add(key)
            await self._answers.put(key, self._given[key])

    async def settle(self, *, accepted: bool) -> None:
        """Store the answers of an accepted summary, or forget those of a rejected one.

        If a passage of a rejected summary failed or its answer was not kept, the kept answers of the others stay.
        """
        self._accepted = list(self._given) if accepted else []
        if accepted:
            for key, text in self._given.items():
                if key not in self._stored:
                    await self._answers.put(key, text)
        else:
            refused = self._given.keys() - self._kept
            rejected = refused if refused or self._has_failed else self._given.keys()
            if rejected:
                await self._answers.forget(list(rejected))
        self._given, self._kept, self._stored, self._has_failed = {}, set(), set(), False

    @property
    def prompt(self) -> str:
        """The prompt's name in figures: the mode, and the digest of its template."""
        return f"{self._mode} {conf.template_digest(self._template)}"

    @property
    def answers(self) -> list[str]:
        """The keys of the answers in the last accepted summary."""
        return self._accepted

    async def _answered(self, passage: Passage) -> Reply:
        """The reply to a passage's request; refused for too many requests, it is repeated beside fewer others."""
        failed = 0
        while True:
            async with self._at_once.slot() as slot:
                if self._has_failed:  # meanwhile: the summary that this passage is a part of will not be made
                    raise ModelError("another part could not be summarised")
                try:
                    return await self._reply(passage, returned=CROWDED if slot.limit > 1 else frozenset())
                except ModelError as fault:
                    if not self._is_crowded(fault, slot):
                        failed += 1
                        self._pause_or_raise(fault, slot, failed)

    def _is_crowded(self, fault: ModelError, slot: Slot) -> bool:
        """Whether the provider refused a request because of simultaneous ones; from now on it gets fewer at a time.

        Silence is taken for a queue only where the provider has answered others, as another time-out is a long wait.
        """
        if not slot.shared:
            return False
        if fault.code == ErrorCode.SILENCE and self._has_words:
            self._at_once.limit = 1
        elif fault.code == ErrorCode.RATE_LIMITED and (pause := pause_before_next(fault, failed=1)) is not None:
            self._at_once.halve(slot)
            self._at_once.pause(pause)
        else:
            return False
        self._refused += 1
        self._allow()
        return True

    def _pause_or_raise(self, fault: ModelError, slot: Slot, failed: int) -> None:
        """Repeat the request after a pause if the model leaves that to the caller; else raise its error."""
        pause = pause_before_next(fault, failed=failed) if self._attempts.left and failed < ATTEMPTS else None
        if slot.limit == 1 or fault.code not in CROWDED or pause is None:
            self._has_failed = True
            raise fault
        self._at_once.pause(pause)

    def _allow(self) -> None:
        self._attempts.allow(ATTEMPTS + self._passages - 1 + self._refused)

    async def _reply(self, passage: Passage, *, returned: frozenset[str]) -> Reply:
        self.has_asked = True
        prompt, size = self._request(passage)
        own = Attempts(self._attempts.most, within=self._attempts, returned=returned)
        expected = passage.max_tokens * _characters_a_token(passage)
        written = 0

        def on_written(characters: int) -> None:
            nonlocal written
            written = characters
            self._has_words = True
            if self.on_share:
                self.on_share(passage.number, characters / expected)

        try:
            reply = await self._model.complete(
                prompt,
                max_tokens=REPLY_SHARE * passage.max_tokens,
                attempts=own,
                on_written=on_written,
            )
        except asyncio.CancelledError:
            if own.made:
                tokens = written / _characters_a_token(passage)
                self.spent += self._estimated(size, tokens)
            raise
        if reply.spent:
            self.spent = self.spent + reply.spent
        return reply

    def _request(self, passage: Passage) -> tuple[request.Prompt, int]:
        """The prompt of a passage's request, and its tokens by our own count."""
        if self._within and self._is_within(passage):
            words = self._closing(passage, _delimiter())
            return request.for_summary_within(self._within.prompt, words), self._within.tokens + count_tokens(words)
        asked = self._wording(passage, _delimiter())
        return request.for_summary(*asked), sum(map(count_tokens, asked))

    def _is_within(self, passage: Passage) -> bool:
        """Whether a passage's summary is asked for at the end of the conversation itself."""
        return self._within is not None and self._within.holds(passage, window=self.profile.usable_window)

    def _closing(self, passage: Passage, delimiter: str) -> str:
        return closing_request(passage, template=passage.prompt or self._template, mode=self._mode, delimiter=delimiter)

    def _estimated(self, prompt_tokens: int, completion_tokens: float) -> ReportedTokens:
        """The estimated tokens of a cancelled request, for which the provider reports no usage."""
        corrected = self.profile.usable_window.corrected
        return ReportedTokens(corrected(prompt_tokens), corrected(round(completion_tokens)))

    def _wording(self, passage: Passage, delimiter: str) -> tuple[str, str]:
        return summary_request(passage, template=passage.prompt or self._template, mode=self._mode, delimiter=delimiter)

    def _key(self, passage: Passage) -> str:
        """The key of a request: a hash of the model, the quality and all parts of the request.

        The prompt is hashed without its random delimiter, so the parts are hashed separately too: joined ones could be
        ambiguous. With the quality in the key, a fast summary is not reused where a better one is wanted.
        """
        model = (self.profile.provider, self.profile.base_url, self.profile.model_id, passage.max_tokens, self._quality)
        parts = (passage.earlier, passage.goal, passage.instructions)
        within = [self._closing(passage, "")] if self._is_within(passage) else []
        return sha256(json.dumps([*model, *self._wording(passage, ""), *parts, *within]).encode()).hexdigest()


def _excess(template: str) -> int:
    """Tokens that a template takes beyond those that every summariser's window keeps free for the usual one."""
    return max(0, count_tokens(template) - count_tokens(conf.usual_template())) if template else 0


def _characters_a_token(passage: Passage) -> float:
    """The passage's characters per token, which its summary is expected to have too."""
    return max(1.0, len(passage.text) / max(1, sum(turn.tokens for turn in passage.turns)))


def _delimiter() -> str:
    """A random delimiter, which no text can contain on purpose."""
    return f"=====[{secrets.token_hex(8)}]====="
