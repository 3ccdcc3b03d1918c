from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from compression.core.values import Steering
from compression.models import Compaction
from conversations.compaction import compaction
from conversations.models import Conversation, Message, ToolCall
from conversations.page import compacted_history, thread
from conversations.page.compacted_history import CompactedGroup, Divider
from conversations.page.message_view import MessageView
from conversations.page.thread import ThreadPage
from tests.conversations.chat import START, fill
from tests.llm_server import LlmServer

DAY = timedelta(days=1)
Fill = Callable[..., Conversation]


@pytest.fixture
def folded(conversation: Conversation, llm: LlmServer) -> Fill:
    """A conversation of `count` messages, compressed as the button does it."""

    def of(count: int, **how: Any) -> Conversation:
        fill(conversation, count, **how)
        return fold(conversation)

    return of


def fold(conversation: Conversation) -> Conversation:
    row = compaction.request(conversation, trigger="manual", steering=Steering())
    row.refresh_from_db()
    assert row.status == "succeeded", row.error
    return Conversation.objects.get(pk=conversation.pk)


def shape(page: ThreadPage) -> list[str]:
    return [describe(item) for item in page.items]


def describe(item: thread.Item) -> str:
    match item:
        case CompactedGroup():
            return f"{len(item.rows)}+{item.more}"
        case Divider():
            if not item.compaction.last_message:
                return f"room{' undo' if item.can_undo else ''}"
            return f"divider {item.compaction.messages_condensed}{' undo' if item.can_undo else ''}"
        case MessageView():
            return item.state


def test_an_uncompressed_thread_is_its_messages(conversation: Conversation) -> None:
    fill(conversation, 5)
    page = thread.thread_page(conversation)
    assert shape(page) == ["live"] * 5
    assert [item.text[:9] for item in page.items if isinstance(item, MessageView)] == [f"Message {n}" for n in range(5)]
    assert page.earlier is None


def test_the_past_is_a_fold_with_its_first_rows_then_the_divider(folded: Fill) -> None:
    assert shape(thread.thread_page(folded(20))) == ["4+12", "divider 16 undo", *["live"] * 4]


def test_a_short_fold_shows_all_of_its_rows(folded: Fill) -> None:
    assert shape(thread.thread_page(folded(10))) == ["6+0", "divider 6 undo", *["live"] * 4]


def test_the_rest_of_a_fold_is_exactly_what_it_did_not_show(folded: Fill) -> None:
    conversation = folded(20)
    first = thread.thread_page(conversation).items[0]
    assert isinstance(first, CompactedGroup)
    rest = compacted_history.rows(conversation, after=first.after, until=first.until)
    assert len(rest) == first.more == 12
    assert [row.preview.split()[1] for row in (*first.rows, *rest)] == [str(n) for n in range(16)]


def test_every_compaction_has_its_divider_and_only_the_last_can_be_undone(folded: Fill) -> None:
    conversation = folded(12)
    Message.objects.bulk_create(
        Message(
            conversation=conversation,
            role="assistant",
            content=f"later {n} " * 30,
            created_at=START + timedelta(days=n),
        )
        for n in range(1, 9)
    )
    conversation = fold(conversation)
    assert shape(thread.thread_page(conversation)) == ["4+4", "divider 8", "4+4", "divider 8 undo", *["live"] * 4]


@pytest.mark.parametrize("limit", [2, 60])
def test_what_made_room_since_the_last_fold_stands_above_the_live_messages(folded: Fill, limit: int) -> None:
    conversation = folded(12)
    for number in range(2):
        later = START + timedelta(days=9_999 + number)
        Compaction.objects.create(conversation=conversation, trigger="emergency", status="succeeded", created_at=later)
    shown = shape(thread.thread_page(conversation, limit=limit))
    assert shown[shown.index("room") :] == ["room", "room undo", *["live"] * min(limit, 4)]
    assert "room" not in shape(thread.thread_page(conversation, before=START + timedelta(hours=9)))


def test_undone_and_failed_compactions_have_no_divider(folded: Fill) -> None:
    conversation = folded(12)
    compaction.undo(conversation, Compaction.objects.get().pk)
    conversation.refresh_from_db()
    Compaction.objects.create(conversation=conversation, trigger="auto", status="failed")
    assert shape(thread.thread_page(conversation)) == ["live"] * 12


def test_a_protected_message_stays_whole_in_the_midst_of_the_past(folded: Fill) -> None:
    page = thread.thread_page(folded(20, protected=(9,)))
    assert shape(page) == ["4+5", "protected", "6+0", "divider 15 undo", *["live"] * 4]


def test_what_was_kept_and_is_no_longer_protected_is_shown_as_sent(folded: Fill) -> None:
    conversation = folded(20, protected=(9,))
    Message.objects.update(is_protected=False)
    assert shape(thread.thread_page(conversation))[1] == "live"


def test_replaced_messages_are_not_shown(conversation: Conversation) -> None:
    fill(conversation, 3)
    first, second, _ = Message.objects.order_by("created_at")
    Message.objects.filter(pk=first.pk).update(replaced_by=second)
    assert shape(thread.thread_page(conversation)) == ["live", "live"]


def test_earlier_pages_follow_one_another_without_gap_or_repetition(conversation: Conversation) -> None:
    fill(conversation, 25)
    seen: list[str] = []
    page = thread.thread_page(conversation, limit=10)
    seen = [item.text.split()[1] for item in page.items if isinstance(item, MessageView)]
    while page.earlier:
        page = thread.thread_page(conversation, before=page.earlier, limit=10)
        seen = [item.text.split()[1] for item in page.items if isinstance(item, MessageView)] + seen
    assert seen == [str(n) for n in range(25)]


def test_a_past_beyond_reach_is_paged_too(folded: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = folded(30)
    monkeypatch.setattr(thread, "REACH", 10)
    page = thread.thread_page(conversation)
    assert shape(page) == ["4+6", "divider 26 undo", *["live"] * 4]
    assert page.earlier
    assert shape(thread.thread_page(conversation, before=page.earlier)) == ["4+6"]


@pytest.mark.parametrize("count", [20, 200])
def test_the_number_of_queries_does_not_depend_on_the_number_of_messages(
    folded: Fill, count: int, django_assert_num_queries: Any
) -> None:
    conversation = folded(count)
    ToolCall.objects.create(
        message=Message.objects.last(), call_id="1", name="time", created_at=START, arguments="{}", result="noon"
    )
    with django_assert_num_queries(9):
        thread.thread_page(conversation)


def test_the_version_changes_with_what_the_thread_shows(folded: Fill) -> None:
    conversation = folded(12)
    seen = {thread.version(conversation)}
    message = Message.objects.create(
        conversation=conversation, role="assistant", created_at=START + timedelta(days=1), status="streaming"
    )
    seen.add(thread.version(conversation))
    Message.objects.filter(pk=message.pk).update(status="complete")
    seen.add(thread.version(conversation))
    compaction.undo(conversation, Compaction.objects.get().pk)
    conversation.refresh_from_db()
    seen.add(thread.version(conversation))
    assert len(seen) == 4
    assert thread.version(conversation) in seen


def test_what_is_new_is_told_apart_from_what_is_known(conversation: Conversation) -> None:
    fill(conversation, 100)
    version = thread.version(conversation)

    def news() -> list[str] | None:
        found = thread.shown_messages(conversation).since(version)
        return None if found is None else [item.text[:11] for item in found]

    assert news() == []
    later = START + timedelta(days=1)
    reply = Message.objects.create(conversation=conversation, role="assistant", created_at=later, status="streaming")
    assert news() == [""]
    version = thread.version(conversation)
    assert news() == [""]
    Message.objects.filter(pk=reply.pk).update(status="complete", content="It is done.")
    assert news() == ["It is done."]
    Message.objects.create(conversation=conversation, role="user", content="And more?", created_at=later + DAY)
    assert news() == ["It is done.", "And more?"]
    Message.objects.filter(content__startswith="Message 3 ").update(is_protected=True)
    assert news() == ["It is done.", "And more?"]  # too far back to be shown
    Message.objects.filter(content__startswith="Message 98 ").update(is_protected=True)
    assert news() is None


def test_after_too_much_that_is_new_all_of_it_is_read_again(conversation: Conversation) -> None:
    fill(conversation, 10)
    version = thread.version(conversation)
    Message.objects.bulk_create(
        Message(conversation=conversation, role="user", content="new", created_at=START + n * DAY)
        for n in range(1, 2 * thread.LIMIT + 1)
    )
    assert thread.shown_messages(conversation).since(version) is None


def test_a_message_that_was_replaced_has_the_thread_read_again(conversation: Conversation) -> None:
    fill(conversation, 6)
    version = thread.version(conversation)
    last = Message.objects.latest("created_at")
    Message.objects.filter(content__startswith="Message 4 ").update(replaced_by=last)
    assert thread.shown_messages(conversation).since(version) is None
