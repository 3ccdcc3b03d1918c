"""A summary that a person writes anew, and what is told of a compaction."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from compression.core.context import render_context
from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD, Steering
from compression.models import Checkpoint, Compaction, Snapshot
from compression.records import active_checkpoints
from conversations.compaction import compaction, edit_summary
from conversations.errors import Conflict, Invalid
from conversations.models import Conversation, User
from conversations.page.markup.diff import LIMIT, DiffLine, diff
from conversations.templatetags.chat import fallback, story
from tests.conversations.chat import fill
from tests.conversations.pages import Pages, elements, one_line
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once

OWN = "## Summary\nPorts were settled.\n\n## Context\n- port=5000"


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


@pytest.fixture
def folded(conversation: Conversation) -> Conversation:
    fill(conversation, 20)
    compaction.request(conversation, trigger="manual", steering=Steering())
    conversation.refresh_from_db()
    return conversation


def active(conversation: Conversation) -> Checkpoint:
    return conversation.checkpoints.get(active=True)


def fold_more(conversation: Conversation) -> None:
    """The same messages again, a day later and with other ports, folded."""
    for message in list(conversation.messages.order_by("created_at")):
        message.pk, message.created_at = None, message.created_at + timedelta(days=1)
        message.content = message.content.replace("port 50", "port 60")
        message._state.adding = True
        message.id = message._meta.pk.get_default()
        message.save()
    compaction.request(conversation, trigger="manual", steering=Steering())


def test_an_edited_summary_is_what_the_next_request_has(folded: Conversation, pages: Pages, llm: LlmServer) -> None:
    before = active(folded)
    row = edit_summary.edit(folded, number=before.number, text=OWN)
    assert (row.number, row.summary, row.active) == (before.number + 1, OWN, True)
    assert (row.digest, row.compaction_id, row.last_message) == (
        before.digest,
        before.compaction_id,
        before.last_message,
    )
    assert active(folded) == row
    assert folded.compressed_context == render_context(active_checkpoints(folded.pk))
    assert folded.compressed_tokens == count_tokens(folded.compressed_context) + MESSAGE_OVERHEAD
    llm.enqueue("Yes.")
    pages.post("send", folded.pk, content="which port?")
    assert "Ports were settled." in llm.chats[-1].text


def test_the_state_of_before_an_edit_comes_back_exactly(folded: Conversation) -> None:
    before, number = folded.compressed_context, active(folded).number
    version = folded.compression_version
    edit_summary.edit(folded, number=number, text=OWN)
    assert folded.compression_version == version + 1
    snapshot = Snapshot.objects.get(purpose="recovery")
    compaction.rollback(folded, snapshot_id=snapshot.pk)
    assert folded.compressed_context == before and active(folded).number == number


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "must not be empty"), ("Ports.", "lacks its headings"), ("## Summary\nPorts.", "lacks its headings"),
     ("## Summary\n\n## Context\n- none", "nothing under them"), ("a\0b", "NUL")],
)  # fmt: skip
def test_a_text_that_is_no_summary_is_refused_and_changes_nothing(folded: Conversation, text: str, words: str) -> None:
    before = folded.compressed_context
    with pytest.raises(Invalid, match=words) as refusal:
        edit_summary.edit(folded, number=active(folded).number, text=text)
    assert refusal.value.detail["field"] == "summary"
    folded.refresh_from_db()
    assert folded.compressed_context == before and not Snapshot.objects.filter(purpose="recovery").exists()


def test_summaries_over_their_budget_are_refused_with_limit_and_overage(folded: Conversation) -> None:
    with pytest.raises(Invalid, match="over their limit") as refusal:
        edit_summary.edit(folded, number=active(folded).number, text=OWN + "\n" + "- word\n" * 2_000)
    limit, overage = refusal.value.detail["limit"], refusal.value.detail["overage"]
    assert f"{overage:,} over their limit of {limit:,}" in refusal.value.message and overage > 0


def test_a_summary_is_not_edited_while_a_compaction_runs(folded: Conversation) -> None:
    Compaction.objects.create(
        conversation=folded, trigger="auto", status="running", lease_expires_at=timezone.now() + timedelta(seconds=60)
    )
    with pytest.raises(Conflict):
        edit_summary.edit(folded, number=active(folded).number, text=OWN)
    assert active(folded).summary != OWN


def test_a_summary_that_is_not_in_force_any_more_is_not_edited(folded: Conversation) -> None:
    number = active(folded).number
    edit_summary.edit(folded, number=number, text=OWN)
    with pytest.raises(Conflict):
        edit_summary.edit(folded, number=number, text=OWN)


def test_what_was_read_before_another_change_is_not_written(folded: Conversation) -> None:
    changed: list[int] = []

    def meanwhile(execute: Any, sql: str, *rest: Any) -> Any:
        """The conversation changes between the reading and the writing of an edit."""
        if sql.startswith("UPDATE") and "conversations_conversation" in sql and not changed:
            changed.append(1)
            Conversation.objects.update(compression_version=99)
        return execute(sql, *rest)

    with connection.execute_wrapper(meanwhile), pytest.raises(Conflict, match="changed meanwhile"):
        edit_summary.edit(folded, number=active(folded).number, text=OWN)
    assert changed and active(folded).summary != OWN and not Snapshot.objects.filter(purpose="recovery").exists()


def test_the_summarys_page_offers_the_edit_while_the_summary_is_in_force(folded: Conversation, pages: Pages) -> None:
    row = Compaction.objects.get()
    assert "Edit this summary" in pages.get("compaction", folded.pk, row.pk, htmx=True).content.decode()
    page = elements(pages.get("compaction", folded.pk, row.pk, htmx=True, edit=""))
    assert page.by_id("summary-text")["name"] == "summary"
    response = pages.post(
        "edit_summary", folded.pk, row.pk, summary=OWN.replace("\n", "\r\n"), number=active(folded).number
    )
    stale = pages.post("edit_summary", folded.pk, row.pk, summary=OWN, number=1)
    assert stale.status_code == 409 and b"no longer in force" in stale.content
    assert response.status_code == 200 and b"Ports were settled." in response.content
    assert response.headers["HX-Retarget"] == f"#compaction-{row.pk}"
    assert b"edited by hand" in response.content
    Checkpoint.objects.update(active=False)
    assert "Edit this summary" not in pages.get("compaction", folded.pk, row.pk, htmx=True).content.decode()


def test_a_refused_edit_keeps_the_words(folded: Conversation, pages: Pages) -> None:
    row = Compaction.objects.get()
    response = pages.post("edit_summary", folded.pk, row.pk, summary="half a thought", number=active(folded).number)
    assert response.status_code == 400 and response.headers["HX-Retarget"] == f"#compaction-{row.pk}"
    assert b"half a thought" in response.content and b"lacks its headings" in response.content


def test_the_reader_tells_what_changed(folded: Conversation, pages: Pages) -> None:
    fold_more(folded)
    first, second = Compaction.objects.order_by("created_at")
    told = pages.get("compaction", folded.pk, first.pk, htmx=True).content.decode()
    assert "What changed" in told and 'class="added"' in told and 'class="removed"' not in told
    told = pages.get("compaction", folded.pk, second.pk, htmx=True).content.decode()
    assert 'class="same"' in told and '<span class="unseen">added: </span>' in one_line(told)


def test_an_undone_fold_tells_what_it_had_changed(folded: Conversation, pages: Pages) -> None:
    row = Compaction.objects.get()
    compaction.undo(folded, row.pk)
    told = pages.get("compaction", folded.pk, row.pk, htmx=True).content.decode()
    assert 'class="added"' in told and 'class="removed"' not in told
    Snapshot.objects.filter(purpose="recovery").delete()
    assert "What changed" not in pages.get("compaction", folded.pk, row.pk, htmx=True).content.decode()


def test_a_summariser_that_failed_is_told_in_the_status_line_and_in_the_reader(
    conversation: Conversation, pages: Pages, llm: LlmServer
) -> None:
    fill(conversation, 20)
    llm.enqueue_summary(status=500, times=3)
    compaction.request(conversation, trigger="manual", steering=Steering())
    row = Compaction.objects.get()
    said = pages.get("status", conversation.pk, was=str(row.pk)).content.decode()
    assert "scripted did not answer (the provider has a fault, 500" in said
    assert "; selected from the text instead." in said
    told = pages.get("compaction", conversation.pk, row.pk, htmx=True).content.decode()
    assert "How it went" in told and "scripted did not answer" in told and "Written without a model." in told


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ({"summariser": "m", "failed": "summarise: m: no reply (504). Try again."}, "m did not answer (no reply, 504)"),
        ({"summariser": "m", "failed": "validate: it was cut off"}, "m wrote no good summary (it was cut off)"),
        ({"summariser": "m", "failed": "kept 4 of 9 facts, another one more"}, "m kept too few facts (4 of 9)"),
        ({"summariser": "", "action": "2 summaries shortened to one"}, "2 summaries shortened to one"),
    ],
)  # fmt: skip
def test_each_step_is_told_in_words(step: dict[str, str], told: str) -> None:
    row = Compaction(summariser="extractive", steps=[step])
    assert story(row) == [told]
    assert fallback(row) == ("" if "action" in step else f"{told}; selected from the text instead.")


def test_a_difference_goes_line_by_line() -> None:
    found = diff("a\nb\nc", "a\nx\nc\nd")
    assert [(line.kind, line.text) for line in found.lines] == [
        ("same", "a"), ("removed", "b"), ("added", "x"), ("same", "c"), ("added", "d"),
    ]  # fmt: skip
    assert (found.added, found.removed, found.cut) == (2, 1, False)
    assert diff("", "a").lines == (DiffLine("added", "a"),)


def test_a_long_difference_is_cut_and_says_so() -> None:
    found = diff("\n".join(map(str, range(3_000))), "\n".join(map(str, range(1, 3_001))))
    assert len(found.lines) == LIMIT and found.cut
