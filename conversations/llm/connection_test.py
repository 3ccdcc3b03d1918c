"""Whether a model answers as it is set up: asked for a few words, with what is wrong where it does not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.conf import settings

from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD
from conversations.llm.errors import ModelError, NothingWritten
from conversations.llm.port import Spent
from conversations.llm.profiles import connect
from conversations.llm.provider import Provider
from conversations.llm.request import Prompt
from conversations.llm.retries import Attempts, in_words
from conversations.models import ModelProfile

QUESTION = "Say hello in three words."
MAX_TOKENS = 16
SECONDS = 20.0
"""For all of it."""
MAX_ANSWER_CHARS = 120
"""Characters that are told of what it said."""


@dataclass(frozen=True, slots=True)
class Trial:
    """`fault` says in words why there was no answer, "" where there was one. `spent` is what the provider reports,
    `estimated` our own count of the prompt, uncorrected. `offered` are the models that the server says it has.
    """

    profile: ModelProfile
    fault: str
    words: str
    ms: int
    estimated: int
    spent: Spent | None
    offered: tuple[str, ...]

    @property
    def cost(self) -> Decimal | None:
        """US dollars; None where that is not known."""
        if self.spent is None:
            return None
        return self.profile.cost(prompt=self.spent.prompt, cached=self.spent.cached, completion=self.spent.completion)


async def try_out(profiles: Sequence[ModelProfile]) -> list[Trial]:
    """Each of them, at the same time; nothing is learned from it and nothing stored. Never raises for a model."""
    seconds = min(SECONDS, settings.MODEL_TIMEOUT_SECONDS)
    return await asyncio.gather(*(_try(profile, seconds) for profile in profiles))


async def _try(profile: ModelProfile, seconds: float) -> Trial:
    model = connect(profile, timeout=seconds, attempts=1)
    listing = asyncio.create_task(_offered(model))
    prompt = Prompt(({"role": "user", "content": QUESTION},))
    began = time.monotonic()
    fault, words, spent = "", "", None
    try:
        async with asyncio.timeout(seconds):
            # Once, but a server may have to be asked in another dialect.
            reply = await model.complete(prompt, max_tokens=MAX_TOKENS, attempts=Attempts())
        words, spent = reply.text, reply.spent
    except NothingWritten:
        words = ""
    except ModelError as error:
        fault = error.reason
    except TimeoutError:
        fault = f"{profile.name}: no whole answer came within {in_words(seconds)}."
    ms = round(1000 * (time.monotonic() - began))
    estimated = count_tokens(QUESTION) + MESSAGE_OVERHEAD
    return Trial(profile, fault, _told(words, profile), ms, estimated, spent, _without_key(await listing, profile))


async def _offered(model: object) -> tuple[str, ...]:
    return await model.offered() if isinstance(model, Provider) else ()


def _told(words: str, profile: ModelProfile) -> str:
    """The first words: a server can repeat whatever it was sent, the key included."""
    known = words.replace(profile.api_key, "…") if profile.api_key else words
    return " ".join(known.split())[:MAX_ANSWER_CHARS]


def _without_key(ids: tuple[str, ...], profile: ModelProfile) -> tuple[str, ...]:
    return tuple(id for id in ids if id.isprintable() and not (profile.api_key and profile.api_key in id))
