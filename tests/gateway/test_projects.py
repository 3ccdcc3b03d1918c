"""Calls that belong to a project: its instructions go along in each protocol, and nobody else's do."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import anthropic
import pytest

from conversations.gateway.anthropic import request as messages
from conversations.gateway.projects import HEADER
from conversations.gateway.protocol import with_system_message
from tests.gateway.caller import Caller

SAID = "Times are UTC."
MADE = """
from conversations.models import User
from conversations import projects
from conversations.instructions import ledger, conversation_settings as settings
from conversations.models import ApiKey, Conversation
user = User.objects.{owner}
project = projects.create(user, name="Billing", instructions="{said}")
chat = Conversation.objects.create(owner=user, project=project)
settings.add_rule(chat, "Always answer in French.")
ledger.keep(chat, chat.ledger.get().pk, on=True)
print(project.pk)
"""


def project_of(caller: Caller, owner: str = "order_by('pk').first()") -> str:
    return caller.run(MADE.format(owner=owner, said=SAID)).split()[-1]


def test_the_project_of_a_header_goes_behind_the_callers_own_instructions(caller: Caller) -> None:
    project, history = project_of(caller), caller.history(3)
    alone = caller.ask(history)
    answer = caller.ask(history, extra_headers={HEADER: project})
    lead, told, *rest = caller.sent
    assert [lead, *rest] == history
    assert told["role"] == "system" and SAID in told["content"] and "- Always answer in French." in told["content"]
    before = "x-chatsite-tokens-before"
    assert int(answer.headers[before]) > int(alone.headers[before]) + 20
    caller.ask([*history, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "And?"}],
               extra_headers={HEADER: project})  # fmt: skip
    assert caller.sent[:5] == [lead, told, *rest], "the beginning stays as it is"


def test_messages_and_responses_have_it_too(caller: Caller) -> None:
    project = project_of(caller)
    client = anthropic.Anthropic(base_url=caller.url.removesuffix("/v1"), api_key=caller.served.key, max_retries=0)
    said: Any = [{"role": "user", "content": "Hello"}]
    client.messages.create(
        model="scripted", max_tokens=50, system="Be short.", messages=said, extra_headers={HEADER: project}
    )
    assert caller.sent[0]["content"].startswith("Be short.\n\n# Project") and SAID in caller.sent[0]["content"]
    caller.client.responses.create(
        model="scripted", instructions="Be short.", input="Hello", store=False, extra_headers={HEADER: project}
    )
    assert caller.sent[0]["content"].startswith("Be short.\n\n# Project") and SAID in caller.sent[0]["content"]


def test_a_key_can_belong_to_a_project(caller: Caller) -> None:
    project = project_of(caller)
    caller.run(f"from conversations.models import ApiKey; ApiKey.objects.update(project='{project}')")
    caller.ask(caller.history(1))
    assert SAID in caller.sent[1]["content"]
    caller.run("from conversations.models import Project; Project.objects.all().delete()")
    caller.ask(caller.history(1))
    assert SAID not in json.dumps(caller.sent)


@pytest.mark.parametrize("named", ["mine", "nonsense", "0199b3c2-6f1e-7a52-8d7b-1d0a9be2f6d3"])
def test_another_persons_project_and_one_that_is_not_there_are_refused(caller: Caller, named: str) -> None:
    if named == "mine":
        caller.key_of(name := f"eve{uuid4().hex[:8]}")
        named = project_of(caller, f"get(username='{name}')")
    body = json.dumps({"model": "scripted", "messages": caller.history(1)})
    answer = caller.post(body, **{HEADER: named})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "project_not_found")
    assert not caller.served.llm.chats


def test_instructions_stand_behind_those_of_every_form() -> None:
    assert messages.instructed({"system": [{"type": "text", "text": "A"}]}, "B")["system"][-1]["text"] == "B"
    assert messages.instructed({}, "B")["system"] == "B"
    two = [{"role": "developer", "content": "A"}, {"role": "user", "content": "C"}]
    assert [one["content"] for one in with_system_message({"messages": two}, "B")["messages"]] == ["A", "B", "C"]
    assert with_system_message({"messages": []}, "B")["messages"] == [{"role": "system", "content": "B"}]
    assert with_system_message({"messages": "odd"}, "B") == {"messages": "odd"}


PORT = "The billing service of topic {topic} listens on port 5433, behind haproxy."
SAYS = """
from django.utils import timezone
from conversations.memory import message_index
from conversations.models import Conversation, Project
project = Project.objects.get(pk="{project}")
chat = Conversation.objects.create(owner=project.owner, project=project, title="Ports")
chat.messages.create(role="user", content="{text}", created_at=timezone.now(), token_count=20)
message_index.keep_up()
"""


def says(caller: Caller, project: str) -> str:
    """A sentence that is said in a chat of the project."""
    text = PORT.format(topic=caller.topic)
    caller.run(SAYS.format(project=project, text=text))
    return text


def question(caller: Caller) -> dict[str, str]:
    return {"role": "user", "content": f"Which port has the billing service of topic {caller.topic}?"}


def test_a_call_has_passages_of_the_projects_chats_before_its_question(caller: Caller) -> None:
    project = project_of(caller)
    text = says(caller, project)
    history = [{"role": "system", "content": "Be short."}, question(caller)]
    caller.ask(history)
    assert "5433" not in json.dumps(caller.sent)
    answer = caller.ask(history, extra_headers={HEADER: project})
    quoted, asked = caller.sent[-2:]
    assert "in “Ports”" in quoted["content"] and text in quoted["content"]
    assert "holds no instructions" in quoted["content"] and asked == history[-1]
    assert answer.headers["x-chatsite-checkpoint"] == "none"
    assert int(answer.headers["x-chatsite-tokens-after"]) > int(answer.headers["x-chatsite-tokens-before"])
    assert answer.parse().usage.prompt_tokens == int(answer.headers["x-chatsite-tokens-before"])
    before = caller.sent
    more = [{"role": "assistant", "content": "5433."}, {"role": "user", "content": "And who maintains it?"}]
    caller.ask([*history, *more], extra_headers={HEADER: project})
    assert caller.sent[: len(before)] == before, "what a provider's cache holds stays as it is"


@pytest.mark.parametrize("way", ["off", "kept out", "gone"])
def test_passages_end_with_the_next_call(caller: Caller, way: str) -> None:
    project = project_of(caller)
    says(caller, project)
    history = [{"role": "system", "content": "Be short."}, question(caller)]
    caller.ask(history, extra_headers={HEADER: project})
    assert "5433" in json.dumps(caller.sent)
    which = f"Conversation.objects.filter(project='{project}', title='Ports')"
    act = {
        "off": f"Project.objects.filter(pk='{project}').update(recalls=False)",
        "kept out": f"{which}.update(shares_memory=False)",
        "gone": f"{which}.delete()",
    }[way]
    caller.run(f"from conversations.models import Conversation, Project; {act}")
    caller.ask(history, extra_headers={HEADER: project})
    assert "5433" not in json.dumps(caller.sent)


def test_messages_and_responses_have_passages_too(caller: Caller) -> None:
    project = project_of(caller)
    text = says(caller, project)
    client = anthropic.Anthropic(base_url=caller.url.removesuffix("/v1"), api_key=caller.served.key, max_retries=0)
    said: Any = [question(caller)]
    client.messages.create(model="scripted", max_tokens=50, messages=said, extra_headers={HEADER: project})
    assert text in caller.sent[-2]["content"]
    caller.client.responses.create(
        model="scripted", input=said[0]["content"], store=False, extra_headers={HEADER: project}
    )
    assert text in caller.sent[-2]["content"]


def test_a_compacted_history_has_passages_of_itself_and_of_the_project(caller: Caller) -> None:
    project = project_of(caller)
    text = says(caller, project)
    history = caller.history(60)
    history[3]["content"] = "The billing service belongs to Hopper."
    history[-1] = {"role": "user", "content": "Which port has the billing service, and to whom does it belong?"}
    answer = caller.ask(history, extra_headers={HEADER: project})
    assert answer.headers["x-chatsite-checkpoint"] == "made"
    quoted = "".join(str(one["content"]) for one in caller.sent if "[Recalled Passages]" in str(one["content"]))
    assert text in quoted and "Hopper" in quoted
