"""Any OpenAI client, unchanged, through the gateway to a model."""

from __future__ import annotations

from tests.gateway.caller import Caller


def test_a_short_history_goes_through_untouched(caller: Caller) -> None:
    messages = caller.history(3)
    caller.served.llm.enqueue("Hello there.")
    answer = caller.ask(messages, temperature=0.3, seed=7)
    assert answer.parse().choices[0].message.content == "Hello there."
    assert caller.sent == messages
    body = caller.served.llm.last_request.body
    assert (body["temperature"], body["seed"]) == (0.3, 7)
    assert answer.headers["x-chatsite-checkpoint"] == "none"
    assert answer.headers["x-chatsite-tokens-before"] == answer.headers["x-chatsite-tokens-after"]


def test_a_history_over_the_window_is_folded_once_while_it_grows(caller: Caller) -> None:
    messages = caller.history(61)
    first = caller.ask(messages)
    assert first.headers["x-chatsite-checkpoint"] == "made"
    summaries = len(caller.served.llm.summaries)
    assert summaries >= 1
    assert caller.sent[0] == messages[0]
    assert caller.sent[1]["content"].startswith("[Compressed Message Summary]")
    assert caller.sent[2:] == messages[-len(caller.sent) + 2 :]
    assert int(first.headers["x-chatsite-tokens-after"]) < int(first.headers["x-chatsite-tokens-before"]) / 2

    messages += [{"role": "assistant", "content": "All right."}, {"role": "user", "content": "And then?"}]
    second = caller.ask(messages)
    assert second.headers["x-chatsite-checkpoint"] == "hit"
    assert len(caller.served.llm.summaries) == summaries
    assert caller.sent[-2:] == messages[-2:]


def test_a_stream_comes_as_the_provider_sends_it(caller: Caller) -> None:
    caller.served.llm.enqueue("One two three.")
    stream = caller.client.chat.completions.create(model="scripted", messages=caller.history(1), stream=True)
    chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "One two three."
    assert all(chunk.choices for chunk in chunks)
