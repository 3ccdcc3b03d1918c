"""The filter of a conversation's history by the time up to which it is compacted."""

from __future__ import annotations

from datetime import timedelta

import pytest

from conversations.models import Conversation, Message
from tests.conversations.chat import START, fill

pytestmark = pytest.mark.once


def test_messages_are_after_the_cut_within_a_span_or_kept(conversation: Conversation) -> None:
    fill(conversation, 6)
    rows = list(conversation.messages.order_by("created_at"))
    mine = Message.objects.filter(conversation=conversation).order_by("created_at")
    cut = rows[2].created_at
    assert list(mine.after_cut(cut)) == rows[3:], "the message at the cut is summarised"
    assert list(mine.after_cut(None)) == list(mine.within(None, rows[-1].created_at)) == rows
    assert list(mine.within(rows[0].created_at, cut)) == rows[1:3]
    ids = [rows[1].pk, rows[4].pk]
    assert list(mine.kept(ids)) == [rows[1], rows[4]]
    assert list(mine.kept(ids, cut=cut)) == [rows[1]]
    assert not mine.after_cut(START + timedelta(days=9_000)).exists()
