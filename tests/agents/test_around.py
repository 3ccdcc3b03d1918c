"""What surrounds agents: the administrator's pages, figures, lists, searches, deletion, commands, metrics."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from prometheus_client import REGISTRY

from compression.days import Days
from compression.models import Compaction
from conversations import accounts, metrics, search, spending, upkeep
from conversations.models import AgentRun, Conversation, Message
from tests.agents.rows import TASK, called, folded, say, worked
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


def test_conversations_are_filtered_by_kind_and_lead_to_their_runs(root: Client, conversation: Conversation) -> None:
    row = worked(conversation)
    listed = page(root, "conversations/conversation/", kind__exact="executor")
    assert str(row.thread_id) in listed and str(conversation.pk) not in listed
    of_agent = page(root, f"conversations/conversation/{conversation.pk}/change/")
    of_thread = page(root, f"conversations/conversation/{row.thread_id}/change/")
    assert all(f"/admin/conversations/agentrun/{row.pk}/change/" in html for html in (of_agent, of_thread))
    assert f"/admin/conversations/conversation/{conversation.pk}/change/" in of_thread


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


def test_the_analytics_tell_flows_apart_where_there_are_any(root: Client, conversation: Conversation) -> None:
    now = timezone.now()
    compaction_run(conversation, now, reduction_percent=40)
    assert "By flow" not in page(root, "analytics/")
    thread = worked(conversation).thread
    compaction_run(thread, now, flow="executor", reduction_percent=80)
    html = page(root, "analytics/")
    assert re.search(r"By flow.*Chat</th><td>1</td>.*Executor</th><td>1</td>", html, re.DOTALL)
    of_executors = page(root, "analytics/", flow="executor")
    assert "Chat</th>" not in of_executors and "Executor</th><td>1</td>" in of_executors
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
    account = accounts.read(user, Days.until(now.date(), 1))
    assert (account.total.requests, round(account.total.cost, 6)) == (3, Decimal("0.06"))
    assert spending.storage(user)["conversations"] == 1


def test_the_list_and_the_search_have_nothing_of_executors(user: User, conversation: Conversation) -> None:
    run = worked(conversation)
    home = Pages(user).get("home").content.decode()
    assert str(conversation.pk) in home and str(run.thread_id) not in home
    assert [hit.conversation.pk for hit in search.find(user, "prime").hits] == [conversation.pk] * 2
    assert not search.find(user, TASK).hits


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
    upkeep.tidy()
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


def test_calls_of_tools_are_counted_by_tool_and_server_and_never_by_what_a_model_makes_up() -> None:
    def counted(tool: str, outcome: str) -> float:
        return REGISTRY.get_sample_value("tool_call_count_total", {"tool": tool, "outcome": outcome}) or 0

    before = [counted("calculate", "done"), counted("mcp:time", "failed"), counted("unknown", "failed")]
    metrics.tool_called("calculate", "done", 0.01)
    metrics.tool_called("time__get_current_time", "failed", 2)
    metrics.tool_called(None, "failed", 0)
    after = [counted("calculate", "done"), counted("mcp:time", "failed"), counted("unknown", "failed")]
    assert [new - old for new, old in zip(after, before, strict=True)] == [1, 1, 1]
    assert REGISTRY.get_sample_value("tool_call_seconds_bucket", {"tool": "mcp:time", "le": "2.5"})
