"""What holds for agents as for chats: rules, instructions and policy of their person, and a history to begin from."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from compression.core.values import Steering
from compression.models import Compaction
from conversations.compaction import compaction, trigger
from conversations.context import prompt, transcript
from conversations.errors import Invalid
from conversations.exchange.exports import as_json
from conversations.exchange.imports import import_conversations
from conversations.instructions.conversation_settings import change
from conversations.models import Conversation, Message, User
from conversations.requests import usage
from conversations.turns import forks
from tests.agents.conftest import ToolChat
from tests.agents.rows import worked
from tests.agents.test_executor import more, task
from tests.agents.test_flows import history, rows, talked
from tests.conversations.api_client import Api, refused

pytestmark = pytest.mark.once
RULE, OWN = "Never use port 8080", "Answer in short sentences."


@pytest.fixture
def api(user: User) -> Api:
    return Api(user)


async def test_an_executor_is_told_the_rules_and_instructions_of_its_person_as_they_are_now(agent: ToolChat) -> None:
    agent.conversation.system_prompt = OWN
    await agent.conversation.asave()
    await sync_to_async(change)(agent.conversation, rules=[RULE])
    agent.llm.enqueue("", calls=[task("Book a room.")])
    agent.llm.enqueue("PARTIAL RESULT\nWhich one?")
    agent.llm.enqueue("It asks which one.")
    await agent.asks("Book a room.")
    first = agent.llm.chats[1].messages[0]
    assert first["role"] == "system" and RULE in first["content"] and OWN in first["content"]
    await sync_to_async(change)(agent.conversation, rules=["Always say please"])
    agent.llm.enqueue("", calls=[more("The blue one.")])
    agent.llm.enqueue("Booked.")
    agent.llm.enqueue("It is booked.")
    await agent.asks("The blue one.")
    later = next(one for one in agent.llm.chats[4:] if "carry out a task for a planner" in one.text).messages[0]
    assert "Always say please" in later["content"] and RULE not in later["content"]
    run = await agent.run()
    measured = await sync_to_async(usage.usage_of_conversation)(run.thread)
    assert measured is not None and measured.system == prompt.system_tokens(
        (await sync_to_async(transcript.load)(run.thread.pk)).head
    )


async def test_an_agent_that_is_not_compressed_asks_no_summariser_and_keeps_to_its_last_messages(
    agent: ToolChat,
) -> None:
    await sync_to_async(talked)(agent.conversation, "agent", 40, 150)
    await sync_to_async(change)(agent.conversation, policy={"enabled": False})
    loaded = await trigger.ensure_room(agent.conversation.pk)
    assert not agent.llm.summaries
    assert 5 <= len(loaded.turns) <= 10 and history(loaded) <= 2_500
    (row,) = await rows(agent.conversation)
    assert (row.status, row.summariser, row.trigger) == ("succeeded", "truncation", "auto")


async def test_small_messages_of_an_agent_that_is_not_compressed_are_ten_at_most(agent: ToolChat) -> None:
    await sync_to_async(talked)(agent.conversation, "agent", 60, 36)
    await sync_to_async(change)(agent.conversation, policy={"enabled": False})
    loaded = await trigger.ensure_room(agent.conversation.pk)
    assert len(loaded.turns) == 10 and "omitted, stored in full" in (loaded.head.compressed_context or "")


async def test_a_policy_that_is_off_reaches_the_executor(agent: ToolChat) -> None:
    run = await sync_to_async(worked)(agent.conversation)
    await sync_to_async(talked)(run.thread, "executor", 20, 85)
    assert (await trigger.ensure_room(run.thread.pk)).head.compressed_at is not None
    assert agent.llm.summaries, "what is not off asks the model"
    other = await sync_to_async(_agent_with_thread)(agent.conversation)
    agent.llm.clear()
    loaded = await trigger.ensure_room(other.pk)
    assert not agent.llm.summaries and history(loaded) <= 600
    assert (await Compaction.objects.aget(conversation=other)).summariser == "truncation"


def _agent_with_thread(like: Conversation) -> Conversation:
    parent = Conversation.objects.create(
        owner=like.owner, model=like.model, kind="agent", policy={"enabled": False, "threshold": 0.6}
    )
    thread = Conversation.objects.create(owner=like.owner, model=like.model, kind="executor", parent=parent)
    talked(thread, "executor", 20, 85)
    return thread


async def test_the_budgets_of_planner_and_executor_are_policy(agent: ToolChat) -> None:
    run = await sync_to_async(worked)(agent.conversation)
    await sync_to_async(talked)(run.thread, "executor", 12, 85)
    policy = {"history_tokens": 5_000, "executor_history_tokens": 4_000, "executor_history_messages": 3}
    await sync_to_async(change)(agent.conversation, policy=policy)
    loaded = await trigger.ensure_room(run.thread.pk)
    assert loaded.head.compressed_at is None
    for conversation, budget in ((agent.conversation, 5_000), (run.thread, 4_000)):
        flow = await sync_to_async(lambda one=conversation: usage.flow_usage(transcript.load(one.pk)))()
        assert flow is not None and flow.budget == budget
    await sync_to_async(change)(agent.conversation, policy=policy | {"executor_history_tokens": 500})
    loaded = await trigger.ensure_room(run.thread.pk)
    assert loaded.head.compressed_at is not None and history(loaded) <= 500


@pytest.mark.parametrize(
    ("name", "value"),
    [("history_tokens", 199), ("history_messages", 0), ("executor_history_tokens", "many"),
     ("executor_history_messages", 1_001), ("executor_history_tokens", True)],
)  # fmt: skip
def test_a_budget_out_of_range_is_refused_by_its_name(
    api: Api, conversation: Conversation, name: str, value: Any
) -> None:
    response = api.patch(f"/api/conversations/{conversation.pk}", {"policy": {name: value}})
    assert refused(response, 400, "invalid")["field"] == f"policy.{name}"


def test_an_import_keeps_the_kind_that_its_file_names(user: User, profile: Any) -> None:
    said = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello!"}]
    (made,) = import_conversations(user, json.dumps({"title": "T", "kind": "agent", "messages": said}).encode())
    assert (made.kind, made.uses_tools, made.messages.count()) == ("agent", True, 2)
    old = {"format": "chatsite", "version": 3, "conversation": {"title": "T", "kind": "agent"}, "messages": said}
    (made,) = import_conversations(user, json.dumps(old).encode())
    assert made.kind == "agent"


@pytest.mark.parametrize("kind", ["planner", 3, "executor", None])
def test_a_kind_that_no_import_has_is_refused_by_its_name(api: Api, kind: Any) -> None:
    said = [{"role": "user", "content": "Hello."}]
    body = json.dumps({"title": "T", "kind": kind, "messages": said}).encode()
    assert refused(api.send("POST", "/api/conversations/import", body), 400, "invalid")["field"] == "kind"
    assert not Conversation.objects.exists()


async def test_an_agent_begins_from_the_history_of_a_chat(chat: ToolChat, user: User) -> None:
    api = await sync_to_async(Api)(user)
    await sync_to_async(talked)(chat.conversation, "chat", 30, 150)
    chat.conversation.uses_tools = False
    await chat.conversation.asave()
    last = await chat.conversation.messages.alatest("created_at")
    path = f"/api/conversations/{chat.conversation.pk}/messages/{last.pk}/fork"
    made = (await api.post_async(path, {"kind": "agent"})).json()
    assert (made["kind"], made["uses_tools"]) == ("agent", True)
    begun = ToolChat(await Conversation.objects.select_related("model", "owner").aget(pk=made["id"]), chat.llm)
    chat.llm.enqueue("", calls=[task("Add 4 and 5.")])
    chat.llm.enqueue("9")
    chat.llm.enqueue("It is nine.")
    *_, answer = await begun.asks("What is 4 and 5?")
    assert answer.content == "It is nine." and (await begun.run()).status == "done"
    flow = await sync_to_async(lambda: usage.flow_usage(transcript.load(begun.conversation.pk)))()
    assert flow is not None and flow.history <= 2_500
    assert await Message.objects.filter(conversation=begun.conversation).acount() == 30 + 3


def test_a_chat_that_is_forked_from_an_agent_has_none_of_its_runs(agent_rows: Conversation) -> None:
    last = agent_rows.messages.latest("created_at")
    copy = forks.fork(agent_rows, last.pk, kind="chat")
    assert copy.kind == "chat" and not copy.agent_runs.exists()
    assert forks.fork(agent_rows, last.pk).agent_runs.count() == 1


@pytest.fixture
def agent_rows(conversation: Conversation) -> Conversation:
    worked(conversation)
    return conversation


def test_an_imported_agent_is_measured_with_all_that_its_requests_begin_with(
    user: User, profile: Any, conversation: Conversation
) -> None:
    conversation.kind = "agent"
    conversation.save()
    loaded = transcript.load(conversation.pk)
    head = prompt.system_tokens(loaded.head)
    assert prompt.opening_tokens(conversation, window=loaded.head.window) == head
    bare = Conversation(owner=user, model=profile, kind="chat", uses_tools=False)
    assert head > 300 + prompt.opening_tokens(bare, window=loaded.head.window)
    talked(conversation, "agent", 20, 120)
    compaction.request(conversation, trigger="manual", steering=Steering(keep_recent=2))
    conversation.refresh_from_db()
    exported = json.dumps(as_json(conversation)).encode()
    summaries = conversation.compressed_tokens
    profile.max_reply_tokens, profile.window = 100, 2_000  # where the base instructions are short
    conversation.model = profile
    profile.window = 100 + prompt.opening_tokens(conversation, window=profile.usable_window) + summaries - 5
    profile.save()
    with pytest.raises(Invalid, match="the summaries take"):
        import_conversations(user, exported)
    profile.window += 300
    profile.save()
    (made,) = import_conversations(user, exported)
    measured = transcript.load(made.pk)
    assert prompt.opening_tokens(made, window=measured.head.window) == prompt.system_tokens(measured.head)
