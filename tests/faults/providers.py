"""What a fault of any provider comes to: a file a provider says which faults it has, and asks for all of this."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, ClassVar

import pytest

from conversations.llm import errors
from conversations.llm.errors import EmptyReply, ModelError
from conversations.llm.port import Delta, Model, Reply
from conversations.llm.request import Prompt, StorageBoundaryError
from tests.llm_server import closed_port

KEY = "sk-secret-0123456789"
WORDS = "the cellar code is 4711"
PROMPT = Prompt(({"role": "system", "content": "Be brief."}, {"role": "user", "content": WORDS}))
QUICK = 5.0
"""Seconds that a call may take in these tests, where no time-out of its own is longer."""


class Naps(list[float]):
    """A sleep that only takes notes."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


async def streamed(model: Model) -> list[Delta]:
    async with aclosing(model.stream(PROMPT)) as deltas:
        return [delta async for delta in deltas]


async def completed(model: Model) -> Reply:
    return await model.complete(PROMPT, max_tokens=50)


VERBS = pytest.mark.parametrize("ask", [streamed, completed])


def assert_readable(error: ModelError) -> None:
    """One or a few sentences that name the model and hold no secret; nor does the traceback that a log would show."""
    assert "Writer" in error.reason and str(error) == error.reason
    assert error.reason.endswith(".") and len(error.reason) < 250
    shown = "".join(traceback.format_exception(error))
    assert KEY not in shown and WORDS not in shown
    assert "direct cause" not in shown and "During handling" not in shown


class ProviderFaults:
    """`final` and `passing` are (scripted answer, error), `midway` scripted answers that break off within the text."""

    final: ClassVar[list[tuple[dict[str, Any], type[ModelError]]]]
    passing: ClassVar[list[tuple[dict[str, Any], type[ModelError]]]]
    midway: ClassVar[list[dict[str, Any]]]
    model_at: Callable[..., Model]

    @VERBS
    async def test_a_final_fault_is_told_at_once(self, llm, model, naps, ask, final):
        how, error = final
        llm.enqueue(**({"message": f"{KEY} said {WORDS}"} | how))
        started = time.monotonic()
        with pytest.raises(error) as caught:
            await ask(model)
        assert time.monotonic() - started < QUICK
        assert len(llm.requests) == 1 and not naps
        assert_readable(caught.value)

    async def test_an_account_at_openai_is_named_to_nobody_else(self, llm, model, naps, monkeypatch):
        monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
        monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
        await completed(model)
        assert "secret" not in str(llm.last_request.headers).replace(KEY, "")

    async def test_a_reply_without_words_at_its_limit_is_final(self, llm, model, naps):
        llm.enqueue("", thoughts="hm", finish_reason="length")
        with pytest.raises(EmptyReply) as caught:
            await streamed(model)
        assert len(llm.requests) == 1 and not naps
        assert_readable(caught.value)

    @VERBS
    async def test_a_passing_fault_is_told_after_three_attempts(self, llm, model, naps, ask, passing):
        how, error = passing
        llm.enqueue(times=3, **({"message": f"{KEY} said {WORDS}"} | how))
        started = time.monotonic()
        with pytest.raises(error) as caught:
            await ask(model)
        assert time.monotonic() - started < QUICK
        assert len(llm.requests) == 3 and len(naps) == 2
        assert caught.value.retryable
        assert_readable(caught.value)

    @VERBS
    async def test_a_passing_fault_costs_nothing_of_the_reply(self, llm, model, naps, ask, passing):
        llm.enqueue(**passing[0])
        llm.enqueue("Here I am.")
        said = await ask(model)
        assert (said.text if ask is completed else "".join(delta.text for delta in said)) == "Here I am."
        assert len(naps) == 1

    async def test_a_stream_is_not_asked_again_once_a_piece_was_given_out(self, llm, model, naps, midway):
        llm.enqueue("one two three four", message=f"{KEY} said {WORDS}", **midway)
        got = []
        with pytest.raises(errors.BrokenReply) as caught:
            async for delta in model.stream(PROMPT):
                got.append(delta.text)
        assert "".join(got).startswith("one two")
        assert len(llm.requests) == 1 and not naps
        assert_readable(caught.value)

    async def test_a_whole_reply_is_asked_again_when_it_breaks_off(self, llm, model, midway):
        llm.enqueue("one two three four", **midway)
        llm.enqueue("five six")
        assert (await completed(model)).text == "five six"

    @VERBS
    async def test_a_closed_port_is_told_after_three_attempts(self, naps, ask):
        with closed_port() as url, pytest.raises(errors.Unavailable, match="cannot be reached") as caught:
            await ask(self.model_at(url, naps))
        assert len(naps) == 2
        assert_readable(caught.value)

    async def test_turns_share_a_connection(self, llm, naps):
        for _ in range(3):
            await completed(self.model_at(llm.url, naps))
        assert llm.connections == 1

    async def test_only_an_assembled_prompt_leaves(self, llm, model):
        with pytest.raises(StorageBoundaryError):
            await model.complete([{"role": "user", "content": WORDS}], max_tokens=5)
        with pytest.raises(StorageBoundaryError):
            await anext(model.stream({"messages": []}))
        assert not llm.requests
