"""A compacted history goes to Claude as Messages: with the caller's blocks, signed thoughts and marks for the cache."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from conversations.gateway.anthropic.upstream import with_tokens
from tests.gateway.caller import Caller
from tests.gateway.test_projects import HEADER, project_of, question, says
from tests.llm_messages import SIGNATURE

EPHEMERAL = {"type": "ephemeral"}
SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 2}
BASH = {"type": "bash_20250124", "name": "bash"}
READ = {"name": "read", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}
SYSTEM = [{"type": "text", "text": "You are a coder.", "cache_control": EPHEMERAL},
          {"type": "text", "text": "Be exact.", "cache_control": EPHEMERAL}]  # fmt: skip
PDF = {
    "type": "document",
    "title": "plan",
    "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x"},
}


@pytest.fixture
def claude(caller: Caller) -> Iterator[Caller]:
    caller.run(
        "from conversations.models import ModelProfile\n"
        "ModelProfile.objects.get_or_create(name='claude', defaults={'provider': 'anthropic', 'model_id': 'claude-x', "
        f"'base_url': '{caller.served.llm.url}', 'api_key': 'sk-ant', 'window': 9_000, 'token_correction': 1.0}})"
    )
    yield caller
    caller.rows("DELETE FROM conversations_modelprofile WHERE name = 'claude'")


def step(number: int, topic: int) -> list[dict[str, Any]]:
    """A call of a tool with a signed thought, and its result."""
    use = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"path": f"{topic}/f{number}.py"}}
    thought = {"type": "thinking", "thinking": f"I read file {number}.", "signature": SIGNATURE}
    result = {
        "type": "tool_result",
        "tool_use_id": f"c{number}",
        "content": f"file {number}: " + f"line{number} " * 120,
    }
    return [{"role": "assistant", "content": [thought, use]}, {"role": "user", "content": [result]}]


def ask(caller: Caller, messages: list[dict[str, Any]], **more: Any) -> Any:
    client = anthropic.Anthropic(base_url=caller.served.site.url, api_key=caller.served.key, max_retries=0)
    given: dict[str, Any] = {"model": "claude", "max_tokens": 2_500, "system": SYSTEM, "messages": messages,
           "tools": [READ, BASH, SEARCH], "thinking": {"type": "enabled", "budget_tokens": 1_024}} | more  # fmt: skip
    if more.get("stream"):
        with client.messages.stream(**{name: value for name, value in given.items() if name != "stream"}) as stream:
            return stream.get_final_message()
    return client.messages.create(**given)


def marks(body: dict[str, Any]) -> list[str]:
    """Where the marks for the cache stand: s(ystem) and m(essages)."""
    blocks = [("s", block) for block in body["system"]]
    blocks += [("m", block) for message in body["messages"] for block in message["content"]]
    return [where for where, block in blocks if block.get("cache_control")]


def test_an_agent_lives_through_compactions_with_its_own_blocks(claude: Caller) -> None:
    llm = claude.served.llm
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": f"Read {claude.topic}."}, PDF]}
    ]
    compacted = 0
    for number in range(40):
        messages += step(number, claude.topic)
        last = messages[-1]["content"][-1]
        sent_by_caller = [*messages[:-1], {"role": "user", "content": [last | {"cache_control": EPHEMERAL}]}]
        llm.enqueue("All right.", thoughts="Hm.")
        answer = ask(claude, sent_by_caller, stream=True)
        assert answer.content[-1].text
        sent = llm.chats[-1]
        assert sent.path == "/v1/messages"
        assert sent.body["tools"] == [READ, BASH, SEARCH]
        if len(sent.body["messages"]) < len(messages):
            compacted += 1
            assert len(marks(sent.body)) <= 4 and marks(sent.body)[-1] == "m"
            assert sent.body["messages"][-2:] == sent_by_caller[-2:], "the newest blocks are the caller's own"
            usage = answer.usage
            kept = (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
            assert usage.input_tokens + kept > sent.tokens, "the caller is told the tokens of what it sent"
    assert compacted > 5
    assert {block["type"] for message in sent.body["messages"] for block in message["content"]} >= {
        "thinking",
        "tool_use",
    }
    assert any("ummary" in block["text"] and block["cache_control"] for block in sent.body["system"][len(SYSTEM) :])


def test_thoughts_leave_room_for_the_answer_in_a_full_window(claude: Caller) -> None:
    """Claude Code asks for 31,999 tokens of thoughts in 32,000: the limit is lowered to the room that there is."""
    messages = [{"role": "user", "content": "Read all files."}]
    for number in range(40):
        messages += step(number, claude.topic)
    claude.served.llm.enqueue("All read.", thoughts="Enough.")
    thinking = {"type": "enabled", "budget_tokens": 31_999}
    assert ask(claude, messages, max_tokens=32_000, thinking=thinking, stream=True).stop_reason == "end_turn"
    sent = claude.served.llm.last_request.body
    budget, limit = sent["thinking"]["budget_tokens"], sent["max_tokens"]
    assert 1_024 <= budget < limit < 9_000


def test_a_beta_that_a_server_refuses_is_left_out_and_not_sent_again(claude: Caller) -> None:
    llm = claude.served.llm
    llm.enqueue(status=400, message="invalid beta flag")
    betas = {"anthropic-beta": "context-1m-2025-08-07"}
    for _ in range(2):
        assert (
            ask(claude, [{"role": "user", "content": [{"type": "text", "text": "Hi."}]}], extra_headers=betas)
            .content[0]
            .text
            == "All right."
        )
    assert ["anthropic-beta" in request.headers for request in llm.chats] == [True, False, False]


def test_marks_are_set_where_the_caller_sets_none(claude: Caller) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Read {claude.topic}."}]
    for number in range(40):
        messages += step(number, claude.topic)
    ask(claude, messages, system="You are a coder.")
    body = claude.served.llm.last_request.body
    assert len(body["messages"]) < len(messages)
    assert marks(body) == ["s", "m", "m"]
    assert body["system"][0] == {"type": "text", "text": "You are a coder."}


def test_marks_of_an_hour_stay_of_an_hour(claude: Caller) -> None:
    """The API refuses a mark of an hour behind one of five minutes."""
    hour = {"type": "ephemeral", "ttl": "1h"}
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Read {claude.topic}."}]
    for number in range(40):
        messages += step(number, claude.topic)
    ask(claude, messages, system=[{"type": "text", "text": "You are a coder.", "cache_control": hour}])
    body = claude.served.llm.last_request.body
    found = [*body["system"], *(block for message in body["messages"] for block in message["content"])]
    assert [block["cache_control"] for block in found if "cache_control" in block] == [hour] * 4


def test_before_another_provider_typed_tools_are_still_refused(caller: Caller) -> None:
    with pytest.raises(anthropic.BadRequestError, match="only tools that the caller carries out"):
        ask(caller, [{"role": "user", "content": "hi"}], model="scripted", thinking={"type": "disabled"})


def test_an_answer_has_the_tokens_that_the_caller_sent() -> None:
    usage = {"input_tokens": 90, "cache_read_input_tokens": 400, "cache_creation_input_tokens": 10, "output_tokens": 7}
    whole = json.loads(with_tokens(json.dumps({"type": "message", "usage": usage}), 2_000))
    assert whole["usage"] == usage | {"input_tokens": 1_590}
    assert (
        json.loads(with_tokens(json.dumps({"message": {"usage": usage}}), 100))["message"]["usage"]["input_tokens"] == 0
    )
    assert with_tokens("no JSON", 5) == "no JSON" and with_tokens("[1]", 5) == "[1]"


def test_claude_gets_passages_of_a_project_as_messages(claude: Caller) -> None:
    project = project_of(claude)
    text = says(claude, project)
    asked = question(claude)["content"]
    said: list[dict[str, Any]] = [{"role": "user", "content": asked}]
    ask(claude, said, extra_headers={HEADER: project})
    body = claude.served.llm.chats[-1].body
    assert text in json.dumps(body["messages"][0]["content"][0], ensure_ascii=False)
    assert body["messages"][0]["content"][-1]["text"] == asked
    assert body["tools"] == [READ, BASH, SEARCH]
    said += [{"role": "assistant", "content": "5433."}, {"role": "user", "content": "And who maintains it?"}]
    ask(claude, said, extra_headers={HEADER: project})
    later = claude.served.llm.chats[-1].body
    assert unmarked(later["messages"][0]) == unmarked(body["messages"][0])


def unmarked(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: value for name, value in block.items() if name != "cache_control"} for block in message["content"]]
