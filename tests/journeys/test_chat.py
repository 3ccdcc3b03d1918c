"""From the first visit to a long talk, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from threading import Event

import pytest
from playwright.sync_api import APIResponse, Route, expect

from tests.conftest import real_conversation
from tests.journeys.site import PASSWORD, Person, long_conversation
from tests.llm_server import LlmServer
from tests.servers import wait_until

pytestmark = pytest.mark.browser

FORMATTED = """\
## How it works

A **bold** word, and a second line
of the same paragraph.

```python
def first():
    return 1


def second():
    return 2
```

- **One** is a point
- **Two** is another
- **Three** is the last

And a table:

| name | value |
| --- | ---: |
| one | 1 |
| two | 2 |
| three | 3 |

That is all."""
HOSTILE = "<script>window.hit=1</script><img src=x onerror='window.hit=1'>[x](javascript:window.hit=1)"


def test_the_first_visitor_makes_the_account_and_everyone_later_signs_in(at_site: Callable[..., Person]) -> None:
    alice = at_site()
    alice.sets_up()
    expect(alice.page.get_by_role("heading", name="Talk for as long as you like")).to_be_visible()
    alice.opens("Sign out", role="button")
    alice.page.wait_for_url("**/accounts/login/")
    alice.page.goto(alice.site.url + "/setup/")
    alice.page.wait_for_url("**/accounts/login/")
    alice.page.get_by_label("Username").fill(alice.name)
    alice.page.get_by_label("Password").fill(PASSWORD)
    alice.page.get_by_role("button", name="Sign in").click()
    alice.page.wait_for_url(alice.site.url + "/")
    assert alice.complaints == []


def test_a_reply_streams_in_and_ends_as_markdown(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("One **bold** word, then `code`, " + "and more " * 20, drip=0.05)
    alice.says("Write something")
    expect(alice.replies.last.locator(".streaming")).to_contain_text("One **bold** word")
    expect(alice.page.locator("#stop")).to_be_visible()
    expect(alice.page.locator("#send")).to_be_hidden()
    alice.is_answered("and more")
    expect(alice.replies.last.locator("strong")).to_have_text("bold")
    expect(alice.page.locator("#send")).to_be_visible()
    expect(alice.page.locator("#thread .message")).to_have_count(2)
    expect(alice.box).to_have_value("")
    expect(alice.page.locator(".head h1")).not_to_have_text("New chat")
    expect(alice.page.locator("#context-meter")).not_to_have_attribute("data-used", "0")
    assert alice.complaints == []


def test_what_is_whole_of_a_reply_is_formatted_while_the_rest_is_written(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    in_code, in_table = Event(), Event()
    llm.enqueue(FORMATTED, piece=6, holds={"return 2": in_code, "| three": in_table})
    alice.says("Write something long")
    reply = alice.replies.last
    expect(reply.locator(".growing h2")).to_have_text("How it works")
    expect(reply.locator(".growing > p strong")).to_have_text("bold")
    box = reply.locator(".growing .code code.streaming")
    for _ in range(2):
        expect(box).to_contain_text("return 2")
        expect(reply.locator(".code-head span")).to_have_text("python")
        alice.page.reload()
    expect(reply.locator(".growing h2")).to_have_text("How it works")
    in_code.set()
    expect(reply.locator(".growing > .code .k").first).to_have_text("def")
    expect(reply.locator(".growing > ul strong").first).to_have_text("One")
    expect(reply.locator(".growing .tail tbody tr")).to_have_count(2)
    expect(reply.locator(".growing .streaming")).to_contain_text("| three")
    alice.page.evaluate("window.before = document.querySelector('.growing').cloneNode(true)")
    in_table.set()
    alice.is_answered("That is all.")
    shown = "one => [...one.querySelectorAll('h2, p, pre, li, td')].map(part => part.textContent.trim())"
    whole = "document.querySelector('.message.assistant .prose')"
    before, after = (alice.page.evaluate(f"({shown})({one})") for one in ("before", whole))
    assert before == after[: len(before)] and len(after) >= len(before) > 8
    assert alice.complaints == []


def test_a_page_that_fetched_an_earlier_state_of_a_reply_catches_up_while_it_is_written(
    alice: Person, llm: LlmServer
) -> None:
    alice.begins()
    first, second, third = Event(), Event(), Event()
    llm.enqueue(FORMATTED, piece=6, holds={"A **bo": first, "return 2": second, "| three": third})
    alice.says("Write something long")
    reply = alice.replies.last
    expect(reply.locator(".streaming")).to_contain_text("A **bo")
    late: list[tuple[Route, APIResponse]] = []
    alice.page.route("**/thread*", lambda route: late.append((route, route.fetch())), times=1)
    alice.page.evaluate("htmx.trigger(document.body, 'converge')")
    wait_until(lambda: bool(alice.page.wait_for_timeout(50) or late), what="the state of now")
    first.set()
    expect(reply.locator(".streaming")).to_contain_text("return 2")
    late[0][0].fulfill(response=late[0][1])
    expect(reply.locator(".streaming")).not_to_contain_text("return 2")
    second.set()
    expect(reply.locator(".growing .tail tbody tr")).to_have_count(2, timeout=4_000)  # it asks by itself after 5 s
    expect(reply.locator(".growing > ul li")).to_have_count(3)
    expect(reply.locator(".growing > .code")).to_contain_text("return 2")
    expect(reply.locator(".growing h2")).to_have_count(1)
    third.set()
    alice.is_answered("That is all.")
    assert alice.complaints == []


def test_a_reply_too_large_for_a_frame_arrives_whole_and_the_socket_stays_open(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    alice.page.evaluate("document.addEventListener('htmx:wsClose', () => { window.closed_once = true })")
    llm.enqueue("a rather long line of words\n\n" * 3_000 + "the end", drip=0.01, piece=9_000)
    alice.says("Write a book")
    alice.is_answered("the end")
    assert not alice.page.evaluate("window.closed_once")
    assert alice.complaints == []


def test_stop_keeps_what_was_written(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("word " * 500, drip=0.05)
    alice.says("Go on for long")
    expect(alice.replies.last).to_contain_text("word word word")
    alice.page.locator("#stop").click()
    expect(alice.replies.last).to_have_attribute("data-status", "stopped")
    expect(alice.replies.last).to_contain_text("word word word")


def test_a_failed_reply_says_why_and_is_tried_again(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue(status=401, message="no such key")
    alice.says("Hello?")
    expect(alice.replies.last).to_have_attribute("data-status", "failed")
    llm.enqueue("Here I am.")
    alice.replies.last.get_by_role("button", name="Try again").click()
    alice.is_answered("Here I am.")
    expect(alice.page.locator("#thread .message")).to_have_count(2)


def test_a_refused_message_keeps_the_draft_and_says_why(alice: Person) -> None:
    alice.begins()
    too_long = "many words " * 9_000
    alice.says(too_long)
    expect(alice.page.get_by_role("alert")).to_contain_text("Too long for scripted by about")
    expect(alice.box).to_have_value(too_long)
    expect(alice.page.locator("#thread .message")).to_have_count(0)


def test_a_draft_outlives_a_reload_and_belongs_to_its_conversation(alice: Person) -> None:
    alice.begins()
    alice.box.fill("half a thought")
    alice.page.reload()
    expect(alice.box).to_have_value("half a thought")
    alice.page.goto(alice.site.url)
    alice.imports(long_conversation(4))
    expect(alice.box).to_have_value("")


def test_hostile_text_is_inert(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue(HOSTILE + "\n\n```html\n" + HOSTILE + "\n```")
    alice.says(HOSTILE)
    alice.is_answered("window.hit")
    alice.page.reload()
    expect(alice.page.locator("#thread .message")).to_have_count(2)
    assert alice.page.evaluate("window.hit") is None
    assert alice.page.locator("#thread script, #thread img, #thread a[href^=javascript]").count() == 0
    assert alice.complaints == []


def test_a_real_conversation_of_hundreds_of_messages_is_imported_and_gone_on_with(
    at_site: Callable[..., Person], llm: LlmServer
) -> None:
    conversation = real_conversation("locomo/41.json")
    alice = at_site(window=60_000)
    alice.sets_up()
    alice.imports(conversation)
    expect(alice.page.locator("#thread .message").last).to_contain_text(conversation["messages"][-1]["content"][:40])
    alice.page.get_by_role("button", name="Show earlier messages").scroll_into_view_if_needed()
    expect(alice.page.locator("#thread .message")).to_have_count(120)
    llm.enqueue("It was a long talk.")
    alice.says("Where were we?")
    alice.is_answered("It was a long talk.")
    assert alice.complaints == []


def test_the_page_fits_a_phone(alice: Person, llm: LlmServer) -> None:
    alice.page.set_viewport_size({"width": 390, "height": 844})
    alice.page.goto(alice.site.url)
    alice.begins()
    llm.enqueue("```\n" + "a long line of code " * 20 + "\n```\n\n" + "x" * 500)
    alice.says("y" * 500)
    alice.is_answered("xxx")
    assert alice.page.evaluate("document.documentElement.scrollWidth") == 390
    alice.page.locator("#drawer").click()
    entry = alice.page.locator("#conversations a").first
    expect(entry).to_be_in_viewport()
    alice.page.keyboard.press("Escape")
    expect(entry).not_to_be_visible()


def test_the_menu_has_the_title_that_the_chat_got_meanwhile(alice: Person, llm: LlmServer) -> None:
    title = alice.page.locator("#conversation-menu input[name=title]")
    alice.begins()
    alice.page.get_by_role("button", name="Menu").click()
    expect(title).to_have_value("")
    expect(title).to_have_attribute("placeholder", "New chat")
    alice.page.keyboard.press("Escape")
    llm.enqueue("It listens on 5433.")
    alice.says("Ports of alpha")
    alice.is_answered("5433")
    expect(alice.page.locator(".head h1")).to_have_text("Ports of alpha")
    alice.page.get_by_role("button", name="Menu").click()
    expect(title).to_have_value("Ports of alpha")


def test_a_conversation_is_renamed_and_deleted(alice: Person) -> None:
    alice.imports(long_conversation(4))
    alice.page.get_by_role("button", name="Menu").click()
    alice.page.locator("#conversation-menu input[name=title]").fill("Ports & <b>services</b>")
    alice.page.locator("#conversation-menu").get_by_role("button", name="Rename").click()
    expect(alice.page.locator(".head h1")).to_have_text("Ports & <b>services</b>")
    expect(alice.page.locator("#conversations .entry a")).to_have_text(re.compile("Ports & <b>services</b>"))
    alice.page.get_by_role("button", name="Menu").click()
    alice.page.locator("#conversation-menu").get_by_role("button", name="Delete").click()
    alice.page.wait_for_url(re.compile(r"\?trashed="))
    expect(alice.page.locator("#conversations .entry a")).to_have_count(0)
    alice.page.get_by_role("button", name="Restore Ports & <b>services</b>").click()
    alice.page.locator(".just-gone .entry a").click()
    expect(alice.page.locator(".head h1")).to_have_text("Ports & <b>services</b>")
    alice.page.get_by_role("button", name=re.compile("^Rename, move")).click()
    alice.page.locator("#conversations .menu").get_by_role("button", name="Delete").click()
    alice.page.wait_for_url(re.compile(r"\?trashed="))
    alice.page.get_by_role("link", name="Trash").click()
    alice.page.on("dialog", lambda dialog: dialog.accept())
    alice.page.get_by_role("button", name="Empty the trash…").click()
    expect(alice.page.get_by_text("Nothing is in the trash.")).to_be_visible()
