"""Agents and tools by the REST API: made, asked, listened to, read; and what an executor keeps is only read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from conversations.api.events import cursor
from conversations.models import Conversation, Message, ToolCall, User
from tests.agents.conftest import ToolChat
from tests.agents.rows import TASK, called, folded, say, worked
from tests.conversations.api.test_api_events import Stream, get
from tests.conversations.api.test_api_messages import events_of
from tests.conversations.api_client import Api, refused

ALL = "/api/conversations"
NINE = ("calculate", '{"expression": "4 + 5"}')


@pytest.fixture
def api(user: User) -> Api:
    return Api(user)


@pytest.fixture
def path(conversation: Conversation) -> str:
    return f"{ALL}/{conversation.pk}"


def test_an_agent_is_made_and_listed_with_chats_and_its_threads_are_not(api: Api, conversation: Conversation) -> None:
    made = api.post(ALL, {"kind": "agent", "uses_tools": False}).json()
    assert (made["kind"], made["uses_tools"]) == ("agent", False)
    worked(Conversation.objects.get(pk=made["id"]))
    told = {kind: [item["id"] for item in api.get(ALL, **kind_of(kind)).json()["items"]] for kind in ("", "chat")}
    assert set(told[""]) == {made["id"], str(conversation.pk)}
    assert told["chat"] == [str(conversation.pk)]
    assert [item["id"] for item in api.get(ALL, kind="agent").json()["items"]] == [made["id"]]


def kind_of(kind: str) -> dict[str, str]:
    return {"kind": kind} if kind else {}


@pytest.mark.once
@pytest.mark.parametrize("kind", ["executor", "gateway", "planner", "", 1, None])
def test_any_other_kind_is_refused_by_name(api: Api, kind: Any) -> None:
    detail = refused(api.post(ALL, {"kind": kind}), 400, "invalid")
    assert detail["field"] == "kind"
    assert "one of chat, agent" in detail["message"]


def test_tools_are_switched_off_and_on(api: Api, path: str, conversation: Conversation) -> None:
    assert api.patch(path, {"uses_tools": False}).json()["uses_tools"] is False
    assert not Conversation.objects.get(pk=conversation.pk).uses_tools
    assert refused(api.patch(path, {"uses_tools": "no"}), 400, "invalid")["field"] == "uses_tools"
    assert refused(api.patch(path, {"kind": "agent"}), 400, "invalid")["field"] == "kind"


async def test_a_message_is_answered_when_the_last_reply_of_its_turn_has_ended(
    api: Api, chat: ToolChat, path: str
) -> None:
    chat.llm.enqueue("Let me see.", calls=[NINE])
    chat.llm.enqueue("", calls=[("nonsense", "{}")])
    chat.llm.enqueue("It is 9.")
    response = await api.say(f"{path}/messages", "What is 4 and 5?", client_id="a")
    told = response.json()
    assert (response.status_code, told["assistant_message"]["content"]) == (201, "It is 9.")
    one, two = told["steps"]
    assert (one["content"], one["status"], two["content"]) == ("Let me see.", "complete", "")
    (done,), (failed,) = one["tool_calls"], two["tool_calls"]
    assert (done["name"], done["arguments"], done["result"], done["status"]) == (*NINE, "9", "done")
    assert failed["status"] == "failed" and "nonsense" in failed["error"] and failed["error"] in failed["result"]
    assert done["tokens"] > 0 and done["duration_ms"] is not None

    again = await api.say(f"{path}/messages", "What is 4 and 5?", client_id="a")
    assert again.status_code == 200
    assert [again.json()[part] for part in ("steps", "assistant_message")] == [
        told[part] for part in ("steps", "assistant_message")
    ]
    assert len(chat.llm.chats) == 3
    listed = (await sync_to_async(api.get)(f"{path}/messages")).json()["items"]
    assert [len(item["tool_calls"]) for item in listed] == [0, 1, 1, 0]
    assert listed[1] == one


async def test_a_reply_written_anew_and_another_question_are_answered_as_whole_turns(
    api: Api, chat: ToolChat, path: str
) -> None:
    chat.llm.enqueue("Well.")
    first = (await api.say(f"{path}/messages", "What is 4 and 5?")).json()
    chat.llm.enqueue("", calls=[NINE])
    chat.llm.enqueue("9.")
    anew = f"{path}/messages/{first['assistant_message']['id']}/regenerate"
    told = (await api.post_async(anew)).json()
    assert (len(told["steps"]), told["assistant_message"]["content"]) == (1, "9.")
    chat.llm.enqueue("", calls=[NINE])
    chat.llm.enqueue("Nine.")
    edit = f"{path}/messages/{first['user_message']['id']}/edit"
    told = (await api.post_async(edit, {"content": "What is 4 + 5?"})).json()
    assert (len(told["steps"]), told["assistant_message"]["content"]) == (1, "Nine.")


async def test_a_stream_tells_every_reply_of_a_turn_and_how_its_calls_get_on(
    api: Api, chat: ToolChat, path: str
) -> None:
    chat.llm.enqueue("Let me see.", calls=[NINE])
    chat.llm.enqueue("It is 9.")
    heard = [one async for one in events_of(await api.say(f"{path}/messages", "4 and 5?", stream=True))]
    types = [type for type, _ in heard]
    assert types[-1] == "message.done" and heard[-1][1]["message"]["content"] == "It is 9."
    assert [types.count(type) for type in ("message.created", "message.done")] == [3, 2]
    calls = [data["call"] for type, data in heard if type == "tool.updated"]
    assert [call["status"] for call in calls][-1] == "done" and calls[-1]["result"] == "9"
    begins, first_end = [at for at, type in enumerate(types) if type == "message.created"], types.index("message.done")
    assert first_end < begins[2] < types.index("tool.updated")


async def test_the_stream_of_a_replay_has_the_whole_turn_once(api: Api, chat: ToolChat, path: str) -> None:
    chat.llm.enqueue("Let me see.", calls=[NINE])
    chat.llm.enqueue("It is 9.")
    await api.say(f"{path}/messages", "4 and 5?", client_id="a")
    response = await api.say(f"{path}/messages", "4 and 5?", client_id="a", stream=True)
    heard = [(type, data["message"]["content"]) async for type, data in events_of(response)]
    assert heard == [
        ("message.done", "Let me see."),
        ("message.created", ""),
        ("message.done", "It is 9."),
    ]


@pytest.mark.usefixtures("server_loop")
async def test_what_was_missed_of_a_turn_is_told_with_its_calls(
    api: Api, path: str, conversation: Conversation
) -> None:
    question = await sync_to_async(say)(conversation, 0, "user", "4 and 5?")
    place = await sync_to_async(cursor.before)(conversation, question.created_at)
    first = await sync_to_async(say)(conversation, 1, "assistant", "Let me see.")
    call = await sync_to_async(called)(first, *("calculate", {}, "9" * 5_000))
    await sync_to_async(say)(conversation, 2, "assistant", "It is 9.")
    stream = Stream(await get(api, f"{path}/events", last=place.id))
    await stream.until("usage.updated")
    assert stream.types == [
        "message.created", "message.done", "tool.updated", "message.created", "message.done", "usage.updated",
    ]  # fmt: skip
    (told,) = stream.of("tool.updated")
    assert (told["message_id"], told["call"]["id"]) == (str(first.pk), call.call_id)
    assert len(told["call"]["result"]) == 2_000
    stream.response.close()


@pytest.mark.usefixtures("server_loop")
async def test_who_left_while_tools_were_at_work_is_told_how_they_ended(
    api: Api, path: str, conversation: Conversation
) -> None:
    first = await sync_to_async(say)(conversation, 1, "assistant", "Let me see.")
    await sync_to_async(called)(first, "calculate", {}, "9")
    reply = await sync_to_async(say)(conversation, 2, "assistant", "")
    place = await sync_to_async(cursor.before)(conversation, reply.created_at, received=0)
    await Message.objects.filter(pk=reply.pk).aupdate(content="It is 9.")
    stream = Stream(await get(api, f"{path}/events", last=place.id))
    await stream.until("usage.updated")
    assert stream.types == ["tool.updated", "message.delta", "message.done", "usage.updated"]
    stream.response.close()


@pytest.mark.usefixtures("server_loop")
async def test_a_stream_of_an_agent_begins_with_how_its_latest_run_is(
    api: Api, path: str, conversation: Conversation
) -> None:
    run = await sync_to_async(worked)(conversation, status="waiting")
    stream = Stream(await get(api, f"{path}/events"))
    told = (await stream.until("run.updated"))["run"]
    assert (told["id"], told["status"], told["usage"]["budget"]) == (str(run.pk), "waiting", 600)
    stream.response.close()


def test_runs_are_listed_and_read_with_all_their_steps(api: Api, path: str, conversation: Conversation) -> None:
    earlier, run = worked(conversation), worked(conversation, at=60)
    folded(run.thread, "executor", messages_condensed=2)
    page = api.get(f"{path}/runs", limit=1).json()
    assert [item["id"] for item in page["items"]] == [str(run.pk)]
    assert [item["id"] for item in api.get(f"{path}/runs", cursor=page["next"]).json()["items"]] == [str(earlier.pk)]
    told = api.get(f"{path}/runs/{run.pk}").json()
    assert (told["task"], told["status"], told["turns"], told["thread_id"]) == (TASK, "done", 2, str(run.thread_id))
    kinds = ["assignment", "tools", "partial_result", "clarification", "result"]
    assert [step["kind"] for step in told["steps"]] == kinds
    assert told["steps"][1]["tool_calls"][0]["result"] == "9"
    assert (told["usage"]["flow"], told["usage"]["budget"], told["usage"]["history"] > 0) == ("executor", 600, True)
    assert [(row["flow"], row["conversation_id"]) for row in told["compactions"]] == [("executor", str(run.thread_id))]


@pytest.mark.parametrize("runs", [1, 6])
def test_reading_runs_takes_the_same_queries_however_many_there_are(
    api: Api, path: str, conversation: Conversation, runs: int, django_assert_num_queries: Any
) -> None:
    for number in range(runs):
        run = worked(conversation, at=60 * number)
        for minute in range(8, 8 + 3 * runs):
            say(run.thread, 60 * number + minute, "assistant", "More.")
    api.get(f"{path}/runs")
    with django_assert_num_queries(3):
        api.get(f"{path}/runs")
    with django_assert_num_queries(9):
        api.get(f"{path}/runs/{run.pk}")


def test_a_run_is_of_its_own_conversation_and_person(api: Api, conversation: Conversation, user: User) -> None:
    run = worked(conversation)
    other = Conversation.objects.create(owner=user)
    stranger = Api(User.objects.create_user("mallory"))
    refused(api.get(f"{ALL}/{other.pk}/runs/{run.pk}"), 404, "not_found")
    assert api.get(f"{ALL}/{other.pk}/runs").json() == {"items": [], "next": None}
    for address in ("runs", f"runs/{run.pk}"):
        refused(stranger.get(f"{ALL}/{conversation.pk}/{address}"), 404, "not_found")
    for address in ("", "/messages", "/context", "/runs", "/events"):
        refused(stranger.get(f"{ALL}/{run.thread_id}{address}"), 404, "not_found")


def test_an_agents_compactions_are_those_of_all_its_flows(api: Api, conversation: Conversation, user: User) -> None:
    run = worked(conversation)
    rows = [folded(conversation, "planner"), folded(run.thread, "executor"), folded(run.thread, "executor")]
    folded(Conversation.objects.create(owner=user), "chat")

    def told(of: Conversation, **query: Any) -> list[str]:
        return [item["id"] for item in api.get(f"/api/context/{of.pk}/compactions", **query).json()["items"]]

    assert told(conversation) == [str(row.pk) for row in reversed(rows)]
    assert told(conversation, flow="executor") == told(run.thread) == [str(row.pk) for row in reversed(rows[1:])]
    assert told(conversation, flow="planner") == [str(rows[0].pk)]
    assert told(conversation, flow="chat") == []
    wrong = api.get(f"/api/context/{conversation.pk}/compactions", flow="chef")
    assert refused(wrong, 400, "invalid")["field"] == "flow"


def test_what_an_executor_keeps_is_read_and_never_written(api: Api, conversation: Conversation) -> None:
    run = worked(conversation)
    thread, message = run.thread, run.steps.get(number=3).message
    told = api.get(f"{ALL}/{thread.pk}").json()
    assert (told["kind"], told["title"]) == ("executor", TASK)
    assert [item["content"] for item in api.get(f"{ALL}/{thread.pk}/messages").json()["items"]][2] == message.content
    assert api.get(f"{ALL}/{thread.pk}/context").json()["messages"][1]["content"] == TASK
    before = json.dumps(api.get(f"{ALL}/{thread.pk}").json())
    said = f"{ALL}/{thread.pk}/messages/{message.pk}"
    writes: list[tuple[str, str, Any]] = [
        ("PATCH", f"{ALL}/{thread.pk}", {"title": "Mine"}),
        ("DELETE", f"{ALL}/{thread.pk}", None),
        ("POST", f"{ALL}/{thread.pk}/messages", {"content": "Stop it"}),
        ("POST", f"{ALL}/{thread.pk}/stop", None),
        ("POST", f"{said}/regenerate", None),
        ("POST", f"{said}/edit", {"content": "x"}),
        ("POST", f"{said}/fork", None),
        ("POST", f"{said}/use", {"version": 1}),
        ("PATCH", said, {"is_protected": True}),
        ("PUT", f"{ALL}/{thread.pk}/goal", {"description": "x"}),
        ("POST", f"{ALL}/{thread.pk}/goal/end", {"status": "completed"}),
        ("DELETE", f"{ALL}/{thread.pk}/attachments/{message.pk}", None),
        ("POST", f"/api/context/{thread.pk}/compact", {}),
        ("POST", f"/api/context/{thread.pk}/rollback", {}),
        ("POST", f"/api/context/{thread.pk}/clear", None),
        ("POST", f"/api/context/{thread.pk}/snapshots", None),
        ("PUT", f"/api/context/{thread.pk}/checkpoints/1", {"summary": "x"}),
    ]
    for method, address, body in writes:
        response = api.client.generic(
            method,
            address,
            json.dumps(body) if body is not None else "",
            content_type="application/json" if body is not None else "",
        )
        assert refused(response, 409, "read_only"), (method, address)
    refused(api.send("POST", f"{ALL}/{thread.pk}/attachments", b"x", "multipart/form-data"), 409, "read_only")
    assert json.dumps(api.get(f"{ALL}/{thread.pk}").json()) == before
    assert ToolCall.objects.count() == 3 and Message.objects.filter(conversation=thread).count() == 5


def test_an_agents_conversation_is_deleted_with_its_threads(api: Api, conversation: Conversation, path: str) -> None:
    worked(conversation)
    assert api.client.delete(path).status_code == 204
    assert not Conversation.objects.exists() and not Message.objects.exists()
