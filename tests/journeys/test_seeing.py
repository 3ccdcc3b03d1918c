"""What the model sees, and what became of the past, as a person finds it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from tests.journeys.site import Person, long_conversation
from tests.journeys.test_settings import context_of
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser


def folds(person: Person) -> Locator:
    """The divider of what was folded by hand."""
    person.page.locator("#compact").click()
    divider = person.page.locator(".compaction-divider")
    expect(divider).to_contain_text("messages compacted")
    expect(person.box).to_be_enabled()
    return divider


def id_of(person: Person, number: int) -> str:
    """The id of a message of the long conversation, out of its export."""
    rows = person.page.request.get(f"{person.page.url.partition('#')[0]}export?format=json").json()["messages"]
    return str(next(row["id"] for row in rows if row["content"].startswith(f"Message {number}:")))


def test_open_all_shows_the_request_that_the_model_then_receives(alice: Person, llm: LlmServer) -> None:
    alice.imports(long_conversation(30))
    folds(alice)
    alice.page.locator("#meter-button").click()
    sees = alice.page.locator("#model-sees")
    expect(sees).to_contain_text("Summary, 1 checkpoint")
    expect(sees).to_contain_text("Recent messages: 4")
    expect(sees).to_contain_text(re.compile(r"Summarises at \d\d\s+%, in about \d+\s+turns"))
    expect(sees.get_by_text("The next request has")).to_be_visible()  # htmx has seen what the last event brought
    sees.get_by_role("link", name="Open all").click()
    reader = alice.page.get_by_role("dialog")
    # What is recalled is looked for anew when a message is sent.
    stable = reader.locator(".part:not(.recalled)")
    expect(stable).to_have_count(6)
    shown = stable.locator(".plain").evaluate_all("(parts) => parts.map((part) => part.textContent)")
    reader.get_by_role("button", name="Close").click()
    llm.enqueue("Port 5003.")
    alice.says("Which port has service-3?")
    alice.is_answered("Port 5003.")
    sent = [message["content"] for message in llm.chats[-1].body["messages"]]
    assert shown == [content for content in sent if not content.startswith("[Recalled Passages]")][:-1]
    assert alice.complaints == []


def test_the_meter_says_what_the_next_request_has_of_the_facts_that_were_compacted(alice: Person) -> None:
    alice.imports(long_conversation(30))
    alice.page.locator("#meter-button").click()
    sees = alice.page.locator("#model-sees")
    expect(sees).not_to_contain_text("facts")
    alice.page.keyboard.press("Escape")
    folds(alice)
    alice.page.locator("#meter-button").click()
    line = sees.get_by_text("The next request has")
    expect(line).to_have_text(re.compile(r"The next request has \d+ of \d+ facts of the compacted\s+messages"))
    said = re.search(r"(\d+) of (\d+)", line.inner_text())
    assert said and 0 < int(said[1]) <= int(said[2])
    sees.get_by_role("link", name="Open all").click()
    reader = alice.page.get_by_role("dialog")
    expect(reader).to_contain_text(f"{said[1]} of {said[2]}")
    assert alice.complaints == []


def test_a_number_leads_to_its_source_and_that_to_its_place_on_a_phone(alice: Person, llm: LlmServer) -> None:
    alice.page.set_viewport_size({"width": 390, "height": 844})
    alice.page.emulate_media(reduced_motion="reduce", color_scheme="dark")
    alice.imports(long_conversation(60))
    folds(alice).get_by_role("link", name="View").click()
    reader = alice.page.get_by_role("dialog")
    cited = reader.locator(".cites a")
    expect(cited.first).to_be_visible()
    numbers = [int(text.split()[-1]) for text in cited.all_inner_texts()]
    number = cited.nth(numbers.index(min(number for number in numbers if number > 4)))  # the thread shows the first
    place = number.get_attribute("href")
    assert place
    number.click()
    source = reader.locator(place)
    expect(source).to_be_focused()
    expect(source).to_be_in_viewport()
    assert alice.page.evaluate("location.hash") == ""
    said = source.locator(".plain").inner_text()
    source.get_by_role("link", name="Go to").click()
    here = reader.locator("#around [data-here]")
    expect(here).to_contain_text(said)
    expect(here).to_contain_text("compacted")
    expect(here).to_be_focused()
    expect(here).to_be_in_viewport()
    reader.get_by_role("link", name="Later").click()
    expect(here).to_contain_text("Message")
    expect(here).not_to_contain_text(said)
    width = alice.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390
    assert alice.complaints == []


def test_the_timeline_says_what_a_summariser_did_that_failed_and_takes_the_fold_back(
    alice: Person, llm: LlmServer
) -> None:
    alice.imports(long_conversation(30))
    llm.enqueue_summary(status=500, times=3)
    folds(alice)
    expect(alice.status).to_contain_text("did not answer (the provider has a fault, 500")
    alice.status.get_by_role("link", name="How it went").click()
    reader = alice.page.get_by_role("dialog")
    expect(reader.locator("#story")).to_contain_text("Written without a model")
    reader.get_by_role("button", name="Close").click()
    alice.page.get_by_role("button", name="Menu").click()
    alice.page.get_by_role("link", name="Timeline").click()
    event = reader.locator(".event")
    expect(event).to_contain_text("did not answer (the provider has a fault, 500")
    event.get_by_text("Changes in what the model sees").click()
    expect(event.locator(".diff .added").first).to_contain_text("[Compressed Message Summary]")
    event.get_by_role("button", name="Undo").click()
    expect(event).to_have_attribute("data-status", "undone")
    expect(event.get_by_role("button", name="Undo")).to_have_count(0)
    reader.get_by_role("button", name="Close").click()
    expect(alice.page.locator(".message[data-state=live]")).to_have_count(30)
    assert alice.complaints == []


def test_a_full_conversation_says_so_and_can_wait_or_be_folded(at_site: Callable[..., Person], llm: LlmServer) -> None:
    alice = at_site(window=15_000, COMPRESSION_AHEAD="0")
    alice.sets_up()
    alice.imports(long_conversation(70, words=60))
    notice = alice.page.locator("#notice")
    expect(notice).to_contain_text(
        re.compile(r"This conversation is\s+\d\d % full.\s+At \d\d % its\s+older part is compacted.")
    )
    other = alice.page.context.new_page()
    other.goto(alice.page.url)
    expect(other.locator("#notice")).to_contain_text("% full")
    expect(alice.page.locator(".app")).not_to_have_class(re.compile("offline"))
    other.get_by_role("button", name="Later").click()
    expect(other.locator("#notice")).to_be_empty()
    expect(notice).to_be_empty()
    alice.page.reload()
    expect(alice.page.locator("#meter-button")).to_be_visible()
    expect(notice).to_be_empty()
    other.close()
    assert alice.complaints == []


def test_a_link_to_a_message_finds_it_folded_or_far_above(alice: Person) -> None:
    alice.imports(long_conversation(100))
    page, here = alice.page, alice.page.locator("#around [data-here]")
    address, first, last = page.url, id_of(alice, 2), id_of(alice, 99)
    page.goto("about:blank")
    page.goto(f"{address}#message-{first}")  # live, and earlier than what the page shows
    expect(here).to_contain_text("Message 2: service-2 listens")
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(here).to_have_count(0)
    page.evaluate("(hash) => { location.hash = hash; }", f"#message-{last}")
    expect(page.locator(f"#message-{last}")).to_be_focused()
    folds(alice)
    page.evaluate("(hash) => { location.hash = hash; }", f"#message-{first}")  # a row of the fold
    row = page.locator(f"#message-{first}")
    expect(row).to_have_attribute("open", "")
    expect(row).to_contain_text("Message 2: service-2 listens")
    page.evaluate("(hash) => { location.hash = hash; }", f"#message-{id_of(alice, 50)}")  # in the rest of the fold
    expect(here).to_contain_text("Message 50: service-50 listens")
    expect(here).to_contain_text("compacted")
    assert alice.complaints == []


def test_what_is_recalled_is_seen_with_its_source_and_can_be_switched_off(alice: Person, llm: LlmServer) -> None:
    alice.imports(long_conversation(60))
    folds(alice)
    llm.enqueue("Port 5007, as you said.")
    alice.says("Which port has service-7?")
    alice.is_answered("Port 5007, as you said.")
    sent = llm.chats[-1].body["messages"]
    recalled = alice.replies.last.locator(".recall > details")
    recalled.locator("summary").click()
    rows = recalled.locator("li")
    said = rows.filter(has_text="#8")
    expect(said.locator("b")).to_have_text("AI")
    expect(said.locator("mark").first).to_have_text(re.compile("service|port|7", re.IGNORECASE))
    expect(recalled).to_contain_text("quoted in this request only")
    reader = alice.page.get_by_role("dialog")
    said.get_by_role("link", name="Go to it").click()
    expect(reader.locator("#around [data-here]")).to_contain_text("service-7")
    reader.get_by_role("button", name="Close").click()
    recalled.get_by_role("link", name="What the model saw").click()
    part = reader.locator(".part.recalled")
    expect(part).to_be_in_viewport()
    expect(part.locator("summary")).to_be_focused()
    expect(part.locator(".plain")).to_be_visible()
    shown = part.locator(".plain").text_content()
    assert shown == sent[-2]["content"] and "service-7" in shown
    assert f"{rows.count()} recalled" in part.locator("summary").inner_text()
    source = part.locator(".from a", has_text="#8,")
    expect(source).to_have_text("#8, 1 Jan 2026, Assistant")
    expect(reader.locator(".legend .recalled")).to_be_visible()
    source.click()
    expect(reader.locator("#around [data-here]")).to_contain_text("service-7")
    reader.get_by_role("button", name="Close").click()
    meter = alice.page.locator(".meter .recalled")
    expect(meter).to_have_count(1)
    bars = alice.page.locator(".meter rect").evaluate_all("(all) => all.map((one) => getComputedStyle(one).fill)")
    assert len(set(bars)) == len(bars) > 3
    panel = context_of(alice, "Memory")
    panel.get_by_role("combobox", name="Recall", exact=True).select_option("false")
    expect(panel.locator("#setting-recall")).to_contain_text("Saved.")
    alice.page.keyboard.press("Escape")
    llm.enqueue("I do not know.")
    alice.says("Which port has service-8?")
    alice.is_answered("I do not know.")
    assert not any("Recalled Passages" in str(message["content"]) for message in llm.chats[-1].body["messages"])
    expect(alice.replies.last.locator(".recall")).to_have_count(0)
    expect(meter).to_have_count(0)
    assert alice.complaints == []
