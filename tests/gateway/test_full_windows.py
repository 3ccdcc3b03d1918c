"""Where instructions and tools fill the window: few summaries, or one refusal that names the parts."""

from __future__ import annotations

import json

import pytest

from compression.core.tokens import count_tokens
from tests.gateway.caller import Caller, Messages, checkpoint

CALLS = 20


def instructions(tokens: int, topic: int) -> Messages:
    """A system prompt of about so many tokens, and a task."""
    rules = f"Topic {topic}. " + "be careful with it " * (tokens // 4)
    return [{"role": "system", "content": rules}, {"role": "user", "content": f"Repair service {topic}."}]


def step(number: int, topic: int) -> Messages:
    arguments = json.dumps({"path": f"{topic}/f{number}.py"})
    call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": arguments}}
    result = f"file {number}: " + " ".join(f"name{topic}x{number}x{word}" for word in range(25))
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


def test_a_model_is_asked_for_at_most_one_summary_in_ten_calls(caller: Caller) -> None:
    messages, made = instructions(2_000, caller.topic), []
    for number in range(CALLS):
        answer = caller.ask(messages)
        if checkpoint(answer) == "made":
            made.append(number)
        caller.call(count=number + 1)  # it is counted once it is recorded
        messages = [*messages, *step(number, caller.topic)]
    assert len(made) > 2, "room was needed often"
    assert 1 <= caller.summaries <= CALLS / 10 + 1
    rows = caller.rows("SELECT summariser FROM compression_compaction WHERE status = 'succeeded' ORDER BY created_at")
    assert "extractive" in [row["summariser"] for row in rows[-len(made) :]]


def test_notices_that_an_agent_gets_as_system_messages_never_fill_the_window(caller: Caller) -> None:
    """Claude Code adds them for as long as it works: files that changed, diagnostics, reminders."""
    rule = {"role": "system", "content": f"Skills of topic {caller.topic}: review, verify."}
    messages = [*instructions(200, caller.topic), rule]
    notices = []
    for number in range(60):
        notice = f"Note: {caller.topic}/f{number}.py was modified. " + f"line{number} = {number} " * 12
        notices.append({"role": "system", "content": notice})
        messages = [*messages, *step(number, caller.topic), notices[-1]]
        assert caller.ask(messages).status_code == 200
        assert rule in caller.sent and notices[-1] in caller.sent, "what is in force stays"
    assert notices[0] not in caller.sent
    assert caller.summaries
    summarised = "\n".join(request.text for request in caller.served.llm.summaries)
    assert any(f"f{number}.py was modified" in summarised for number in range(20))


@pytest.mark.parametrize("calls", [1, 5])
def test_what_instructions_alone_overfill_is_refused_before_anything_is_summarised(caller: Caller, calls: int) -> None:
    messages = instructions(3_500, caller.topic)
    for number in range(calls):
        answer = caller.post(json.dumps({"model": "scripted", "messages": messages}))
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert error["code"] == "context_length_exceeded"
        assert error["detail"]["system"] > error["detail"]["budget"]
        messages = [*messages, *step(number, caller.topic)]
    assert caller.served.llm.received == []


@pytest.mark.parametrize(("name", "provider"), [("capped", "openai"), ("capped-claude", "anthropic")])
def test_the_limit_that_a_provider_names_becomes_the_window(caller: Caller, name: str, provider: str) -> None:
    llm = caller.served.llm
    caller.run(
        "from conversations.models import ModelProfile\n"
        f"ModelProfile.objects.create(name='{name}', model_id='{name}', window=131_072, provider='{provider}', "
        f"api_key='sk-x', base_url='{llm.url}')"
    )
    try:
        history = caller.history(161)
        llm.enqueue(status=413, message="Request body too large. Max size: 5000 tokens.")
        caller.ask(history, model=name)
        (row,) = caller.rows('SELECT "window", window_replaced FROM conversations_modelprofile WHERE name = ?', name)
        assert row == {"window": 5_000, "window_replaced": 131_072}
        first, again = (count_tokens(json.dumps(one.body["messages"])) for one in llm.chats)
        assert again < 5_000 < first
    finally:
        caller.rows("DELETE FROM conversations_modelprofile WHERE name = ?", name)
