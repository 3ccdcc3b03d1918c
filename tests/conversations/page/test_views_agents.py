"""Pages of tools and agents: calls, runs and their steps, what comes over the socket, and how one is made."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from conversations.models import AgentRun, Conversation, Message, ModelProfile, ToolCall, User
from conversations.models.model_profile import DEFAULT_WINDOW
from conversations.page import agent_fragments, fragments, thread
from conversations.requests.next_request import build_next_request
from conversations.runtime.payloads import message_json
from conversations.runtime.subscription import Event
from tests.conversations.agents import Rows
from tests.conversations.pages import Pages, elements

pytestmark = pytest.mark.once

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


@pytest.fixture
def agent(user: User, profile: ModelProfile) -> Conversation:
    profile.calls_tools = True
    profile.save()
    return Conversation.objects.create(owner=user, model=profile, kind="agent", title="Ports")


@pytest.fixture
def rows(agent: Conversation) -> Rows:
    return Rows(agent)


def text(response: Any) -> str:
    return " ".join(response.content.decode().split())


def test_calls_are_steps_that_say_what_was_done_and_how_it_went(rows: Rows, pages: Pages) -> None:
    message = rows.message("assistant")
    rows.call(message, "calculate", '{"expression": "5433 * 2"}', "10866", duration_ms=12, token_count=17)
    rows.call(message, "weather__get_forecast", '{"city": "Ulm", "days": 2}', '{"sky":"grey"}', status="running")
    rows.call(message, "current_time", "{}", "Error: no such zone", status="failed", error="no such zone")
    rows.call(message, "current_time", "{}", "Error", status="failed", error="It was stopped.")
    page = pages.get("chat", rows.conversation.pk)
    assert [one["data-status"] for one in elements(page).with_attribute("data-tool")] == [
        "done", "running", "failed", "stopped"
    ]  # fmt: skip
    told = text(page)
    assert "<b>Calculate</b>" in told and "5433 * 2</span>" in told and "12 ms" in told
    assert "<b>Get forecast</b>" in told and "city: Ulm, days: 2" in told and ">weather</span>" in told
    assert "&quot;sky&quot;: &quot;grey&quot;" not in told, "it has not ended"
    assert "no such zone" in told and "under way" in told and "stopped" in told
    bubble = elements(page).by_id(f"message-{message.pk}")
    assert "data-only-calls" in bubble and bubble["data-work"] == "done,running,failed,failed"
    assert f"acts-{message.pk}" not in told


def test_a_long_result_is_shown_in_part_and_all_of_it_when_asked_for(rows: Rows, pages: Pages) -> None:
    message = rows.message("assistant")
    long = json.dumps([{"port": 5000 + number, "what": HOSTILE} for number in range(100)])
    call = rows.call(message, "ports", '{"of": "alpha"}', long)
    page = pages.get("chat", rows.conversation.pk).content.decode()
    assert "&quot;port&quot;: 5010" in page and "5099" not in page
    assert f"Show all {len(long) + 15:,} characters" in page
    whole = pages.get("call", rows.conversation.pk, message.pk, call.pk).content.decode()
    assert "&quot;port&quot;: 5099" in whole and "Show all" not in whole
    assert "<script>" not in page + whole and "<img" not in page + whole
    assert pages.get("call", rows.conversation.pk, uuid4(), call.pk).status_code == 404


def test_a_run_that_is_open_shows_its_steps_and_one_that_has_ended_when_it_is_opened(rows: Rows, pages: Pages) -> None:
    rows.message("user", "Which port?")
    done = rows.run("An earlier task.")
    rows.step(done, "result", "It is **5432**.")
    run = rows.run(status="waiting", turns=3)
    called = rows.step(run, "tools").message
    rows.call(called, "calculate", '{"expression": "1+1"}', "2", token_count=9)
    fold = rows.fold(run)
    rows.step(run, "partial_result", "PARTIAL RESULT\nOne of two. Which?")
    page = pages.get("chat", rows.conversation.pk)
    found = elements(page)
    shown = {one["data-run-id"]: one for one in found.with_attribute("data-run-id")}
    assert [(one["data-status"], "open" in one) for one in shown.values()] == [("done", False), ("waiting", True)]
    kinds = [one["data-kind"] for one in found.with_attribute("data-kind")]
    assert kinds == ["assignment", "tools", "compaction", "partial_result"]
    told = text(page)
    assert "3 of 10 turns" in told and "waits for the planner" in told and "One of two. Which?" in told
    assert "12 messages compacted</b> <span>1,240 → 130 tokens" in told and "PARTIAL RESULT" not in told
    opened = text(pages.get("run", rows.conversation.pk, done.pk, htmx=True))
    assert "<strong>5432</strong>" in opened and "1 request" in opened
    summary = text(pages.get("compaction", run.thread_id, fold.pk))
    assert "12 messages compacted" in summary and f"/c/{rows.conversation.pk}/" in summary and "Edit" not in summary
    assert pages.get("chat", run.thread_id).status_code == 404
    assert "executor&#x27;s history" in text(pages.get("timeline", rows.conversation.pk)).replace("'", "&#x27;")


def test_thirty_runs_take_no_more_queries_than_one(rows: Rows, pages: Pages, django_assert_num_queries: Any) -> None:
    def opened(status: str) -> None:
        run = rows.run(status=status)
        for number in range(3):
            rows.call(rows.step(run, "tools").message, "calculate", f'{{"expression": "{number}"}}', "1")

    opened("running")
    opened("done")
    pages.get("chat", rows.conversation.pk)
    with django_assert_num_queries(34):
        pages.get("chat", rows.conversation.pk)
    for _ in range(28):
        opened("done")
    with django_assert_num_queries(34):
        assert pages.get("chat", rows.conversation.pk).content.decode().count("data-run-id") == 30


def test_planner_and_executor_have_meters_of_their_own(rows: Rows, pages: Pages, conversation: Conversation) -> None:
    rows.message("user", "Which port? " * 100)
    rows.run("Find it. " * 40, status="running")
    found = elements(pages.get("chat", rows.conversation.pk))
    planner, executor = found.by_id("flow-planner"), found.by_id("flow-executor")
    assert (planner["data-budget"], executor["data-budget"]) == ("2500", "600")
    assert int(planner["data-used"]) > 300 and 100 < int(executor["data-used"]) < 300
    assert planner["data-percent"] == str(round(int(planner["data-used"]) / 25))
    assert "flow-planner" not in pages.get("chat", conversation.pk).content.decode()


def test_what_is_done_comes_in_small_pieces(rows: Rows) -> None:
    rows.message("user", "Which port?")
    run = rows.run(status="running")
    step = rows.step(run, "tools")
    call = rows.call(step.message, "calculate", '{"expression": "2+2"}', status="running")
    rows.message("assistant", status="streaming")
    for result in ("x" * 90_000, "y" * 90_000):
        rows.call(rows.step(run, "tools").message, "ports", "{}", result)

    def rendered(type: str, **data: Any) -> str:
        html = fragments.render_event(rows.conversation.pk, Event(type, data))
        assert len(html) < 12_000
        return " ".join(html.split())

    html = rendered("step.created", run_id=str(run.pk), step={"number": 2})
    assert f"beforeend:#course-{run.pk}" in html and f'id="step-{step.pk}"' in html and html.count('class="step"') == 1
    assert f'id="call-{call.pk}"' in html and 'id="flow-executor"' in html
    rows.fold(run, status="running")
    html = rendered("run.updated", run={"id": str(run.pk)})
    assert f'id="run-{run.pk}"' in html and "Compacting the executor" in html
    assert "The executor compacts its history…" in html
    message = ToolCall.objects.get(name="delegate_task").message
    html = rendered("tool.updated", message_id=str(message.pk), call={"id": "c0"})
    assert html.startswith('<div class="call"') and f'data-run-id="{run.pk}"' in html
    assert rendered("tool.updated", message_id=str(uuid4()), call={"id": "c0"}).startswith("<div hx-swap-oob")


def test_a_run_whose_task_is_folded_is_shown_at_its_first_call_that_is_not(rows: Rows, pages: Pages) -> None:
    rows.message("user", "Which port?")
    run = rows.run("Find the port of alpha.", status="running")
    task = run.steps.get().call
    calls = []
    for number in range(2):
        rows.step(run, "partial_result", "PARTIAL RESULT\nWhich?")
        calls.append(rows.call(rows.message("assistant"), "continue_task", f'{{"message": "Number {number}."}}', "?"))
        rows.step(run, "clarification", f"Number {number}.", role="user", call=calls[-1])

    def fold(*, until: ToolCall) -> None:
        Conversation.objects.filter(pk=run.conversation_id).update(
            compressed_context="In short.", compressed_at=until.message.created_at
        )

    def told() -> str:
        event = Event("step.created", {"run_id": str(run.pk), "step": {"number": 5}})
        return fragments.render_event(rows.conversation.pk, event)

    def shown() -> list[str]:
        found = elements(pages.get("chat", rows.conversation.pk)).found
        places = [one["id"] for _, one in found if one.get("id", "").startswith(("call-", "run-"))]
        return places

    assert shown() == [f"call-{task.pk}", f"run-{run.pk}", f"call-{calls[0].pk}", f"call-{calls[1].pk}"]
    fold(until=task)
    assert shown() == [f"call-{calls[0].pk}", f"run-{run.pk}", f"call-{calls[1].pk}"]
    page = text(pages.get("chat", rows.conversation.pk))
    assert '<b>Task for the executor</b> <span class="brief">Find the port of alpha.</span>' in page
    assert "<span>Task for the executor Find the port of alpha.</span></summary>" in page, (
        "what is folded says what it was"
    )
    html = told()
    assert f'id="call-{calls[0].pk}"' in html and f"beforeend:#course-{run.pk}" in html
    assert 'hx-trigger="load"' in html, "a page that has not shown it yet reads all of its steps"
    opened = text(pages.get("message", rows.conversation.pk, task.message_id, body=""))
    assert f'id="call-{task.pk}"' in opened and f'id="run-{run.pk}"' not in opened, "it is there once"
    fold(until=calls[1])
    html = told()
    assert "call-" not in html and "course-" not in html and "flow-executor" in html, "no page has a place for it"
    assert f'id="run-{run.pk}"' in text(pages.get("message", rows.conversation.pk, task.message_id, body=""))


def test_words_before_calls_have_no_acts_of_their_own_wherever_they_came_from(rows: Rows, pages: Pages) -> None:
    """A fork and an import have no requests, as the conversation had that they are of."""
    message = rows.message("assistant", "I look it up.")
    rows.call(message, "calculate", '{"expression": "1+1"}', "2")
    answer = rows.message("assistant", "It is 2.")
    page = text(pages.get("chat", rows.conversation.pk))
    assert f"acts-{message.pk}" not in page and f"acts-{answer.pk}" in page


def test_a_budget_that_is_exceeded_is_seen_and_no_request_tells_no_figures(rows: Rows, pages: Pages) -> None:
    rows.message("user", "Which port?")
    run = rows.run("Find it. " * 400, status="running")
    assert "data-over" in elements(pages.get("chat", rows.conversation.pk)).by_id("flow-executor")
    assert "data-over" not in elements(pages.get("chat", rows.conversation.pk)).by_id("flow-planner")
    AgentRun.objects.filter(pk=run.pk).update(status="stopped")
    assert " request" not in text(pages.get("run", rows.conversation.pk, run.pk, htmx=True))


def test_an_earlier_version_shows_its_run(rows: Rows, pages: Pages) -> None:
    run = rows.run()
    old = run.steps.get().call.message
    new = rows.message("assistant", "I know it: 5433.", versions=2, version=2, place=old.pk)
    Message.objects.filter(pk=old.pk).update(replaced_by=new)
    shown = elements(pages.get("version", rows.conversation.pk, new.pk, 1))
    assert shown.by_id(f"run-{run.pk}")


def test_what_hides_in_arguments_is_seen_where_they_stand_in_a_line(rows: Rows, pages: Pages) -> None:
    rows.call(rows.message("assistant"), "files__open", json.dumps({"name": "\u202egnp.exe"}), "opened")
    assert '<span class="brief">[U+202E]gnp.exe</span>' in text(pages.get("chat", rows.conversation.pk))


def test_a_new_bubble_is_drawn_without_a_query(rows: Rows, django_assert_num_queries: Any) -> None:
    told = message_json(rows.message("assistant", status="streaming"), DEFAULT_WINDOW)
    with django_assert_num_queries(0):
        html = fragments.render_event(rows.conversation.pk, Event("message.created", {"message": told}))
    assert '<p class="waits"></p>' in html


def test_a_pending_reply_says_what_it_waits_for(rows: Rows, pages: Pages) -> None:
    rows.message("user", "How much is it?")
    message = rows.message("assistant")
    call = rows.call(message, "calculate", '{"expression": "1+1"}', status="running")
    reply = rows.message("assistant", status="streaming")
    asked = pages.asks_for_itself(rows.conversation.pk, reply.pk)
    assert "Calculate…" in asked.content.decode() and asked.headers["HX-Trigger"] == '{"converge": {}}'
    assert '<p class="waits">Calculate…</p>' in pages.get("chat", rows.conversation.pk).content.decode()
    assert "Calculate…" in agent_fragments.waiting(rows.conversation)
    ToolCall.objects.filter(pk=call.pk).update(status="done", result="2")
    assert '<p class="waits"></p>' in pages.get("chat", rows.conversation.pk).content.decode()


def test_a_page_that_missed_what_was_done_gets_the_bubbles_that_changed(rows: Rows, pages: Pages) -> None:
    """And only those, with the reply that is in the making."""
    rows.message("user", "Earlier")
    rows.call(rows.message("assistant"), "calculate", "{}", "2")
    rows.message("user", "Which port?")
    run = rows.run(status="running")
    called = run.steps.get().call.message
    step = rows.step(run, "tools")
    call = rows.call(step.message, "calculate", "{}", status="running")
    reply = rows.message("assistant", status="streaming")

    def changed(known: str) -> list[str]:
        found = elements(pages.get("thread", rows.conversation.pk, version=known))
        return [one["data-message-id"] for one in found.with_attribute("data-message-id")]

    known = thread.version(rows.conversation)
    assert changed(known) == [str(reply.pk)]
    ToolCall.objects.filter(pk=call.pk).update(status="done", result="2")
    assert changed(known) == [str(called.pk), str(reply.pk)]
    known = thread.version(rows.conversation)
    rows.fold(run)
    assert changed(known) == [str(called.pk), str(reply.pk)]
    known = thread.version(rows.conversation)
    run.status = "done"
    run.save()
    assert changed(known) == [str(called.pk), str(reply.pk)]


def test_an_agent_is_made_where_a_chat_is_and_listed_with_a_mark(pages: Pages, agent: Conversation) -> None:
    agent.delete()
    assert 'value="agent"' in pages.get("home").content.decode()
    for kind in ("agent", "agent", "chat"):
        assert pages.post("new", htmx=False, kind=kind).status_code == 302
    assert sorted(Conversation.objects.values_list("kind", flat=True)) == ["agent", "chat"]
    page = pages.get("home").content.decode()
    assert page.count("agent-mark") == 2 and "New agent</a>" in page
    refused = pages.post("new", htmx=False, kind="executor")
    assert refused.status_code == 400 and "Must be one of chat, agent" in text(refused)


def test_the_tools_are_told_with_their_cost_and_can_be_switched_off(pages: Pages, agent: Conversation) -> None:
    page = text(pages.get("context", agent.pk, htmx=True))
    assert "The planner: " in page and "The executor: " in page and ">Calculate</span>" in page
    assert "Offered no more." in text(pages.post("tools", agent.pk))
    agent.refresh_from_db()
    assert not agent.uses_tools and "Tools are switched off" in text(pages.get("chat", agent.pk))
    assert "Offered from the next" in text(pages.post("tools", agent.pk, on="on"))
    ModelProfile.objects.update(calls_tools=False)
    assert "Offer tools" not in text(pages.get("context", agent.pk, htmx=True))
    assert "scripted cannot call tools" in text(pages.get("chat", agent.pk))


def test_tools_are_a_part_of_what_the_model_sees_and_the_parts_add_up(rows: Rows, pages: Pages) -> None:
    ModelProfile.objects.update(token_correction=1.37)
    rows.message("user", "Which port?")
    rows.conversation.refresh_from_db()
    coming = build_next_request(rows.conversation)
    assert [part.kind for part in coming.parts] == ["system", "tools", "live"]
    assert coming.usage and coming.tokens == coming.usage.total
    assert [message["role"] for message in coming.messages] == ["system", "user"]
    page = text(pages.get("next", rows.conversation.pk))
    assert "4 offered" in page and "delegate_task" in page and ">4 tools</dt>" in page
    assert ">4 tools</dt>" in text(pages.get("chat", rows.conversation.pk))
