"""Requests between two compactions begin alike, so that a provider's cache holds: recall keeps its words and place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from tests.gateway.caller import Caller, Messages, checkpoint

RECALLED = "[Recalled Passages]"
REMINDER = "<system-reminder>\nBe careful. Never print the port of service 9.\n</system-reminder>"
READ = {"name": "read", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}


@pytest.fixture
def wide(caller: Caller) -> Iterator[Caller]:
    """A caller of a model whose window holds passages of several questions."""
    caller.run(
        "from conversations.models import ModelProfile\n"
        "ModelProfile.objects.get_or_create(name='wide', defaults={'model_id': 'scripted', 'window': 16_000, "
        f"'base_url': '{caller.served.llm.url}', 'token_correction': 1.0}})"
    )
    yield caller
    caller.rows("DELETE FROM conversations_modelprofile WHERE name = 'wide'")


def about_services(caller: Caller, *, count: int = 60, words: int = 10) -> Messages:
    """A system prompt and a history that is over the window: messages of ten services, the last a question."""
    history = caller.history(count, words=words)
    for number in range(1, 11):
        text = f"Topic {caller.topic}: service {number} listens on port {6100 + number}; its owner is Team{number}."
        history[2 * number]["content"] = f"{text} {'filler ' * 8}"
    history[-1]["content"] = "Which port has service 4, and who is its owner?"
    return history


def passages(sent: Messages) -> list[tuple[int, str]]:
    """(place, text) of each message with recalled passages."""
    return [(at, one["content"]) for at, one in enumerate(sent) if str(one["content"]).startswith(RECALLED)]


def step(number: int) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"path": f"f{number}"}}
    result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"file {number}: service {number} is up"}
    reminder = {"type": "text", "text": REMINDER}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result, reminder]}]


def test_passages_keep_their_words_and_place_while_tools_are_called(caller: Caller) -> None:
    client = anthropic.Anthropic(base_url=caller.served.site.url, api_key=caller.served.key, max_retries=0)
    system, *messages = about_services(caller)
    before: Messages = []
    for number in range(8):
        client.messages.create(
            model="scripted", max_tokens=200, system=system["content"], messages=messages, tools=[READ]  # type: ignore[arg-type]
        )  # fmt: skip
        sent = caller.sent
        [(place, text)] = passages(sent)
        assert "port 6104" in text
        assert "service 4" in sent[place + 1]["content"]
        assert sent[: len(before)] == before
        before = sent
        messages = [*messages, *step(number)]


def test_passages_of_earlier_questions_stay_where_they_were_asked_for(wide: Caller) -> None:
    messages = about_services(wide, count=240, words=20)
    messages[-1]["content"] = "Who is Team4?"
    assert checkpoint(wide.ask(messages, model="wide")) == "made"
    before = wide.sent
    for number in (7, 2):
        answer = {"role": "assistant", "content": "All right."}
        question = {"role": "user", "content": f"And who is Team{number}?"}
        messages = [*messages, answer, question]
        assert checkpoint(wide.ask(messages, model="wide")) == "hit"
        sent = wide.sent
        assert f"port {6100 + number}" in "".join(text for _, text in passages(sent))
        assert sent[: len(before)] == before
        quoted = [line for _, text in passages(sent) for line in text.splitlines() if line.startswith("> Topic")]
        assert len(quoted) == len(set(quoted)), "a passage stands twice"
        before = sent


def test_passages_are_those_of_the_messages_as_they_are(caller: Caller) -> None:
    """References are kept, not texts: what is deleted is not recalled again."""
    messages = about_services(caller)
    caller.ask(messages)
    assert passages(caller.sent)
    caller.rows("DELETE FROM conversations_message WHERE content LIKE '%port 6104%' AND content LIKE ?",
                f"%Topic {caller.topic}:%")  # fmt: skip
    caller.ask(messages)
    assert "port 6104" not in "".join(text for _, text in passages(caller.sent))


@pytest.mark.parametrize("count", [3, 12])
def test_earlier_passages_leave_half_of_the_budget_to_the_latest_question(caller: Caller, count: int) -> None:
    messages = about_services(caller)
    caller.ask(messages)
    for number in range(count):
        answer = {"role": "assistant", "content": "All right."}
        messages = [*messages, answer, {"role": "user", "content": f"Who owns service {1 + number % 10}?"}]
        caller.ask(messages)
        found = passages(caller.sent)
        assert sum(len(text) for _, text in found) < 4 * 650, "18 % of 3,400 tokens"


def test_equal_histories_of_two_people_have_their_own_passages(caller: Caller) -> None:
    messages = about_services(caller)
    caller.ask(messages)
    assert "port 6104" in "".join(text for _, text in passages(caller.sent))
    bob = Caller(caller.served, key=caller.key_of("bob-who-recalls"))
    bob.ask(messages)
    assert "port 6104" in "".join(text for _, text in passages(bob.sent))
