"""What a caller's messages are taken for: what belongs together, what is another history, and what it all costs."""

from __future__ import annotations

import time
from typing import Any

import pytest

from compression.core.tokens import count_tokens
from conversations.errors import Invalid
from conversations.gateway.history import SHARE_OF_INSTRUCTIONS, History, parse_history

Raw = dict[str, Any]


def calls(*ids: str, **more: Any) -> Raw:
    made = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": made} | more


def result(id: str, content: str = "x") -> Raw:
    return {"role": "tool", "tool_call_id": id, "content": content}


def sizes(history: History) -> list[int]:
    """How many messages each line holds."""
    return [len(line.raw) for line in history.lines]


def test_results_stay_with_their_calls_whatever_their_ids() -> None:
    assert sizes(parse_history([calls("a", "b"), result("b"), result("a")])) == [3]
    assert sizes(parse_history([calls("a", "a"), result("a", "1"), result("a", "2")])) == [3]
    assert sizes(parse_history([calls("a"), result("a"), result("a")])) == [2, 1], "one more than was asked for"
    assert sizes(parse_history([result("a"), calls("b"), result("a")])) == [1, 1, 1]
    history = parse_history([calls("a", "a", "a#1"), result("a", "1"), result("a", "2")])
    assert [use.call_id for use in history.lines[0].turn.tools] == ["a", "a#1", "a#1#1"]
    assert history.lines[0].results == ("1", "2", None)


def test_the_result_of_a_function_of_old_stays_with_its_call() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    history = parse_history(
        [call, {"role": "function", "name": "f", "content": "sunny"}, {"role": "user", "content": "?"}]
    )
    assert sizes(history) == [2, 1]
    assert history.lines[0].results == ("sunny",)


def test_results_that_differ_beyond_what_is_summarised_cost_what_they_are() -> None:
    short, long = ([calls("a"), result("a", "word " * count)] for count in (500, 5_000))
    assert parse_history(short).lines[0].digest == parse_history(long).lines[0].digest
    assert [parse_history(messages).tokens // 100 for messages in (short, long, short)] == [5, 50, 5]


def test_the_same_words_of_another_are_another_history() -> None:
    histories = [parse_history([{"role": "user", "content": "Yes.", "name": name}]) for name in ("Ann", "Bob", "")]
    assert len({history.lines[0].digest for history in histories}) == 3
    assert parse_history([{"role": "user", "content": "Yes."}]).lines[0].digest == histories[2].lines[0].digest


@pytest.mark.parametrize("text", [" " * 1_500_000, "a" * 1_000_000, "\n" * 1_000_000], ids=["spaces", "a's", "lines"])
def test_a_text_of_any_length_is_counted(text: str) -> None:
    assert 1_000 < parse_history([{"role": "user", "content": text}]).tokens < len(text)


def test_a_text_is_counted_in_parts_as_it_is_as_a_whole() -> None:
    text = "All of these words are said again. " * 9_000
    assert count_tokens(text) == pytest.approx(8 * 9_000, abs=10)


def test_many_calls_take_no_longer_than_they_are_many() -> None:
    began = time.monotonic()
    history = parse_history([calls(*["a"] * 1_000) for _ in range(50)])
    pairs = [message for _ in range(9_000) for message in (calls("a"), result("a"))]
    assert len(parse_history(pairs).lines) == 9_000
    assert len(history.lines) == 50
    assert time.monotonic() - began < 10
    with pytest.raises(Invalid, match=r"messages\[0\].tool_calls: at most 1,000"):
        parse_history([calls(*["a"] * 1_001)])


def noticed(steps: int) -> list[Raw]:
    """An agent's history with instructions before the first reply, and a notice of 40 tokens or so after each call."""
    messages: list[Raw] = [
        {"role": "user", "content": "Fix it."},
        {"role": "system", "content": "Skills: review. " * 40},
    ]
    for number in range(steps):
        notice = f"Note: f{number}.py was modified. " + f"x_{number} = {number} " * 6
        messages += [calls(f"c{number}"), result(f"c{number}"), {"role": "system", "content": notice}]
    return messages


def in_force(steps: int, window: int | None) -> list[int]:
    """The numbers of the lines that no summary may replace."""
    lines = parse_history(noticed(steps), window=window).lines
    return [number for number, line in enumerate(lines) if line.turn.protected]


def test_later_system_messages_stay_in_force_within_a_share_of_the_window() -> None:
    window = 4_000
    assert in_force(200, None) == in_force(200, 1_000_000) == [1, *range(3, 403, 2)]
    before, changes = in_force(0, window), 0
    for steps in range(1, 120):
        now = in_force(steps, window)
        lines = parse_history(noticed(steps), window=window).lines
        assert now[0] == 1 and now[-1] == len(lines) - 1, "those before the first reply and the newest stay"
        assert now[1:] == [*range(now[1], len(lines), 2)], "the others are the newest"
        assert sum(lines[number].turn.tokens for number in now[1:]) <= SHARE_OF_INSTRUCTIONS * window
        changes += not set(before) <= set(now)
        before = now
    assert 0 < changes < 20, "a provider's cache is lost now and then"
    old = parse_history(noticed(119), window=window).lines[3].turn
    assert not old.protected and old.quoted == ((0, len(old.content)),) and not old.boilerplate


def test_a_notice_longer_than_its_share_stays_while_it_is_the_newest() -> None:
    long = {"role": "system", "content": "word " * 3_000}
    lines = parse_history([*noticed(3), long], window=4_000).lines
    assert [number for number, line in enumerate(lines) if line.turn.protected] == [1, 8]
    lines = parse_history([*noticed(3), long, *noticed(4)[-3:]], window=4_000).lines
    assert not lines[8].turn.protected


def test_a_history_of_instructions_alone_is_one() -> None:
    history = parse_history(
        [{"role": "system", "content": "a"}, {"role": "developer", "content": [{"type": "text", "text": "b"}]}]
    )
    assert (len(history.lead), history.lines, history.fixed) == (2, (), "a\n\nb")
