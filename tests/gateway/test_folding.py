"""Histories over the window: folded once, found again by digest, by one person alone, however many call at once."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest

from tests.gateway.caller import ANSWER, MARK, Caller, Messages, checkpoint, tokens
from tests.servers import wait_until

LONG = 61
RECALLED = "[Recalled Passages]"


def goes_on(messages: Messages, question: str = "And then?") -> Messages:
    """By an answer and a question, unlike all others."""
    number = len(messages)
    said = {"role": "assistant", "content": f"Answer {number}."}
    return [*messages, said, {"role": "user", "content": f"{question} {number}"}]


def represented(caller: Caller, messages: Messages) -> int:
    """How many messages the summary that was sent stands for: all others were sent as they are, in order."""
    sent = [message for message in caller.sent if not message["content"].startswith(RECALLED)]
    lead = sum(message["role"] in ("system", "developer") for message in messages[:1])
    assert sent[lead]["content"].startswith(MARK)
    verbatim = [*sent[:lead], *sent[lead + 1 :]]
    left_out = [message for message in messages if message not in verbatim]
    assert verbatim == [message for message in messages if message in verbatim], "not in order"
    return len(left_out)


def test_a_history_that_grows_is_folded_once(caller: Caller) -> None:
    messages = caller.history(LONG)
    first = caller.ask(messages)
    before, after = tokens(first)
    assert checkpoint(first) == "made"
    assert after < before * 0.6, "facts of its source may be put back, but most of the room is made"
    assert represented(caller, messages) > 30
    summaries = caller.summaries
    for _ in range(4):
        messages = goes_on(messages)
        assert checkpoint(caller.ask(messages)) == "hit"
        assert represented(caller, messages) > 30
    assert caller.summaries == summaries
    row = caller.call(count=5)
    assert (row["is_hit"], row["is_compacted"]) == (1, 0)
    assert row["tokens_before"] > row["tokens_after"]


def test_the_caller_is_told_the_tokens_of_what_it_sent(caller: Caller) -> None:
    """A client that compacts by the usage would else never do so, as the site does it before."""
    messages = caller.history(LONG)
    whole = caller.ask(messages)
    before, after = tokens(whole)
    usage = whole.parse().usage
    assert usage.prompt_tokens == before > after and usage.total_tokens == before + usage.completion_tokens
    stream = caller.client.chat.completions.create(
        model="scripted",
        messages=goes_on(messages),
        stream=True,
        stream_options={"include_usage": True},  # type: ignore[arg-type]
    )
    (told,) = [chunk.usage for chunk in stream if chunk.usage]
    assert told.prompt_tokens > 0.9 * before, "the correction of token counts was learned meanwhile"
    recorded = caller.call(count=2)["prompt_tokens"]
    assert recorded < before, "what it cost is what the provider was sent"


def test_a_made_up_statement_of_its_summary_is_marked(caller: Caller) -> None:
    said = f"Topic {caller.topic}, message 0: port 5000"
    text = f"## Summary\n{said}. They gave it to Gwendolyn at port 9999.\n\n## State\n- Done: message 1, port 5001"
    caller.served.llm.enqueue_summary(text, times=20)  # more than there are passages
    messages = caller.history(LONG)
    assert checkpoint(caller.ask(messages)) == "made"
    caller.served.llm.forget_scripted_summaries()
    (summary,) = [message["content"] for message in caller.sent if message["content"].startswith(MARK)]
    assert f"{said}. They gave it to Gwendolyn at port 9999 (not found in the messages).\n" in summary
    assert checkpoint(caller.ask(goes_on(messages))) == "hit"
    assert summary in [message["content"] for message in caller.sent], "the same, byte for byte"


def test_what_was_compacted_is_quoted_right_before_the_question_it_bears_on(caller: Caller) -> None:
    messages = caller.history(LONG)
    said = "The ferry to Helgoland leaves at 09:35 from pier Alte Liebe."
    messages[3] = messages[3] | {"content": said}
    caller.ask(messages)
    asked = goes_on(messages, "When does the ferry to Helgoland leave?")
    assert checkpoint(caller.ask(asked)) == "hit"
    *_, quoted, question = caller.sent
    assert question == asked[-1] and quoted["role"] == "user"
    assert quoted["content"].startswith(RECALLED) and f"User]\n> {said}" in quoted["content"]
    assert represented(caller, asked) > 30
    before = caller.sent
    called = [*asked, {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "08:00"}]  # fmt: skip
    caller.ask(called)
    assert caller.sent[: len(before)] == before, "a turn of tools goes on from the same beginning"
    row = caller.call(count=3)
    assert row["prompt_tokens"] is not None and row["tokens_after"] > 0


def test_it_is_folded_again_when_it_is_full_again(caller: Caller) -> None:
    messages = caller.history(LONG)
    caller.ask(messages)
    cut = represented(caller, messages)
    longer = goes_on(messages)[:-1] + caller.history(LONG, part="b")[1:]
    assert checkpoint(caller.ask(longer)) == "made"
    assert represented(caller, longer) > cut
    assert checkpoint(caller.ask(goes_on(longer))) == "hit"
    rows = caller.rows("SELECT count(*) AS n FROM conversations_conversation WHERE kind = 'gateway'")
    caller.ask(goes_on(goes_on(longer)))
    assert rows == caller.rows("SELECT count(*) AS n FROM conversations_conversation WHERE kind = 'gateway'")


def test_an_earlier_branch_finds_the_summary_of_then(caller: Caller) -> None:
    """A program goes back: what was folded before the place it goes back to still holds."""
    messages = caller.history(LONG)
    caller.ask(messages)
    cut = represented(caller, messages)
    longer = goes_on(messages)[:-1] + caller.history(LONG, part="b")[1:]
    caller.ask(longer)
    summaries = caller.summaries
    other = goes_on(messages, "Something else?")
    assert checkpoint(caller.ask(other)) == "hit"
    assert represented(caller, other) == cut
    assert caller.summaries == summaries
    branch = goes_on(messages, "Something else?")[:-1] + caller.history(LONG, part="c")[1:]
    assert checkpoint(caller.ask(branch)) == "made"
    assert represented(caller, branch) > cut
    assert checkpoint(caller.ask(goes_on(longer))) == "hit", "the first branch has kept its own"
    assert checkpoint(caller.ask(goes_on(branch))) == "hit"


def test_a_history_edited_in_its_middle_is_another_one(caller: Caller) -> None:
    messages = caller.history(LONG)
    caller.ask(messages)
    edited = [dict(message) for message in messages]
    edited[10]["content"] = "Something else was said here, about the port 9999."
    assert checkpoint(caller.ask(edited)) == "made"
    summary = next(message["content"] for message in caller.sent if message["content"].startswith(MARK))
    assert "message 9:" not in summary or "9999" in summary
    assert checkpoint(caller.ask(goes_on(messages))) == "hit"
    assert checkpoint(caller.ask(goes_on(edited))) == "hit"


def test_what_is_changed_after_the_cut_changes_nothing_of_the_summary(caller: Caller) -> None:
    messages = caller.history(LONG)
    caller.ask(messages)
    edited = [*messages[:-1], {"role": "user", "content": "Asked in other words."}]
    assert checkpoint(caller.ask(edited)) == "hit"
    assert caller.sent[-1] == edited[-1]


def test_calls_that_race_fold_once(caller: Caller) -> None:
    caller.served.llm.summary_takes(seconds=0.3)
    messages = caller.history(LONG)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda number: caller.ask(goes_on(messages, f"Question {number}?")), range(6)))
    assert sorted(map(checkpoint, answers)) == ["hit"] * 5 + ["made"]
    once = caller.summaries
    alone = Caller(caller.served)
    alone.ask(goes_on(alone.history(LONG), "Question 0?"))
    # In how many parts depends on what was learned of the model's tokens meanwhile.
    assert once < 2 * (caller.summaries - once), "as many as for a single call, or nearly"


def test_branches_that_race_from_one_summary_get_one_each(caller: Caller) -> None:
    messages = caller.history(LONG)
    caller.ask(messages)
    cut = represented(caller, messages)
    caller.served.llm.summary_takes(seconds=0.2)
    branches = [goes_on(messages)[:-1] + caller.history(LONG, part=part)[1:] for part in "bcd"]
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(caller.ask, branches))
    assert list(map(checkpoint, answers)) == ["made"] * 3
    caller.served.llm.summary_takes(seconds=0)
    for branch in branches:
        assert checkpoint(caller.ask(goes_on(branch))) == "hit"
        assert represented(caller, goes_on(branch)) > cut


def chat_of(caller: Caller, messages: Messages) -> str:
    """The id of a chat that was imported with these messages and compacted by hand."""
    file = {"title": "T", "messages": messages}
    (made,) = caller.served.ask("POST", "/api/conversations/import", file)["conversations"]
    task = caller.served.ask("POST", f"/api/context/{made['id']}/compact", {})
    progress = f"/api/tasks/{task['task_id']}/progress"
    wait_until(lambda: caller.served.ask("GET", progress)["status"] == "succeeded", what="the compaction")
    return str(made["id"])


def test_a_chat_with_a_rule_keeps_its_summary_to_itself(caller: Caller) -> None:
    """Its rules stand in its system prompt and in no summary: a caller's model would not know them."""
    messages = caller.history(LONG)
    chat = chat_of(caller, messages[1:])
    caller.served.ask("PATCH", f"/api/conversations/{chat}", {"rules": ["Answer in French."]})
    assert checkpoint(caller.ask(goes_on(messages))) == "made"


def test_a_chat_s_summary_that_was_undone_is_not_used(caller: Caller) -> None:
    messages = caller.history(LONG)
    chat = chat_of(caller, messages[1:])
    caller.served.ask("POST", f"/api/context/{chat}/rollback", {})
    assert checkpoint(caller.ask(goes_on(messages))) == "made"


def test_another_person_s_chat_is_never_used(caller: Caller) -> None:
    messages = caller.history(LONG)
    chat_of(caller, messages[1:])
    other = Caller(caller.served, key=caller.key_of("carol"))
    assert checkpoint(other.ask(goes_on(messages))) == "made"


def test_another_person_s_summary_is_never_used(caller: Caller) -> None:
    messages = caller.history(LONG)
    caller.ask(messages)
    other = Caller(caller.served, key=caller.key_of("bob"))
    assert checkpoint(other.ask(goes_on(messages))) == "made"


def test_another_system_prompt_uses_the_same_summary(caller: Caller) -> None:
    messages = caller.history(LONG)
    caller.ask(messages)
    asked = [{"role": "system", "content": "Answer at length."}, *goes_on(messages)[1:]]
    assert checkpoint(caller.ask(asked)) == "hit"
    assert caller.sent[0] == asked[0]


def test_an_instruction_in_the_middle_is_never_folded(caller: Caller) -> None:
    messages = caller.history(LONG)
    order = {"role": "system", "content": "From now on, say 'ahoy'."}
    messages.insert(20, order)
    for _ in range(3):
        caller.ask(messages)
        assert order in caller.sent
        messages = goes_on(messages)
    assert caller.sent.index(order) == 2, "behind the summary"


def test_tools_stay_with_their_results_and_images_are_named(caller: Caller) -> None:
    messages = caller.history(LONG)
    pixel = "data:image/png;base64," + "iVBORw0KGgo" * 60
    messages[21:21] = [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": pixel}}]},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}},
            {"id": "a", "type": "function", "function": {"name": "pwd", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "README.md " * 30},
        {"role": "assistant", "content": "A file."},
    ]  # fmt: skip
    call = {"id": "b", "type": "function", "function": {"name": "cat", "arguments": '{"path": "README.md"}'}}
    calls = {"role": "assistant", "content": None, "tool_calls": [call]}
    messages += [ANSWER, calls, {"role": "tool", "tool_call_id": "b", "content": "# Title " * 20}]
    assert checkpoint(caller.ask(messages)) == "made"
    assert caller.sent[-2:] == messages[-2:]
    asked = "".join(request.text for request in caller.served.llm.summaries)
    assert "[image_url " in asked
    assert "iVBORw0KGgo" not in asked
    assert "ls" in asked
    again = [*messages, {"role": "assistant", "content": "It has a title."}, {"role": "user", "content": "Which?"}]
    assert checkpoint(caller.ask(again)) == "hit"


def test_what_cannot_fit_is_refused_before_it_is_sent(caller: Caller) -> None:
    messages = [*caller.history(2), {"role": "user", "content": "word " * 5_000}]
    with pytest.raises(openai.APIStatusError, match="context_length_exceeded") as refused:
        caller.ask(messages)
    assert refused.value.status_code == 400
    error = refused.value.response.json()["error"]
    assert error["code"] == "context_length_exceeded"
    assert set(error["detail"]) == {"system", "summary", "protected", "live", "total", "budget", "window"}
    assert not caller.served.llm.chats


def test_a_provider_that_counts_otherwise_gets_less_once(caller: Caller) -> None:
    messages = caller.history(30)
    caller.served.llm.enqueue(status=400, code="context_length_exceeded", message="too long")
    answer = caller.ask(messages)
    assert checkpoint(answer) == "made"
    assert answer.parse().choices[0].message.content == "All right."
    assert represented(caller, messages) > 5
    caller.served.llm.enqueue(status=400, code="context_length_exceeded", message="too long", times=2)
    with pytest.raises(openai.APIStatusError, match="context window") as refused:
        caller.ask(caller.history(31))
    assert refused.value.status_code == 400


def test_a_caller_that_leaves_while_its_history_is_folded_finds_it_folded(caller: Caller) -> None:
    caller.served.llm.summary_takes(seconds=2.0)
    messages = caller.history(LONG)
    before = caller.summaries
    caller.leave(messages, once=lambda llm: len(llm.summaries) > before)
    caller.served.llm.summary_takes(seconds=0)
    assert caller.call(status=499)
    wait_until(lambda: not caller.rows("SELECT * FROM conversations_folding"), what="the end of the folding")
    assert checkpoint(caller.ask(messages)) == "hit"


def test_a_lock_whose_holder_is_gone_is_taken_over(caller: Caller) -> None:
    messages = caller.history(LONG)
    held = threading.Event()
    caller.served.llm.summary_takes(seconds=0.5)

    def hold() -> None:
        caller.rows("UPDATE conversations_folding SET expires_at = '2020-01-01'")
        held.set()

    timer = threading.Timer(0.3, hold)
    timer.start()
    assert checkpoint(caller.ask(messages)) == "made"
    timer.join()
    assert held.is_set()
    assert not caller.rows("SELECT * FROM conversations_folding")


def test_an_undone_fold_is_not_used_any_more(caller: Caller) -> None:
    messages = caller.history(LONG)
    caller.ask(messages)
    (row,) = caller.rows("SELECT * FROM conversations_conversation WHERE kind = 'gateway' ORDER BY id DESC LIMIT 1")
    caller.run(
        "from conversations.compaction import snapshots; from conversations.models import Conversation;"
        f"snapshots.rollback(Conversation.objects.get(pk='{row['id']}'))"
    )
    assert checkpoint(caller.ask(goes_on(messages))) == "made"


def test_a_failing_summariser_stops_no_call(caller: Caller) -> None:
    caller.served.llm.enqueue_summary(status=500, times=9)
    messages = caller.history(LONG)
    assert checkpoint(caller.ask(messages)) == "made"
    assert represented(caller, messages) > 30
    caller.served.llm.forget_scripted_summaries()


def test_what_was_sent_is_kept_for_the_admin_and_told_to_nobody_else(caller: Caller) -> None:
    caller.ask(caller.history(LONG))
    listed: Any = caller.served.ask("GET", "/api/conversations")["items"]
    assert all(item["kind"] == "chat" for item in listed)
    rows = caller.rows("SELECT DISTINCT kind FROM conversations_conversation")
    assert {row["kind"] for row in rows} == {"chat", "gateway"}
    assert "port 5001" in json.dumps(caller.rows("SELECT content FROM conversations_message"))


def test_what_cannot_be_folded_is_not_stored_however_often_it_comes(caller: Caller) -> None:
    def stored() -> int:
        return int(caller.rows("SELECT count(*) AS n FROM conversations_conversation")[0]["n"])

    before = stored()
    messages = [*caller.history(2), {"role": "user", "content": "word " * 1_700}]
    orders = [{"role": "system", "content": "word " * 5_000}]
    for _ in range(2):
        assert checkpoint(caller.ask(messages)) == "none"
        with pytest.raises(openai.APIStatusError, match="context_length_exceeded"):
            caller.ask(orders)
    assert stored() == before


def test_a_result_too_big_for_the_window_is_shortened_before_the_model_has_read_it(caller: Caller) -> None:
    """The last resort, as in every other conversation."""
    call = {"id": "a", "type": "function", "function": {"name": "cat", "arguments": "{}"}}
    calls = {"role": "assistant", "content": None, "tool_calls": [call]}
    big = [*caller.history(1), calls, {"role": "tool", "tool_call_id": "a", "content": f"first {'word ' * 4_000}last"}]
    for messages in (big, [*caller.history(LONG), *big[1:]]):
        for _ in range(2):
            before, after = tokens(caller.ask(messages))
            assert 2_000 < after < 3_400 < before
            assert caller.sent[-2] == calls
            sent = caller.sent[-1]["content"]
            assert sent.startswith("first ") and sent.endswith("last") and "characters left out here" in sent


def test_a_result_that_is_to_be_answered_stays_with_its_call(caller: Caller) -> None:
    """Even where as much as may be is folded."""
    call = {"role": "assistant", "content": "word " * 1_000, "function_call": {"name": "ls", "arguments": "{}"}}
    stray = {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    given = {"role": "tool", "tool_call_id": "a", "content": "word " * 600}
    pairs = [
        [call, {"role": "function", "name": "ls", "content": "word " * 1_000}],
        [{"role": "assistant", "content": None, "tool_calls": [stray]}, given],
    ]
    for pair in pairs:
        messages = [*caller.history(LONG), *pair]
        caller.ask(messages)
        assert caller.sent[-len(pair) :] == pair


def test_a_conversation_that_is_deleted_while_it_is_folded_stops_no_call(caller: Caller) -> None:
    caller.served.llm.summary_takes(seconds=0.6)
    messages = caller.history(LONG)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(caller.ask, messages)
        caller.served.llm.wait_for(lambda llm: bool(llm.summaries))
        (kept, *_) = caller.served.ask("GET", "/api/conversations?kind=gateway")["items"]
        caller.served.ask("DELETE", f"/api/conversations/{kept['id']}")
        assert checkpoint(answer.result(timeout=30)) in ("made", "hit")
    assert represented(caller, messages) > 30
