"""Tests a model profile by asking its model for a few words, and explains what is wrong if no answer comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.conf import settings

from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD
from conversations.llm.errors import EmptyReply, ModelError
from conversations.llm.port import ReportedTokens
from conversations.llm.profiles import connect
from conversations.llm.providers.provider import Provider
from conversations.llm.request import Prompt
from conversations.llm.retries import Attempts, in_words
from conversations.models import ModelProfile

QUESTION = "Say hello in three words."
MAX_TOKENS = 16
TIMEOUT_SECONDS = 20.0
"""The time-out of a whole test."""
MAX_ANSWER_CHARS = 120
"""The most characters of the answer that are shown."""


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """The result of a test. `fault` is the reason for people why there was no answer, "" if there was one.

    `spent` are the tokens that the provider reports, `estimated` our own count of the prompt, uncorrected. `offered`
    are the ids of the models that the server lists.
    """

    profile: ModelProfile
    fault: str
    words: str
    ms: int
    estimated: int
    spent: ReportedTokens | None
    offered: tuple[str, ...]

    @property
    def cost(self) -> Decimal | None:
        """The test's cost in US dollars; None if unknown."""
        if self.spent is None:
            return None
        return self.profile.cost(prompt=self.spent.prompt, cached=self.spent.cached, completion=self.spent.completion)


async def test_connections(profiles: Sequence[ModelProfile]) -> list[ConnectionTest]:
    """Test all profiles at the same time; nothing is stored. A model's errors are part of its result, never raised."""
    seconds = min(TIMEOUT_SECONDS, settings.MODEL_TIMEOUT_SECONDS)
    return await asyncio.gather(*(_try(profile, seconds) for profile in profiles))


async def offered_models(profile: ModelProfile) -> tuple[str, ...]:
    """The ids of the models that a profile's server lists; empty if it lists none, or does not answer."""
    seconds = min(TIMEOUT_SECONDS, settings.MODEL_TIMEOUT_SECONDS)
    return _without_key(await _offered(connect(profile, timeout=seconds, attempts=1)), profile)


async def _try(profile: ModelProfile, seconds: float) -> ConnectionTest:
    model = connect(profile, timeout=seconds, attempts=1)
    listing = asyncio.create_task(_offered(model))
    prompt = Prompt(({"role": "user", "content": QUESTION},))
    began = time.monotonic()
    fault, words, spent = "", "", None
    try:
        async with asyncio.timeout(seconds):
            # One attempt; the budget allows further requests in another dialect.
            reply = await model.complete(prompt, max_tokens=MAX_TOKENS, attempts=Attempts())
        words, spent = reply.text, reply.spent
    except EmptyReply as empty:
        words, spent = "", empty.spent
    except ModelError as error:
        fault = f"{error.reason} It says: “{error.provider_words}”" if error.provider_words else error.reason
    except TimeoutError:
        fault = f"{profile.name}: no whole answer came within {in_words(seconds)}."
    ms = round(1000 * (time.monotonic() - began))
    estimated = count_tokens(QUESTION) + MESSAGE_OVERHEAD
    return ConnectionTest(
        profile, fault, _excerpt(words, profile), ms, estimated, spent, _without_key(await listing, profile)
    )


async def _offered(model: object) -> tuple[str, ...]:
    return await model.offered() if isinstance(model, Provider) else ()


def _excerpt(words: str, profile: ModelProfile) -> str:
    """The answer's beginning without the API key, as a server can repeat everything that it was sent."""
    known = words.replace(profile.api_key, "…") if profile.api_key else words
    return " ".join(known.split())[:MAX_ANSWER_CHARS]


def _without_key(ids: tuple[str, ...], profile: ModelProfile) -> tuple[str, ...]:
    return tuple(id for id in ids if id.isprintable() and not (profile.api_key and profile.api_key in id))
