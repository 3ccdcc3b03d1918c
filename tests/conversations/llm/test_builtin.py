"""The real engine with the real model. Where they are not on this machine, `manage.py fetch_model` brings them."""

from __future__ import annotations

import asyncio
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path

import pytest
from django.conf import settings

from conversations.llm.errors import ContextTooLong, NotConfigured
from conversations.llm.providers.builtin import NAME, Builtin
from conversations.llm.providers.fair_lock import FairLock
from conversations.llm.request import Prompt

pytestmark = pytest.mark.once

PLACES = [settings.BUILTIN_MODEL_PATH, Path(settings.BASE_DIR, "var", "models", settings.BUILTIN_MODEL_PATH.name)]
MODEL = next((path for path in PLACES if path.is_file()), None)
ENGINE = find_spec("xllamacpp") is not None

needs_engine = pytest.mark.skipif(not ENGINE, reason="NOT TESTED: no xllamacpp; run `manage.py fetch_model`")
needs_model = pytest.mark.skipif(
    not (ENGINE and MODEL), reason="NOT TESTED: the built-in model is not there; run `manage.py fetch_model`"
)


def asking(text: str) -> Prompt:
    return Prompt(({"role": "system", "content": "You are a helpful assistant."}, {"role": "user", "content": text}))


@pytest.fixture
async def model() -> AsyncIterator[Builtin]:
    model = Builtin(MODEL, idle_seconds=0.3)
    yield model
    await freed(model)


async def freed(model: Builtin) -> None:
    limit = time.monotonic() + 10
    while model.is_loaded:
        assert time.monotonic() < limit, "the model was not freed"
        await asyncio.sleep(0.05)


@needs_model
async def test_it_is_loaded_when_first_asked_and_answers(model):
    assert not model.is_loaded
    reply = await model.complete(asking("What is the capital of France?"), max_tokens=20)
    assert model.is_loaded
    assert reply.text.strip() and reply.spent.prompt > 20 and 0 < reply.spent.completion <= 20


@needs_model
async def test_it_answers_one_request_at_a_time_in_order(model):
    order: list[str] = []

    async def ask(number: int) -> None:
        async with aclosing(model.stream(asking(f"Count from {number}."))) as deltas:
            await anext(deltas)
            order.append(f"{number} begins")
            for _ in range(4):
                await anext(deltas)
            order.append(f"{number} ends")

    await asyncio.gather(*(ask(number) for number in range(3)))
    assert order == [f"{number} {what}" for number in range(3) for what in ("begins", "ends")]


@needs_model
async def test_it_is_freed_when_idle_and_comes_back_at_the_same_port(model):
    await model.complete(asking("Hello"), max_tokens=3)
    first = model._engine.start()
    await freed(model)
    assert (await model.complete(asking("Hello"), max_tokens=3)).text
    assert model._engine.start() == first


@needs_model
async def test_it_is_not_freed_while_it_answers(model):
    model._engine._idle_seconds = 0.01
    async with aclosing(model.stream(asking("Tell a long story."))) as deltas:
        for _ in range(10):
            await anext(deltas)
            await asyncio.sleep(0.02)
        assert model.is_loaded


@needs_model
async def test_stopping_a_reply_lets_the_next_one_begin(model):
    async with aclosing(model.stream(asking("Tell a very long story."))) as deltas:
        await anext(deltas)
    started = time.monotonic()
    await model.complete(asking("Hello"), max_tokens=2)
    assert time.monotonic() - started < 3


@needs_model
async def test_a_prompt_larger_than_its_window_is_told(model):
    with pytest.raises(ContextTooLong, match="larger window"):
        await model.complete(asking("word " * 9_000), max_tokens=5)


@needs_model
async def test_another_program_on_the_machine_cannot_use_it(model):
    await model.complete(asking("Hello"), max_tokens=2)
    request = urllib.request.Request(f"{model._engine.start()}/v1/chat/completions", data=b'{"messages": []}')
    with pytest.raises(urllib.error.HTTPError) as caught:
        await asyncio.to_thread(urllib.request.urlopen, request, timeout=5)
    assert caught.value.code == 401


@needs_engine
async def test_a_damaged_file_is_told_with_what_to_do(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF and nothing more")
    with pytest.raises(NotConfigured, match="fetch_model") as caught:
        await Builtin(path).complete(asking("Hello"), max_tokens=2)
    assert NAME in caught.value.reason and str(tmp_path) not in caught.value.reason


async def test_the_gate_lets_one_pass_at_a_time_in_order():
    gate, order = FairLock(), []

    async def pass_through(number: int) -> None:
        async with gate:
            order.append(number)
            await asyncio.sleep(0)
            assert order[-1] == number

    await asyncio.gather(*(pass_through(number) for number in range(20)))
    assert order == list(range(20))


async def test_one_that_gives_up_waiting_does_not_block_the_others():
    gate, passed = FairLock(), []

    async def pass_through(name: str) -> None:
        async with gate:
            passed.append(name)

    await gate.__aenter__()
    first, second = (asyncio.create_task(pass_through(name)) for name in ("first", "second"))
    await asyncio.sleep(0)
    first.cancel()
    await gate.__aexit__()
    await asyncio.wait_for(second, 1)
    assert passed == ["second"]


async def test_one_that_gives_up_as_its_turn_comes_hands_it_on():
    gate = FairLock()
    await gate.__aenter__()
    waiting = asyncio.create_task(gate.__aenter__())
    await asyncio.sleep(0)
    await gate.__aexit__()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.wait_for(gate.__aenter__(), 1)


async def test_the_gate_holds_across_event_loops():
    gate, inside, most = FairLock(), 0, 0

    async def pass_through() -> None:
        nonlocal inside, most
        for _ in range(50):
            async with gate:
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1

    loops = [asyncio.to_thread(asyncio.run, pass_through()) for _ in range(3)]
    await asyncio.wait_for(asyncio.gather(pass_through(), *loops), 10)
    assert (inside, most) == (0, 1)
