"""The context of a conversation, and other ways on from its messages, in a real browser."""

from __future__ import annotations

import json
import re
from zipfile import ZipFile

import pytest
from playwright.sync_api import Locator, expect

from tests.journeys.site import Person, long_conversation
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser

IN_FORCE = "#rules-section li[data-state=in_force]"


def context_of(alice: Person, tab: str = "Instructions") -> Locator:
    """The Context panel at one of its tabs, opened if it is not."""
    panel = alice.page.get_by_role("complementary", name="Context")
    if not panel.is_visible():
        alice.page.get_by_role("link", name="Context", exact=True).click()
    panel.get_by_role("tab", name=tab).click()
    expect(panel.get_by_role("tabpanel", name=tab)).to_be_visible()
    return panel


def test_goal_and_rules_set_in_the_page_reach_the_next_request(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    panel = context_of(alice)
    panel.get_by_label("The goal of this conversation").fill("Move alpha to node-7")
    panel.get_by_label("Priority").select_option("high")
    panel.get_by_role("button", name="Set goal").click()
    panel.get_by_label("A further checkpoint").fill("Copy the archive")
    panel.get_by_label("A further checkpoint").press("Enter")
    panel.get_by_label("Status of Copy the archive").select_option("completed")
    expect(panel.locator(".steps [data-status=completed]")).to_have_count(1)
    context_of(alice, "Rules")
    for rule in ("Never on Fridays", "Use UTC"):
        panel.get_by_label("A further rule").fill(rule)
        panel.get_by_label("A further rule").press("Enter")
        expect(panel.locator(IN_FORCE).last.get_by_role("textbox")).to_have_value(rule)
    panel.get_by_label("Rule 2", exact=True).fill("Always use UTC")
    panel.get_by_label("Rule 2", exact=True).press("Enter")
    expect(panel.get_by_role("button", name="Remove rule 2: Always use UTC")).to_be_visible()
    panel.get_by_role("button", name="Remove rule 1: Never on Fridays").click()
    expect(panel.locator(IN_FORCE)).to_have_count(1)
    context_of(alice, "Instructions")
    panel.get_by_role("combobox", name="Style", exact=True).select_option("planning")
    expect(panel.locator("#mode-section")).to_contain_text("Saved.")
    alice.page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(alice.page.locator("#pills")).to_contain_text("Goal: Move alpha to node-7")
    expect(alice.page.locator("#pills")).to_contain_text("Planning mode")
    llm.enqueue("Understood.")
    alice.says("What is next?")
    alice.is_answered("Understood.")
    asked = llm.chats[-1].text
    assert "Move alpha to node-7" in asked and "Done: Copy the archive" in asked
    assert "Always use UTC" in asked and "Fridays" not in asked
    assert alice.complaints == []


def test_the_panel_stands_beside_the_chat_and_says_what_compacting_does(alice: Person, llm: LlmServer) -> None:
    alice.imports(long_conversation(30))
    panel, page = context_of(alice, "Memory"), alice.page
    card = panel.locator(".card-now")
    expect(card).to_contain_text("26 messages go into the summary")
    expect(panel.locator(".budgets tfoot")).to_contain_text("Without the reply")
    alice.box.fill("The chat can be used beside it.")
    panel.get_by_label("Keep in mind").fill("every port number")
    card.get_by_role("button", name="Compact").click()
    expect(page.locator(".compaction-divider")).to_have_count(1)
    expect(panel.locator(".budgets .summary + td")).not_to_have_text("0")
    expect(card).to_contain_text("There is nothing to compact yet.")
    expect(panel.get_by_label("Keep in mind")).to_have_value("every port number")
    assert "every port number" in llm.summaries[-1].text
    expect(alice.box).to_have_value("The chat can be used beside it.")
    panel.get_by_role("tab", name="Memory").press("ArrowRight")
    expect(panel.get_by_role("tab", name="Rules")).to_be_focused()
    expect(panel.get_by_role("tabpanel", name="Rules")).to_be_visible()
    page.keyboard.press("End")
    expect(panel.get_by_role("tabpanel", name="Advanced")).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(alice.box).to_be_focused()
    opener = page.get_by_role("link", name="Context", exact=True)
    opener.click()
    expect(opener).to_have_attribute("aria-expanded", "true")
    opener.click()
    expect(panel).to_be_hidden()
    assert alice.complaints == []


def test_the_panel_docks_within_a_tenth_of_a_second(alice: Person) -> None:
    alice.imports(long_conversation(200))
    context_of(alice)
    took = min(_docking(alice) for _ in range(3))  # a busy machine is slow once
    assert took < 300, f"{took:.0f} ms"  # 100 on an idle machine


def test_the_link_to_the_panel_opens_the_chat_with_it_at_its_tab(alice: Person) -> None:
    alice.imports(long_conversation(40))
    alice.page.goto(f"{alice.page.url.partition('?')[0]}context?at=memory")
    panel = alice.page.get_by_role("complementary", name="Context")
    expect(panel.get_by_role("tabpanel", name="Memory")).to_be_visible()
    panel.get_by_role("button", name="Compact", exact=True).click()
    expect(alice.page.locator("#thread [role=group] b")).to_be_visible()
    assert alice.complaints == []


def _docking(alice: Person) -> float:
    """The milliseconds from a press of the button, with the panel closed, until the panel shows."""
    alice.page.keyboard.press("Escape")
    expect(alice.page.locator("#dock")).to_be_hidden()
    took: float = alice.page.evaluate("""async () => {
      const began = performance.now(), dock = document.querySelector("#dock");
      document.querySelector("#to-dock").click();
      while (dock.hidden || !dock.querySelector(".shown")?.checkVisibility()) await new Promise(requestAnimationFrame);
      return performance.now() - began;
    }""")
    return took


def test_instructions_are_kept_while_they_are_typed(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    panel = context_of(alice)
    field = panel.get_by_role("textbox", name="Instructions for this chat")
    field.press_sequentially("Greet in Latin")
    expect(panel.locator("#system-prompt-kept")).to_contain_text("Saved")
    field.press_sequentially(", always.")
    expect(field).to_have_value("Greet in Latin, always.")
    field.press("Escape")
    expect(panel).to_be_hidden()
    llm.enqueue("Salve.")
    alice.says("Hello.")
    alice.is_answered("Salve.")
    assert "Greet in Latin, always." in llm.chats[-1].messages[0]["content"]
    assert alice.complaints == []


def test_what_was_noted_is_made_a_rule_and_a_rule_is_superseded_and_put_in_force_again(
    alice: Person, llm: LlmServer
) -> None:
    alice.begins()
    llm.enqueue("Bien.")
    alice.says("Always answer in French. I'd rather read a table than a list. We decided to use port 5433.")
    alice.is_answered("Bien.")
    llm.enqueue("Gut.")
    alice.says("Always answer in German.")
    alice.is_answered("Gut.")
    panel = context_of(alice, "Rules")
    rules = panel.locator("#rules-section")
    expect(panel.locator(IN_FORCE)).to_have_count(1)
    expect(rules.locator("[data-state=superseded]")).to_contain_text("Always answer in French.")
    rules.get_by_role("button", name="Make it a rule: I'd rather").click()
    expect(panel.locator(IN_FORCE)).to_have_count(2)
    expect(rules.get_by_role("status")).to_contain_text("It is a rule now")
    rules.get_by_role("button", name="Not a rule: We decided").click()
    expect(rules.locator("[data-state=dismissed]")).to_contain_text("dismissed by you")
    rules.get_by_role("button", name="Put in force: Always answer in French.").click()
    expect(rules.locator("[data-state=superseded]")).to_contain_text("Always answer in German.")
    rules.locator("[data-state=superseded]").get_by_text("History").click()
    expect(rules.locator("[data-state=superseded] ol")).to_contain_text("superseded by a later entry")
    alice.page.keyboard.press("Escape")
    llm.enqueue("Oui.")
    alice.says("And now?")
    alice.is_answered("Oui.")
    system = llm.chats[-1].messages[0]["content"]
    assert "- Always answer in French." in system and "- I'd rather read a table than a list." in system
    assert "German" not in system and "5433" not in system
    context_of(alice, "Rules")
    rules.get_by_role("link", name=re.compile(r"\d+ \w+ \d{4}")).first.click()
    alice.page.wait_for_url(lambda url: "/around" in url)
    expect(alice.page.locator(".near[data-here]")).to_contain_text("Always answer in French.")
    assert alice.complaints == []


def test_the_open_rules_follow_what_is_said_and_leave_a_rule_that_is_typed(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    panel = context_of(alice, "Rules")
    alice.says("Always answer in French. We decided to use port 5433.")
    alice.is_answered("All right.")
    expect(panel.locator(IN_FORCE)).to_have_count(1)
    expect(panel.locator("#tab-rules")).to_contain_text("1 to decide")
    llm.enqueue("Then.", drip=0.3)
    alice.says("Never use emojis.")
    panel.locator("#rule-new").press_sequentially("Be short", delay=60)
    alice.is_answered("Then.")
    alice.page.wait_for_timeout(500)
    expect(panel.locator("#rule-new")).to_have_value("Be short")
    assert alice.complaints == []


def test_an_order_that_is_pasted_among_the_words_is_no_rule_and_stays_none_when_it_is_edited(
    alice: Person, llm: LlmServer
) -> None:
    alice.begins()
    alice.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    llm.enqueue("An order.")
    alice.box.fill("No emojis. What does this want?\n")
    alice.page.evaluate("navigator.clipboard.writeText('Always answer in Latin.')")
    alice.box.press("Control+End")
    alice.box.press("Control+V")
    expect(alice.box).to_have_value("No emojis. What does this want?\nAlways answer in Latin.")
    alice.page.locator("#send").click()
    alice.is_answered("An order.")
    panel = context_of(alice, "Rules")
    expect(panel.locator(IN_FORCE)).to_have_count(1)
    expect(panel.locator("#rules-section")).not_to_contain_text("Latin")
    alice.page.keyboard.press("Escape")
    first = alice.page.locator("#thread .message[data-role=user]").first
    first.hover()
    first.get_by_role("button", name="Edit").click()
    form = alice.page.get_by_label("Your message")
    form.press("Control+Home")
    form.type("Hello. ")
    llm.enqueue("Hello.")
    alice.page.get_by_role("button", name="Save & ask again").click()
    alice.is_answered("Hello.")
    assert "- No emojis." in llm.chats[-1].messages[0]["content"]
    assert "Latin" not in llm.chats[-1].messages[0]["content"] and "Latin" in llm.chats[-1].text
    assert alice.complaints == []


def test_a_wrong_policy_is_told_beside_its_field_and_the_rest_stays(alice: Person) -> None:
    alice.begins()
    panel = context_of(alice, "Advanced")
    panel.get_by_label("Wait between summaries at least").fill("45")
    context_of(alice, "Memory")
    panel.get_by_label("Summarise when the chat is").fill("20")
    panel.get_by_label("Shrink it to about").focus()
    expect(panel.get_by_label("Summarise when the chat is")).to_have_accessible_description(
        "% full Must be a number from 50 % to 95 %."
    )
    expect(panel.get_by_label("Summarise when the chat is")).to_have_value("20")
    expect(panel.get_by_label("Wait between summaries at least")).to_have_value("45")
    panel.get_by_label("Summarise when the chat is").fill("60")
    panel.get_by_label("Summarise when the chat is").press("Tab")
    expect(panel.locator("#setting-threshold")).to_contain_text("Saved.")
    expect(panel.get_by_label("Shrink it to about")).to_be_focused()
    alice.page.reload()
    panel = context_of(alice, "Memory")
    expect(panel.get_by_label("Summarise when the chat is")).to_have_value("60")
    expect(panel.get_by_label("Wait between summaries at least")).to_have_value("45")
    expect(panel.get_by_label("Newest messages, never summarised")).to_have_value("")


CLIPPED = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const pen = document.createElement("canvas").getContext("2d");
  const isTooNarrow = (select) => {
    pen.font = getComputedStyle(select).font;
    return all(`#${select.id} option`).some((option) => pen.measureText(option.text).width > select.clientWidth - 20);
  };
  const words = all("#dock p, #dock label:not(.unseen)").filter((one) => one.scrollWidth > one.clientWidth + 1);
  const selects = all("#dock select").filter((one) => one.checkVisibility());
  return [...words.filter((one) => one.clientWidth), ...selects.filter(isTooNarrow)].map((one) => one.id);
}"""
"""Of the panel, what shows less than its words."""


def test_nothing_in_the_panel_is_cut_off_on_a_phone(alice: Person) -> None:
    alice.begins()
    alice.page.set_viewport_size({"width": 390, "height": 844})
    for tab in ("Instructions", "Model", "Memory", "Rules", "Advanced"):
        context_of(alice, tab)
        assert alice.page.evaluate(CLIPPED) == []


def test_a_message_is_edited_in_place_and_asked_again(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    for question, answer in (("Which port has alpha?", "Port 5433."), ("And beta?", "Port 5434.")):
        llm.enqueue(answer)
        alice.says(question)
        alice.is_answered(answer)
    alice.box.fill("a thought of its own")
    first = alice.page.locator("#thread .message[data-role=user]").first
    first.hover()
    first.get_by_role("button", name="Edit").click()
    form = alice.page.get_by_label("Your message")
    expect(form).to_be_focused()
    expect(form).to_have_accessible_description("3 messages below stay in the present version.")
    form.fill("")
    alice.page.get_by_role("button", name="Save & ask again").click()
    form.fill("Which host has alpha?")
    # The thread is read again meanwhile: what is being written stays.
    alice.page.evaluate("document.querySelector('#version').value = ''; htmx.trigger(document.body, 'converge')")
    expect(alice.page.locator("#version")).not_to_have_value("", timeout=5_000)
    expect(form).to_have_value("Which host has alpha?")
    llm.enqueue("It is node-7.")
    alice.page.get_by_role("button", name="Save & ask again").click()
    alice.is_answered("It is node-7.")
    expect(alice.page.locator("#thread .message")).to_have_count(2)
    expect(alice.page.locator("#thread")).not_to_contain_text("5434")
    expect(alice.box).to_have_value("a thought of its own")
    assert "Which port" not in llm.chats[-1].text
    assert alice.complaints == []


def test_a_reply_is_written_anew_after_a_word_of_warning_and_a_fork_opens(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    for question, answer in (("One?", "First."), ("Two?", "Second.")):
        llm.enqueue(answer)
        alice.says(question)
        alice.is_answered(answer)
    first = alice.replies.first
    first.hover()
    first.get_by_role("button", name="Regenerate").click()
    expect(first).to_contain_text("2 messages below stay in the present version.")
    first.get_by_role("button", name="Cancel").click()
    expect(first.get_by_role("button", name="More")).to_be_visible()
    expect(alice.page.locator("#thread .message")).to_have_count(4)
    first.get_by_role("button", name="Regenerate").click()
    expect(first.get_by_role("button", name="Regenerate all the same")).to_be_visible()
    with alice.page.expect_response(lambda answer: "/thread" in answer.url):
        alice.page.evaluate("htmx.trigger(document.body, 'converge')")
    expect(alice.page.locator("#thread.htmx-request")).to_have_count(0)
    llm.enqueue("Another first.")
    first.get_by_role("button", name="Regenerate all the same").press("Enter")
    alice.is_answered("Another first.")
    expect(alice.page.locator("#thread .message")).to_have_count(2)
    here = alice.page.url
    alice.chooses(alice.replies.first, "Fork")
    alice.page.wait_for_url(lambda url: "/c/" in url and url != here)
    expect(alice.page.locator("#thread .message")).to_have_count(2)
    assert alice.complaints == []


def test_a_snapshot_is_restored_and_the_thread_follows(alice: Person) -> None:
    alice.imports(long_conversation(30))
    panel = context_of(alice, "Advanced")
    panel.get_by_role("button", name="Take a snapshot").click()
    expect(panel.locator("#snapshots-section")).to_contain_text("By hand")
    panel.get_by_role("button", name="Close").click()
    alice.page.locator("#compact").click()
    expect(alice.page.locator(".compaction-divider")).to_have_count(1)
    expect(alice.page.locator(".message[data-state=live]")).to_have_count(4)
    alice.page.on("dialog", lambda dialog: dialog.accept())
    panel = context_of(alice, "Advanced")
    panel.get_by_role("button", name="Restore the snapshot by hand").click()
    expect(panel).to_contain_text("The conversation is as it was in that snapshot.")
    panel.get_by_role("button", name="Close").click()
    expect(alice.page.locator(".compaction-divider")).to_have_count(0)
    expect(alice.page.locator(".message[data-state=live]")).to_have_count(30)
    assert alice.complaints == []


def test_a_summary_is_edited_from_its_divider(alice: Person, llm: LlmServer) -> None:
    alice.imports(long_conversation(30))
    alice.page.locator("#compact").click()
    alice.edits_summary()
    reader = alice.page.get_by_role("dialog")
    box = reader.get_by_label("The summary")
    expect(box).to_be_focused()
    box.fill("Ports.")
    reader.get_by_role("button", name="Save").click()
    expect(reader.locator("#summary_error")).to_contain_text("The summary lacks its headings")
    expect(box).to_have_value("Ports.")
    box.fill("## Summary\nEvery service has a port of its own.\n\n## Context\n- service-3=5003")
    reader.get_by_role("button", name="Save").click()
    expect(reader.get_by_role("status")).to_contain_text("Saved.")
    expect(reader.locator(".summary")).to_contain_text("a port of its own")
    alice.page.keyboard.press("Escape")
    llm.enqueue("Port 5003.")
    alice.says("Which port has service-3?")
    alice.is_answered("Port 5003.")
    assert "Every service has a port of its own." in llm.chats[-1].text


def test_an_administrator_connects_a_model(alice: Person, llm: LlmServer) -> None:
    llm.models = ["scripted", "qwen3:8b"]
    alice.page.goto(f"{alice.site.url}/models/connect?preset=ollama")
    alice.page.get_by_label("Address").fill(llm.url)
    alice.page.get_by_role("button", name="List the server's models").click()
    expect(alice.page.locator("#offers")).to_contain_text("2 models")
    expect(alice.page.locator("datalist option")).to_have_count(2)
    llm.enqueue(status=404, message="model 'gone' not found")
    alice.page.get_by_label("Model", exact=True).fill("gone")
    alice.page.get_by_role("button", name="Test and save").click()
    expect(alice.page.locator("#connected")).to_contain_text("model 'gone' not found")
    alice.page.get_by_label("Model", exact=True).fill("qwen3:8b")
    alice.page.get_by_role("button", name="Test and save").click()
    alice.page.wait_for_url(f"{alice.site.url}/")
    expect(alice.page.get_by_text("qwen3:8b is connected")).to_be_visible()
    assert alice.complaints == []


def test_everything_is_downloaded_as_a_zip_that_comes_in_again(alice: Person) -> None:
    for count in (1, 2):
        alice.page.goto(alice.site.url)
        alice.imports(long_conversation(6))
        expect(alice.page.locator("#conversations .entry")).to_have_count(count)
    alice.page.goto(f"{alice.site.url}/settings")
    with alice.page.expect_download() as started:
        alice.page.get_by_role("link", name="Download everything").click()
    file = started.value.path()
    with ZipFile(file) as archive:
        assert archive.testzip() is None
        assert len(json.loads(archive.read("conversations.json"))) == 2
    alice.page.goto(f"{alice.site.url}/import")
    alice.page.locator("#import-files").set_input_files(
        {"name": "all.zip", "mimeType": "application/zip", "buffer": file.read_bytes()}
    )
    expect(alice.page.locator("#conversations .entry")).to_have_count(4)
    assert alice.complaints == []


def test_a_reply_is_written_anew_by_another_model(alice: Person, llm: LlmServer) -> None:
    alice.page.goto(f"{alice.site.url}/models/connect?preset=other")
    alice.page.get_by_label("Address").fill(llm.url)
    alice.page.get_by_label("Model", exact=True).fill("larger")
    alice.page.get_by_role("button", name="Test and save").click()
    alice.page.wait_for_url(f"{alice.site.url}/")
    alice.begins()
    llm.enqueue("From the first.")
    alice.says("Who are you?")
    alice.is_answered("From the first.")
    llm.enqueue("From the larger one.")
    alice.chooses(alice.replies.last, "Regenerate with…", role="link")
    alice.page.locator(".with-model").get_by_role("button", name="larger").click()
    alice.is_answered("From the larger one.")
    expect(alice.page.locator("#panel")).not_to_be_visible()
    expect(alice.replies.last.locator(".of")).to_contain_text("larger")
    assert llm.chats[-1].body["model"] == "larger"
    assert alice.complaints == []
