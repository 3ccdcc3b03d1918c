"""The timeline of compactions, their changes, and messages in their place."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from compression.core.values import Steering
from compression.models import Compaction
from conversations.compaction import compaction
from conversations.models import Conversation, Message, ModelProfile, User
from tests.conversations.chat import fill
from tests.conversations.pages import Pages, elements
from tests.conversations.requests.test_seeing import words_of
from tests.llm_server import LlmServer


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


@pytest.fixture
def filled(conversation: Conversation) -> Conversation:
    fill(conversation, 30, protected=(2,))
    return conversation


def folds(conversation: Conversation, **steering: Any) -> Compaction:
    row = compaction.request(conversation, trigger="manual", steering=Steering(**steering))
    row.refresh_from_db()
    conversation.refresh_from_db()
    return row


def nth(number: int) -> Message:
    return Message.objects.get(content__startswith=f"Message {number} ")


def test_the_timeline_tells_every_compaction_the_latest_first(filled: Conversation, pages: Pages) -> None:
    first = folds(filled, up_to=str(nth(9).pk))
    last = folds(filled)
    Compaction.objects.filter(pk=first.pk).update(cost_usd=Decimal("0.0004"), duration_ms=1_800)
    whole, panel = pages.get("timeline", filled.pk), pages.get("timeline", filled.pk, htmx=True)
    assert "<html" in whole.content.decode() and "<html" not in panel.content.decode()
    shown = [one["data-compaction"] for one in elements(panel).with_attribute("data-compaction")]
    assert shown == [str(last.pk), str(first.pk)]
    told = words_of(panel)
    assert last.before and last.after and first.before and first.after
    saved = last.before - last.after + first.before - first.after
    for words in (
        "Compactions in force 2", f"Tokens saved {saved:,}", "By hand",
        "Written by scripted", "Took 1.8 s", "Cost $0.0004",
        f"{first.before:,} → {first.after:,} tokens", f"{first.facts_kept} of {first.facts_found}",
    ):  # fmt: skip
        assert words in told
    undo = [one["hx-post"] for one in elements(panel).with_attribute("hx-post")]
    assert undo == [f"/c/{filled.pk}/undo/{last.pk}"]


def test_the_cost_of_all_is_known_where_that_of_each_is(filled: Conversation, pages: Pages) -> None:
    def told() -> str:
        return words_of(pages.get("timeline", filled.pk, htmx=True))

    Compaction.objects.create(conversation=filled, trigger="auto", status="succeeded", summariser="extractive")
    assert "Cost nothing" in told()
    asked = Compaction.objects.create(conversation=filled, trigger="auto", status="failed", prompt_tokens=100)
    assert "Cost not known" in told()
    Compaction.objects.filter(pk=asked.pk).update(cost_usd=Decimal("0.0004"))
    assert "Cost $0.0004" in told()


def test_its_bars_are_on_one_scale(filled: Conversation, pages: Pages) -> None:
    row = folds(filled)
    assert row.before
    Compaction.objects.create(
        conversation=filled, trigger="auto", status="undone", request_before=2 * row.before, request_after=row.before
    )
    widths = re.findall(
        r'class="(before|after)".*? width="([\d.]+)"', pages.get("timeline", filled.pk).content.decode()
    )
    assert [one for one in widths if one[0] == "before"] == [("before", "100.0"), ("before", "50.0")]
    assert widths[1] == ("after", "50.0")


def test_a_summariser_that_failed_is_told_in_words(filled: Conversation, pages: Pages, llm: LlmServer) -> None:
    llm.enqueue_summary(status=500, times=3)
    folds(filled)
    told = words_of(pages.get("timeline", filled.pk))
    assert "scripted did not answer (the provider has a fault, 500" in told
    assert "Written without a model" in told


def test_a_compaction_that_came_to_nothing_says_why_and_has_no_bars(filled: Conversation, pages: Pages) -> None:
    Compaction.objects.create(conversation=filled, trigger="auto", status="failed", error="No model is <set>.")
    page = pages.get("timeline", filled.pk, htmx=True)
    assert "Did not work By itself" in words_of(page)
    assert "No model is &lt;set&gt;." in page.content.decode()
    assert "Did not work 1" in words_of(page)
    assert "<rect" not in page.content.decode() and "hx-post" not in page.content.decode()


def test_the_changes_of_each_are_loaded_when_they_are_asked_for(filled: Conversation, pages: Pages) -> None:
    row = folds(filled)
    address = f"/c/{filled.pk}/compactions/{row.pk}/changes"
    assert address in [one["hx-get"] for one in elements(pages.get("timeline", filled.pk)).with_attribute("hx-get")]
    told = words_of(pages.get("changes", filled.pk, row.pk, htmx=True))
    assert "added: [Compressed Message Summary]" in told
    skipped = Compaction.objects.create(conversation=filled, trigger="auto", status="skipped", error="No.")
    assert "Its changes are unknown" in words_of(pages.get("changes", filled.pk, skipped.pk, htmx=True))


def test_the_timelines_queries_do_not_grow(filled: Conversation, pages: Pages, django_assert_num_queries: Any) -> None:
    for more in (1, 120):
        Compaction.objects.bulk_create(
            Compaction(conversation=filled, trigger="auto", status="failed", error="No.") for _ in range(more)
        )
        with django_assert_num_queries(6):
            page = pages.get("timeline", filled.pk, htmx=True)
    assert page.content.decode().count('<li class="event"') == 100
    assert "The 100 latest of 121." in words_of(page)


def test_tries_that_found_nothing_to_compact_are_left_out(filled: Conversation, pages: Pages) -> None:
    Compaction.objects.create(conversation=filled, trigger="auto", status="skipped", error="Too few messages.")
    page = words_of(pages.get("timeline", filled.pk, htmx=True))
    assert "No compaction yet." in page and "Too few messages" not in page


def test_the_context_leads_to_the_timeline_and_says_how_much_is_in_it(filled: Conversation, pages: Pages) -> None:
    assert "Nothing was compacted yet." in words_of(pages.get("context", filled.pk, htmx=True))
    folds(filled)
    page = pages.get("context", filled.pk, htmx=True)
    assert f'href="/c/{filled.pk}/timeline"' in page.content.decode()
    assert "1 compaction:" in words_of(page)


def test_view_leads_from_the_summary_to_its_messages(filled: Conversation, pages: Pages, llm: LlmServer) -> None:
    decisions = "\n".join(f"- port {5000 + number} for word{number}: it was free" for number in range(3, 26))
    ModelProfile.objects.update(window=16_000)  # the summariser reads all of it at once
    llm.enqueue_summary(f'## Summary\nPorts were given.\n\n## Decisions\n{decisions}\n- <b id="x">no</b>\n')
    row = folds(filled)
    page = pages.get("compaction", filled.pk, row.pk, htmx=True)
    found = elements(page)
    cites = [one["href"] for one in found.with_attribute("href") if one["href"].startswith("#source-")]
    assert cites[:23] == [f"#source-{number + 1}" for number in range(3, 26)]
    assert all(found.by_id(one.removeprefix("#")) for one in cites)
    sources = page.content.decode().partition('id="source-8"')[2]
    assert sources.index("Message 7 says") < sources.index("Message 8 says")
    assert f"#message-{nth(7).pk}" in sources
    assert "&lt;b id=" in page.content.decode() and "<b id=" not in page.content.decode()


def test_a_message_is_shown_among_those_around_it(filled: Conversation, pages: Pages) -> None:
    folds(filled)
    here = nth(14)
    whole, panel = pages.get("around", filled.pk, here.pk), pages.get("around", filled.pk, here.pk, htmx=True)
    assert "<html" in whole.content.decode() and "<html" not in panel.content.decode()
    found = elements(panel)
    states = [one["data-state"] for one in found.with_attribute("data-state")]
    assert states == ["compressed"] * 21
    assert found.with_attribute("data-here")[0]["id"] == f"near-{here.pk}"
    ways = [one["href"] for one in found.with_attribute("href") if "/around" in one["href"]]
    assert ways == [f"/c/{filled.pk}/messages/{nth(number).pk}/around" for number in (4, 24)]
    states = [
        one["data-state"] for one in elements(pages.get("around", filled.pk, nth(0).pk)).with_attribute("data-state")
    ]
    assert states == ["compressed", "compressed", "protected", *["compressed"] * 8]
    assert "Later" not in words_of(pages.get("around", filled.pk, nth(29).pk, htmx=True))


def test_a_message_that_was_replaced_is_still_shown(filled: Conversation, pages: Pages) -> None:
    Message.objects.filter(pk=nth(28).pk).update(replaced_by=nth(29))
    found = elements(pages.get("around", filled.pk, nth(28).pk, htmx=True))
    assert found.by_id(f"near-{nth(28).pk}")["data-state"] == "replaced"
    ids = [one["id"] for one in elements(pages.get("around", filled.pk, nth(29).pk)).with_attribute("data-state")]
    assert f"near-{nth(28).pk}" not in ids


def test_what_is_anothers_or_not_there_is_not_found(filled: Conversation, pages: Pages) -> None:
    row, stranger = folds(filled), Pages(User.objects.create_user("mallory"))
    for name, *more in (("timeline",), ("changes", row.pk), ("around", nth(3).pk)):
        assert stranger.get(name, filled.pk, *more).status_code == 404
    gone = pages.get("around", filled.pk, uuid4(), htmx=True)
    assert (gone.status_code, gone["HX-Retarget"]) == (404, "#alert")
    assert "This message no longer exists." in words_of(gone)


def test_the_queries_of_a_message_in_its_place_do_not_grow(
    filled: Conversation, pages: Pages, django_assert_max_num_queries: Any
) -> None:
    for number in (1, 15):
        with django_assert_max_num_queries(16):
            pages.get("around", filled.pk, nth(number).pk, htmx=True)
