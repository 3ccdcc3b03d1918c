"""What surrounds agents: the administrator's pages, figures, lists, searches, deletion, commands, metrics."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from prometheus_client import REGISTRY

from compression.days import Days
from compression.models import Compaction
from conversations.analytics import person, tallies
from conversations.context.tools import metric_label
from conversations.errors import Invalid
from conversations.exchange.exports import as_json
from conversations.exchange.imports import import_conversations
from conversations.exchange.markdown import as_markdown
from conversations.messages import search
from conversations.models import AgentRun, Conversation, Message, ToolCall, User
from conversations.ops import maintenance
from conversations.runtime import metrics
from conversations.turns import forks
from tests.agents.rows import TASK, called, folded, say, step, worked
from tests.conversations.pages import Pages
from tests.conversations.spent import reply
from tests.conversations.spent import run as compaction_run


@pytest.fixture
def root(transactional_db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="correct horse battery"))
    return client


def page(client: Client, address: str, **query: Any) -> str:
    response = client.get(f"/admin/{address}", query)
    assert response.status_code == 200, address
    return str(response.content.decode())


@pytest.mark.once
def test_a_run_is_shown_with_its_steps_and_calls_and_nothing_of_it_is_changed(
    root: Client, conversation: Conversation
) -> None:
    row = worked(conversation)
    called(row.steps.get(number=2).message, "look<b>", {}, None, status="failed", error="It hung.")
    html = page(root, f"conversations/agentrun/{row.pk}/change/")
    assert f"/admin/conversations/conversation/{conversation.pk}/change/" in html
    assert f"/admin/conversations/conversation/{row.thread_id}/change/" in html
    assert html.index("PARTIAL RESULT") < html.index("Yes, is it?") < html.index("It is not prime.")
    assert re.search(r"calculate\(.*?\): Done", html) and "look&lt;b&gt;({}): Failed It hung." in html
    assert 'name="_save"' not in html and "<textarea" not in html
    assert TASK in page(root, "conversations/agentrun/", status__exact="done")
    assert TASK not in page(root, "conversations/agentrun/", status__exact="failed")
    assert root.get("/admin/conversations/agentrun/add/").status_code == 403


@pytest.mark.once
def test_the_latest_runs_come_first_each_with_the_beginning_of_its_task(
    root: Client, conversation: Conversation
) -> None:
    for at, task in enumerate(("An earlier one.", "A later one. " * 100)):
        AgentRun.objects.filter(pk=worked(conversation, at=20 * at).pk).update(task=task, created_at=timezone.now())
    html = page(root, "conversations/agentrun/")
    assert 0 < html.index("A later one.") < html.index(">An earlier one.<")
    assert html.count("A later one.") < 10


@pytest.mark.parametrize("runs", [1, 5])
def test_runs_and_their_compactions_take_the_same_queries_however_many_there_are(
    root: Client, conversation: Conversation, runs: int, django_assert_max_num_queries: Any
) -> None:
    for number in range(runs):
        row = worked(conversation, at=60 * number)
        folded(row.thread, "executor")
    for address in ("conversations/agentrun/", "compression/compaction/", "conversations/conversation/"):
        with django_assert_max_num_queries(9):
            page(root, address)
    with django_assert_max_num_queries(12):
        page(root, f"conversations/agentrun/{row.pk}/change/")


@pytest.mark.once
def test_conversations_are_filtered_by_kind_and_lead_to_their_runs(root: Client, conversation: Conversation) -> None:
    row = worked(conversation)
    listed = page(root, "conversations/conversation/", kind__exact="executor")
    assert str(row.thread_id) in listed and str(conversation.pk) not in listed
    of_agent = page(root, f"conversations/conversation/{conversation.pk}/change/")
    of_thread = page(root, f"conversations/conversation/{row.thread_id}/change/")
    assert all(f"/admin/conversations/agentrun/{row.pk}/change/" in html for html in (of_agent, of_thread))
    assert f"/admin/conversations/conversation/{conversation.pk}/change/" in of_thread


@pytest.mark.once
def test_compactions_are_filtered_by_flow_and_lead_to_the_agents_conversation(
    root: Client, conversation: Conversation
) -> None:
    row = worked(conversation)
    one = folded(row.thread, "executor", first_message=row.steps.get(number=1).message_id)
    two = folded(conversation, "planner")
    listed = page(root, "compression/compaction/", flow__exact="executor")
    assert str(one.pk) in listed and str(two.pk) not in listed
    assert f"/admin/conversations/conversation/{conversation.pk}/change/" in listed
    Compaction.objects.update(last_message=row.steps.get(number=3).message_id)
    assert "Call of calculate: Done" in page(root, f"compression/compaction/{one.pk}/change/")


@pytest.mark.once
def test_the_analytics_tell_flows_apart_where_there_are_any(root: Client, conversation: Conversation) -> None:
    now = timezone.now()
    compaction_run(conversation, now, reduction_percent=40)
    assert "By flow" not in page(root, "analytics/")
    thread = worked(conversation).thread
    compaction_run(thread, now, flow="executor", reduction_percent=80)
    html = page(root, "analytics/")
    assert re.search(r"By flow.*Chat</th>\s*<td>1</td>.*Executor</th>\s*<td>1</td>", html, re.DOTALL)
    of_executors = page(root, "analytics/", flow="executor")
    assert "Chat</th>" not in of_executors and re.search(r"Executor</th>\s*<td>1</td>", of_executors)
    assert "Spent" not in of_executors and "flow=executor" in of_executors
    assert "By flow" in page(root, "analytics/", flow="nonsense")


def test_what_executors_cost_is_their_owners_and_what_they_say_is_no_conversation(
    user: User, conversation: Conversation
) -> None:
    now = timezone.now()
    thread = worked(conversation).thread
    reply(conversation, now, cost_usd="0.01")
    reply(thread, now, cost_usd="0.02")
    compaction_run(thread, now, flow="executor", prompt_tokens=500, cost_usd="0.03")
    account = person.account_of(user, Days.until(now.date(), 1))
    assert (account.total.requests, round(account.total.cost, 6)) == (3, Decimal("0.06"))
    assert tallies.storage(user)["conversations"] == 1


def test_the_list_and_the_search_have_nothing_of_executors(user: User, conversation: Conversation) -> None:
    run = worked(conversation)
    home = Pages(user).get("home").content.decode()
    assert str(conversation.pk) in home and str(run.thread_id) not in home
    assert [hit.conversation.pk for hit in search.find_hits(user, "prime").hits] == [conversation.pk] * 2
    assert not search.find_hits(user, TASK).hits


def test_whatever_deletes_an_agent_deletes_its_threads(user: User, conversation: Conversation, root: Client) -> None:
    worked(conversation)
    data = {"action": "delete_selected", "_selected_action": [str(conversation.pk)]}
    asked = root.post("/admin/conversations/conversation/", data).content.decode()
    assert re.search(r"Conversations?: 2|conversations: 2", asked)
    root.post("/admin/conversations/conversation/", data | {"post": "yes"})
    assert not Conversation.objects.exists() and not AgentRun.objects.exists() and not Message.objects.exists()
    other = Conversation.objects.create(owner=user)
    worked(other)
    user.delete()
    assert not Conversation.objects.exists() and not Message.objects.exists()


def test_old_compactions_of_executors_that_failed_are_purged(conversation: Conversation) -> None:
    thread = worked(conversation).thread
    long_ago = timezone.now() - timedelta(days=100)
    rows = [folded(thread, "executor", status=status, created_at=long_ago) for status in ("failed", "skipped")]
    kept = folded(thread, "executor", created_at=long_ago)
    maintenance.tidy()
    assert list(Compaction.objects.all()) == [kept]
    assert len(rows) == 2


@pytest.mark.parametrize("flow", ["planner", "executor"])
def test_a_command_compresses_planners_and_executors_alike(conversation: Conversation, flow: str) -> None:
    thread = worked(conversation).thread
    of = conversation if flow == "planner" else thread
    for minute in range(20, 40):
        say(of, minute, "user" if minute % 2 else "assistant", f"Step {minute} found port {minute}. " + "word " * 60)
    out = StringIO()
    call_command("compact", str(of.pk), stdout=out)
    row = Compaction.objects.get()
    assert (row.flow, row.status, row.conversation_id) == (flow, "succeeded", of.pk)
    call_command("compactions", str(of.pk), stdout=out)
    assert out.getvalue().count("messages") == 2
    of.refresh_from_db()
    assert of.is_compressed


@pytest.mark.once
def test_calls_of_tools_are_counted_by_tool_and_server_and_never_by_what_a_model_makes_up() -> None:
    def counted(tool: str, outcome: str) -> float:
        return REGISTRY.get_sample_value("tool_call_count_total", {"tool": tool, "outcome": outcome}) or 0

    before = [counted("calculate", "done"), counted("mcp:time", "failed"), counted("unknown", "failed")]
    metrics.tool_called(metric_label("calculate"), "done", 0.01)
    metrics.tool_called(metric_label("time__get_current_time"), "failed", 2)
    metrics.tool_called(metric_label(None), "failed", 0)
    after = [counted("calculate", "done"), counted("mcp:time", "failed"), counted("unknown", "failed")]
    assert [new - old for new, old in zip(after, before, strict=True)] == [1, 1, 1]
    assert REGISTRY.get_sample_value("tool_call_seconds_bucket", {"tool": "mcp:time", "le": "2.5"})


def copies(row: AgentRun) -> list[Any]:
    """What a run is, whatever its ids are."""
    told = [
        (step.kind, said.content, said.is_protected, step.call and step.call.name, calls_of(said))
        for step in row.steps.select_related("message", "call").order_by("number")
        if (said := step.message)
    ]
    return [row.task, row.status, row.turns, row.created_at, told]


def calls_of(message: Message) -> list[tuple[Any, ...]]:
    return list(message.tool_calls.values_list("call_id", "name", "arguments", "result", "status", "duration_ms"))


def test_an_agent_comes_back_from_its_file_with_its_runs_and_how_calls_went(
    user: User, conversation: Conversation
) -> None:
    row = worked(conversation)
    called(row.steps.get(number=2).message, "look", {}, "Error: It hung.", status="failed", error="It hung.")
    long = called(row.steps.get(number=2).message, "look", {}, "9" * 900_000)
    file = as_json(conversation)
    assert (file["version"], file["conversation"]["kind"], len(file["runs"])) == (4, "agent", 1)
    (back,) = import_conversations(user, json.dumps(file).encode())
    run = back.agent_runs.get()
    assert (back.kind, run.thread.kind, run.thread.parent, run.thread.owner) == ("agent", "executor", back, user)
    assert copies(run) == copies(row)
    assert run.pk != row.pk and run.thread_id != row.thread_id
    assert [calls_of(message) for message in back.messages.all()] == [
        calls_of(message) for message in conversation.messages.order_by("created_at")
    ]
    assert run.thread.messages.get(step__number=2).tool_calls.get(call_id=long.call_id).result == "9" * 900_000
    thread = as_json(back)["runs"][0]["thread"]
    assert [thread["messages"][at]["content"] for at in (0, 1)] == [TASK, ""]


@pytest.mark.once
def test_the_compressed_history_of_an_executor_comes_back_with_it(user: User, conversation: Conversation) -> None:
    thread = worked(conversation).thread
    for minute in range(20, 40):
        message = say(thread, minute, "user" if minute % 2 else "assistant", f"Port {minute}. " + "word " * 60)
        step(AgentRun.objects.get(), minute, "clarification" if minute % 2 else "partial_result", message)
    call_command("compact", str(thread.pk), stdout=StringIO())
    thread.refresh_from_db()
    (back,) = import_conversations(user, json.dumps(as_json(conversation)).encode())
    copy = back.agent_runs.get().thread
    assert thread.is_compressed and copy.compressed_context == thread.compressed_context
    assert copy.compactions.get().flow == "executor"


@pytest.mark.once
def test_what_had_not_ended_comes_in_as_failed(user: User, conversation: Conversation) -> None:
    row = worked(conversation, status="running")
    ToolCall.objects.filter(name="calculate").update(status="running", result=None)
    (back,) = import_conversations(user, json.dumps(as_json(conversation)).encode())
    run = back.agent_runs.get()
    call = ToolCall.objects.get(message__conversation=run.thread)
    assert (run.status, call.status, bool(run.error), bool(call.error)) == ("failed", "failed", True, True)
    assert call.error in call.result
    assert row.status == "running"


@pytest.mark.once
@pytest.mark.parametrize(
    ("changed", "place"),
    [
        (lambda file: file.update(runs={}), "runs: must be a list"),
        (lambda file: file["runs"][0].update(status="lost"), "runs[0].status: must be one of"),
        (lambda file: file["runs"][0].update(turns=-1), "runs[0].turns: must be"),
        (lambda file: file["runs"][0]["steps"].pop(), "runs[0].steps: there are 4 for 5"),
        (lambda file: file["runs"][0]["steps"][1].update(kind="joke"), "runs[0].steps[1].kind: must be one of"),
        (lambda file: file["runs"][0]["steps"][0]["call"].update(id="x"), "runs[0].steps[0].call: is no call"),
        (lambda file: file["runs"][0]["steps"].reverse(), "runs[0].steps[0].message: is not"),
        (lambda file: file["runs"][0].pop("thread"), 'runs[0].thread.format: must be "chatsite"'),
        (lambda file: file["runs"][0]["thread"]["messages"][1].update(role="x"), "runs[0].thread.messages[1].role:"),
        (lambda file: file["conversation"].update(kind="planner"), "conversation.kind: must be one of"),
        (lambda file: file["messages"][1]["tool_calls"][0].update(status="x"), "messages[1].tool_calls[0].status:"),
        (lambda file: file.update(runs=[one | {"status": "waiting"} for one in file["runs"] * 2]), "runs[1].status:"),
        (lambda file: file.update(runs=["x"]), "runs[0].task"),
    ],
)
def test_a_file_whose_runs_are_wrong_is_refused_by_their_place(
    user: User, conversation: Conversation, changed: Any, place: str
) -> None:
    worked(conversation)
    file = json.loads(json.dumps(as_json(conversation)))
    changed(file)
    with pytest.raises(Invalid) as refusal:
        import_conversations(user, json.dumps(file).encode())
    assert refusal.value.message.startswith(place)
    assert Conversation.objects.count() == 2


@pytest.mark.once
def test_a_file_of_version_3_has_no_kinds_and_no_outcomes(user: User, conversation: Conversation) -> None:
    worked(conversation)
    file = as_json(conversation) | {"version": 3}
    del file["conversation"]["kind"]
    file["messages"][1]["tool_calls"][0] |= {"status": "no status", "error": 7}
    (back,) = import_conversations(user, json.dumps(file).encode())
    assert (back.kind, back.agent_runs.count(), back.messages.count()) == ("chat", 0, 4)


@pytest.mark.once
def test_an_executors_conversation_alone_comes_in_as_a_chat(user: User, conversation: Conversation) -> None:
    thread = worked(conversation).thread
    (back,) = import_conversations(user, json.dumps(as_json(thread)).encode())
    assert (back.kind, back.parent, back.messages.count()) == ("chat", None, 5)


@pytest.mark.once
def test_markdown_folds_calls_and_what_the_executor_did_for_them_in_order(conversation: Conversation) -> None:
    row = worked(conversation)
    called(row.steps.get(number=2).message, "<i>", {}, None, status="failed", error="It hung.")
    text = as_markdown(conversation)
    parts = [
        "What is 4 and 5",
        "I hand this over.",
        "<details>\n<summary>Call of <code>delegate_task</code></summary>",
        f"**Planner, task assignment**\n\n> {TASK}",
        "<summary>Call of <code>calculate</code></summary>",
        "```\n9\n```",
        "<code>&lt;i&gt;</code>, failed",
        "**Executor, partial result**\n\n> PARTIAL RESULT\n> 9. Prime?",
        "It asks back.",
        "<code>continue_task</code>",
        "> Yes, is it?",
        "**Executor, result**\n\n> It is not prime.",
        "Nine, which is not",
    ]
    places = [text.find(part) for part in parts]
    assert -1 not in places and places == sorted(places), text
    assert text.count("<details>") == text.count("</details>") == 4


def test_a_fork_takes_the_runs_along_that_had_ended_there(conversation: Conversation) -> None:
    row, later = worked(conversation), worked(conversation, at=60)
    answer = conversation.messages.order_by("created_at")[3]
    copy = forks.fork(conversation, answer.pk)
    run = copy.agent_runs.get()
    assert (copy.kind, run.thread.kind, run.thread.parent, run.thread.title) == ("agent", "executor", copy, TASK)
    assert copies(run) == copies(row)
    assert {step.call.message.conversation_id for step in run.steps.exclude(call=None)} == {copy.pk}
    assert {step.message.conversation_id for step in run.steps.all()} == {run.thread_id}
    assert later.steps.count() == row.steps.count() == 5
    copy.delete()
    assert Conversation.objects.filter(kind="executor").count() == 2


def test_a_fork_from_the_middle_of_a_run_has_its_results_alone(conversation: Conversation) -> None:
    worked(conversation)
    handed = conversation.messages.order_by("created_at")[1]
    copy = forks.fork(conversation, handed.pk)
    assert not copy.agent_runs.exists() and not copy.threads.exists()
    assert copy.messages.last().tool_calls.get().result == "PARTIAL RESULT\n9. Prime?"


@pytest.mark.once
def test_an_executors_summary_goes_with_the_fork(conversation: Conversation) -> None:
    row = worked(conversation)
    for minute in range(20, 40):
        message = say(row.thread, minute, "user" if minute % 2 else "assistant", f"Port {minute}. " + "word " * 60)
        step(row, minute, "clarification" if minute % 2 else "partial_result", message)
    call_command("compact", str(row.thread_id), stdout=StringIO())
    copy = forks.fork(conversation, conversation.messages.order_by("created_at").last().pk)
    thread = copy.agent_runs.get().thread
    row.thread.refresh_from_db()
    assert thread.compressed_context and thread.compressed_context == row.thread.compressed_context
    assert (thread.compactions.get().flow, thread.messages.count()) == ("executor", 25)


def test_calls_that_had_not_ended_have_failed_in_the_fork(conversation: Conversation) -> None:
    say(conversation, 0, "user", "What is 4 and 5?")
    asked = say(conversation, 1, "assistant", "I look.")
    called(asked, "calculate", {}, None, status="running")
    copy = forks.fork(conversation, asked.pk)
    call = copy.messages.last().tool_calls.get()
    assert (call.status, call.error in call.result) == ("failed", True)
    assert copy.messages.last().token_count > asked.token_count
    assert asked.tool_calls.get().status == "running"
