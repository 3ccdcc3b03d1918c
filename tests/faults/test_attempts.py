"""At most 3 requests a compaction, and one more for each passage after the first and for each refused form."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product

import pytest

from compression.core.errors import CompactionFailed
from compression.core.values import Passage, Turn
from conversations.compaction.model_summariser import ModelSummariser
from conversations.llm.errors import Unavailable
from conversations.llm.providers.anthropic import Anthropic
from conversations.llm.providers.openai import OpenAICompatible
from conversations.llm.retries import Attempts
from conversations.models import ModelProfile
from tests.faults.providers import PROMPT, Naps

PROVIDERS = pytest.mark.parametrize("kind", [OpenAICompatible, Anthropic])
TURN = Turn(id="1", role="user", content="Use port 5433.", created_at=datetime(2026, 1, 5, tzinfo=UTC), tokens=9)
PASSAGE = Passage(turns=(TURN,), text="[user]\nUse port 5433.", earlier="", max_tokens=100, level=3)
FAULTS = {"fine": {}, "down": {"status": 503}, "choosy": {"status": 400, "message": "stream_options, thinking?"}}


def model_at(kind, llm, name="writer-1"):
    return kind(name="Writer", model=name, base_url=llm.url, api_key="sk-1", sleep=Naps())


def summariser(model, **how):
    return ModelSummariser(ModelProfile(name="Writer"), model, mode="assistant", **how)


async def summarised(asked: ModelSummariser, passages: int) -> int:
    """How many of the passages were summarised before the model failed."""
    for done in range(passages):
        try:
            await asked.summarise(PASSAGE)
        except CompactionFailed:
            return done
    return passages


@PROVIDERS
@pytest.mark.parametrize("passages", [1, 2, 4])
async def test_no_order_of_faults_makes_a_summariser_ask_more_often_than_it_may(llm, kind, passages):
    for number, faults in enumerate(product(FAULTS, repeat=4)):
        llm.clear()
        for fault in faults:
            llm.enqueue_summary(**FAULTS[fault])
        llm.enqueue_summary(times=20, status=503)
        done = await summarised(summariser(model_at(kind, llm, f"writer-{number}")), passages)
        assert len(llm.requests) <= 3 + (passages - 1) + faults.count("choosy"), faults
        assert len(llm.requests) > done or done == passages, faults


@PROVIDERS
async def test_attempts_that_one_passage_saves_are_there_for_the_next(llm, kind):
    llm.enqueue_summary()
    llm.enqueue_summary(times=2, status=503)
    llm.enqueue_summary(times=2)
    assert await summarised(summariser(model_at(kind, llm)), 3) == 3
    assert len(llm.requests) == 5


@PROVIDERS
async def test_every_passage_has_an_attempt_of_its_own(llm, kind):
    llm.enqueue_summary(times=2, status=503)
    assert await summarised(summariser(model_at(kind, llm)), 6) == 6
    assert len(llm.requests) == 8


async def test_two_summarisers_with_one_budget_keep_to_it_together(llm):
    llm.enqueue_summary(times=20, status=503)
    attempts = Attempts()
    for kind in (OpenAICompatible, Anthropic):
        assert await summarised(summariser(model_at(kind, llm), attempts=attempts), 1) == 0
    assert len(llm.requests) == 3


@PROVIDERS
async def test_a_chat_can_share_a_budget_too(llm, kind):
    attempts = Attempts(2)
    llm.enqueue(times=9, status=503)
    with pytest.raises(Unavailable):
        [_ async for _ in model_at(kind, llm).stream(PROMPT, attempts=attempts)]
    with pytest.raises(Unavailable, match="as often as is allowed"):
        await model_at(kind, llm).complete(PROMPT, max_tokens=5, attempts=attempts)
    assert len(llm.requests) == attempts.made == 2
    assert attempts.left == 0


@PROVIDERS
async def test_calls_without_a_shared_budget_have_each_their_own(llm, kind):
    model = model_at(kind, llm)
    for _ in range(2):
        llm.enqueue(times=2, status=503)
        assert (await model.complete(PROMPT, max_tokens=5)).text == "All right."


def test_a_budget_grows_only_to_what_is_asked():
    attempts = Attempts(3)
    attempts.allow(2)
    assert attempts.most == 3
    attempts.allow(4)
    assert [attempts.take() for _ in range(5)] == [True, True, True, True, False]


@PROVIDERS
async def test_what_many_passages_saved_does_not_make_the_last_one_wait_for_minutes(llm, kind):
    """Found by a life of a conversation: eleven kept answers left thirteen attempts, each after twice the pause."""
    model = model_at(kind, llm)
    asked = summariser(model)
    for _ in range(11):
        await asked.summarise(PASSAGE)
    llm.clear()
    llm.enqueue_summary(times=20, status=503)
    assert await summarised(asked, 1) == 0
    assert len(llm.requests) == 3
