"""The checker that other tests rely on fails where it should."""

from __future__ import annotations

import pytest

from tests.llm_answers import Request, assert_every_message_represented, summary_of

COVERED = ("It is on node-7.", True, False)
PINNED = ("Never on Fridays.", True, True)
LIVE = ("And the port?", False, False)
SUMMARY = "[Compressed Message Summary]\n\n## Summary\nAbout node-7."


def sent(*contents: str) -> Request:
    return Request({"messages": [{"role": "user", "content": content} for content in contents]})


def test_covered_and_sent_messages_pass():
    assert_every_message_represented([COVERED, PINNED, LIVE], request=sent(SUMMARY, PINNED[0], LIVE[0]))
    assert_every_message_represented([LIVE], request=sent(LIVE[0]))


def test_a_result_that_was_cut_passes():
    rows = [("row " * 1_000, False, False)]
    assert_every_message_represented(rows, request=sent("row row row\n… [truncated]"))
    with pytest.raises(AssertionError):
        assert_every_message_represented(rows, request=sent("another … [truncated]"))


@pytest.mark.parametrize(
    ("rows", "contents"),
    [
        ([COVERED, LIVE], [SUMMARY]),
        ([COVERED, LIVE], [LIVE[0]]),
        ([COVERED, LIVE], [SUMMARY, SUMMARY, LIVE[0]]),
        ([COVERED, LIVE], [SUMMARY, COVERED[0], LIVE[0]]),
        ([LIVE, LIVE], [LIVE[0]]),
        ([LIVE], [LIVE[0], LIVE[0]]),
        ([LIVE], [SUMMARY, LIVE[0]]),
    ],
    ids=[
        "lost",
        "no summary",
        "two summaries",
        "covered and sent",
        "one of two lost",
        "sent twice",
        "needless summary",
    ],
)
def test_what_is_lost_or_doubled_fails(rows, contents):
    with pytest.raises(AssertionError):
        assert_every_message_represented(rows, request=sent(*contents))


def test_the_default_summary_quotes_the_ends_of_what_is_condensed():
    mark = "=====[00ff]====="
    earlier = f"{mark}\nearlier\n{mark}"
    text = f"Condense:\n{earlier}\n\nAnd this:\n{mark}\n[user, today]\nfirst words\n\nlast words\n{mark}\n\nNow write."
    summary = summary_of(sent(text))
    assert "They began with: first words" in summary and "Done: last words" in summary
    assert [line for line in summary.splitlines() if line.startswith("#")] == [
        "## Summary", "## Decisions", "## Files", "## State", "## Context",
    ]  # fmt: skip
