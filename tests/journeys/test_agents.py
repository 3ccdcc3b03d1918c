"""Agents and tools on the page: a whole run as it goes on, after a reload, stopped; a chat that calls a tool."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import expect

from tests.journeys.site import Person, Town
from tests.journeys.test_accessibility import LOOKS, Checked
from tests.journeys.test_mishaps import sever
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser

STEPS = "els => els.map(el => [el.dataset.kind, el.innerText.replace(/\\s+/g, ' ').trim()])"


@pytest.fixture(autouse=True)
def calling(town: Town) -> Iterator[None]:
    """The model of the shared site calls tools for once."""
    _set_calls_tools(town, True)
    yield
    _set_calls_tools(town, False)


def _set_calls_tools(town: Town, on: bool) -> None:
    with closing(sqlite3.connect(town.data / "chatsite.sqlite3")) as database, database:
        database.execute("UPDATE conversations_modelprofile SET calls_tools = ?", [on])


def call(name: str, **arguments: str) -> tuple[str, str]:
    return name, json.dumps(arguments)


def begins_agent(person: Person) -> None:
    person.page.locator("#side").get_by_role("button", name="Agent").click()
    expect(person.page.locator("#flow-planner")).to_be_visible()
    person.page.wait_for_load_state("domcontentloaded")  # before that, no module hears of a key


def test_a_run_is_followed_step_by_step_and_is_the_same_when_it_is_read_again(alice: Person, llm: LlmServer) -> None:
    page = alice.page
    begins_agent(alice)
    llm.enqueue("I have it looked up.", calls=[call("delegate_task", task="Double 5433. " + "Mind the port. " * 40)])
    llm.enqueue("", calls=[call("calculate", expression="5433 * 2"), call("current_time", timezone="Mars/Base")])
    llm.enqueue("PARTIAL RESULT\nIt is **10866**. In which base?")
    llm.enqueue("", calls=[call("continue_task", message="In base ten.")])
    llm.enqueue("It is 10866 in base ten.", delay=1.5)
    llm.enqueue("Doubled it is **10866**.", delay=0.5)
    alice.says("How much is the port, doubled?")

    run = page.locator(".run")
    expect(run.locator(".step")).to_have_count(4)
    expect(run).to_have_attribute("data-status", "running")
    expect(page.locator(".message[aria-busy] .waits")).to_contain_text("The executor works…")
    assert 0 < int(page.locator("#flow-executor").get_attribute("data-used") or 0) <= 600
    run.locator(".tool[data-tool=calculate] > summary").click()
    expect(run.locator(".tool[data-tool=calculate] pre").last).to_have_text("10866")
    alice.is_answered("Doubled it is 10866.")
    expect(run).to_have_attribute("data-status", "done")
    expect(run.locator("summary").first).to_contain_text("2 of 10 turns")
    expect(run.locator(".took")).to_contain_text("3 requests")
    expect(run.locator(".tool[data-tool=calculate]")).to_have_attribute("open", "")
    expect(run.locator(".tool[data-status=failed]")).to_have_count(1)
    check = Checked(page)
    check("a run", LOOKS)

    run.locator(".tool[data-tool=calculate] > summary").click()
    heard = run.locator(".step").evaluate_all(STEPS)
    assert [kind for kind, _ in heard] == ["assignment", "tools", "partial_result", "clarification", "result"]
    page.reload()
    expect(run.locator(".step")).to_have_count(0)
    run.locator("summary").first.click()
    expect(run.locator(".step")).to_have_count(5)
    assert run.locator(".step").evaluate_all(STEPS) == heard
    run.locator(".tool[data-tool=calculate] > summary").click()
    run.locator(".tool[data-tool=calculate]").get_by_role("link", name="What the model saw").click()
    expect(page.get_by_role("dialog")).to_contain_text("Exactly what was sent")
    assert check.wrong == []
    assert alice.complaints == []


def test_stop_ends_what_an_executor_is_at(alice: Person, llm: LlmServer) -> None:
    page = alice.page
    begins_agent(alice)
    llm.enqueue("", calls=[call("delegate_task", task="Think for long.")])
    llm.enqueue("", calls=[call("calculate", expression="1 + 1")])
    llm.enqueue("Never heard.", delay=60)
    alice.says("Think")
    expect(page.locator(".run .step[data-kind=tools] .tool[data-status=done]")).to_be_visible()
    page.locator("#stop").click()
    run = page.locator(".run")
    expect(run).to_have_attribute("data-status", "stopped")
    expect(run.locator("summary").first).to_contain_text("stopped")
    expect(alice.replies.last).to_have_attribute("data-status", "stopped")
    expect(page.locator("#send")).to_be_visible()
    page.reload()
    expect(run).to_have_attribute("data-status", "stopped")
    assert alice.complaints == []


def test_a_chat_shows_the_tools_that_its_model_calls_and_no_empty_words(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("", calls=[call("calculate", expression="12.5 * 8")])
    llm.enqueue("", calls=[call("current_time")])
    llm.enqueue("It is **100**.")
    alice.says("How much is 12.5 times 8?")
    alice.is_answered("It is 100.")
    calls = alice.page.locator(".message[data-only-calls] .tool")
    expect(calls).to_have_count(2)
    expect(calls.first.locator("summary")).to_contain_text("Calculate 12.5 * 8")
    expect(alice.page.locator(".message[data-only-calls] .acts")).to_have_count(0)
    calls.first.locator("summary").click()
    expect(calls.first.locator("pre").last).to_have_text("100")
    expect(alice.page.locator("#flow-planner")).to_have_count(0)
    assert alice.complaints == []


def test_what_is_open_in_a_run_stays_open_where_its_end_was_missed(alice: Person, llm: LlmServer) -> None:
    page = alice.page
    begins_agent(alice)
    llm.enqueue("", calls=[call("delegate_task", task="Double it.")])
    llm.enqueue("", calls=[call("calculate", expression="2 * 5433")])
    llm.enqueue("It is 10866.", delay=1)
    llm.enqueue("Doubled.")
    alice.says("Double the port")
    row = page.locator(".run .tool[data-tool=calculate]")
    expect(row).to_have_attribute("data-status", "done")
    row.locator("summary").click()
    page.context.set_offline(True)
    sever(page)
    llm.wait_for(lambda server: len(server.chats) == 4)
    page.context.set_offline(False)
    alice.is_answered("Doubled.")
    expect(page.locator(".run .step")).to_have_count(3)
    expect(row).to_have_attribute("open", "")
    assert page.locator(".run").get_attribute("data-status") == "done"
