from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from conversations.context.transcript import message_tokens
from conversations.errors import Invalid
from conversations.exchange.imports import import_conversations
from conversations.exchange.json_stream import entries
from conversations.models import Attachment, Conversation, Message, ToolCall, User
from conversations.validation import parse_json
from tests.conversations.exports import picture

pytestmark = pytest.mark.django_db

START = datetime(2025, 1, 6, 9, tzinfo=UTC)
TICK = timedelta(microseconds=1)


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


def neutral(*messages: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"title": "Ports", "messages": messages} | more).encode()


def said(content: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content} | more


def call(call_id: str, name: str = "look") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": '{"at": 1}'}}


def called(call_id: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [call(call_id)]} | more


USE = {"type": "tool_use", "name": 7}


def one(user: User, payload: bytes) -> Conversation:
    (conversation,) = import_conversations(user, payload)
    return conversation


def refusal(user: User, payload: bytes) -> str:
    with pytest.raises(Invalid) as refused:
        import_conversations(user, payload)
    assert not Conversation.objects.exists(), "a refused file leaves something behind"
    return refused.value.message


def test_a_neutral_file_becomes_a_conversation_of_the_importer(ada: User) -> None:
    conversation = one(
        ada, neutral(said("Which port?", name="Joe"), said("5433", "assistant"), owner="eve", owner_id=7)
    )

    assert (conversation.owner_id, conversation.title) == (ada.pk, "Ports")
    rows = [(message.role, message.name, message.content) for message in conversation.messages.all()]
    assert rows == [("user", "Joe", "Which port?"), ("assistant", "", "5433")]


def test_the_same_file_twice_gives_two_conversations(ada: User) -> None:
    assert one(ada, neutral(said("hi"))).pk != one(ada, neutral(said("hi"))).pk


def test_a_file_without_a_title_takes_its_first_words(ada: User) -> None:
    assert one(ada, neutral(said("Which  port\nis it? " * 50), title=None)).title.startswith("Which port is it? Which")


def test_a_leading_system_message_is_proposed_and_later_ones_are_protected(ada: User) -> None:
    conversation = one(ada, neutral(said("Be brief.", "system"), said("hi"), said("Speak French.", "system")))

    assert (conversation.system_prompt, conversation.proposed_system_prompt) == ("", "Be brief.")
    assert [(row.content, row.is_protected) for row in conversation.messages.all()] == [
        ("hi", False),
        ("Speak French.", True),
    ]


def test_many_system_messages_do_not_fill_the_window(ada: User) -> None:
    """An agent's log has notices as such; all of them protected, no request would fit."""
    steps = [(said(f"Step {n}.", "assistant"), said(f"Note {n}: " + "changed " * 60, "system")) for n in range(60)]
    messages = [said("hi"), said("Speak French.", "system"), *(one for step in steps for one in step)]
    rows = list(one(ada, neutral(*messages)).messages.filter(role="system"))
    protected = [row.content for row in rows if row.is_protected]
    assert protected == ["Speak French.", *(row.content for row in rows[1:] if row.is_protected)]
    assert 2 <= len(protected) <= 9 and rows[-1].is_protected
    assert sum(map(len, protected[1:])) <= 4_000


@pytest.mark.parametrize(
    ("dates", "offsets"),
    [
        pytest.param([0, 60, 120], [0, 60, 120], id="in order"),
        pytest.param([60, 0, 30], [60, TICK, 2 * TICK], id="out of order"),
        pytest.param([0, 0, 0], [0, TICK, 2 * TICK], id="equal"),
        pytest.param([None, 60, None], [60, TICK, 2 * TICK], id="missing"),
        pytest.param([0, 10**9, 60], [0, 10**9, TICK], id="in the future"),
    ],
)
def test_the_order_of_the_file_is_kept_whatever_its_dates_are(ada: User, dates: list[Any], offsets: list[Any]) -> None:
    def date(seconds: int | None) -> str | None:
        return None if seconds is None else (START + timedelta(seconds=seconds)).isoformat()

    conversation = one(ada, neutral(*(said(str(n), created_at=date(d)) for n, d in enumerate(dates))))

    stored = list(conversation.messages.values_list("content", "created_at"))
    assert [content for content, _ in stored] == ["0", "1", "2"]
    expected: list[datetime] = []
    for offset in offsets:
        if isinstance(offset, timedelta):
            expected.append(expected[-1] + TICK)
        else:
            expected.append(START + timedelta(seconds=offset))
    assert [created_at for _, created_at in stored] == expected


def test_a_file_without_dates_starts_now(ada: User) -> None:
    before = datetime.now(UTC)
    first, second = one(ada, neutral(said("a"), said("b"))).messages.all()
    assert before <= first.created_at < second.created_at <= datetime.now(UTC)


def test_tool_results_go_to_their_calls(ada: User) -> None:
    answer = said("found", "tool", tool_call_id="a", created_at=(START + timedelta(hours=1)).isoformat())
    conversation = one(ada, neutral(said("look"), called("a", created_at=START.isoformat()), answer, said("ok")))

    assert [message.role for message in conversation.messages.all()] == ["user", "assistant", "user"]
    tool_call = ToolCall.objects.get()
    assert (tool_call.call_id, tool_call.name, tool_call.arguments) == ("a", "look", '{"at": 1}')
    assert (tool_call.result, tool_call.created_at) == ("found", START + timedelta(hours=1))
    message = tool_call.message
    assert message.token_count == message_tokens("") + tool_call.token_count > message_tokens("")


def test_results_without_calls_stay_messages_and_calls_without_results_stay_open(ada: User) -> None:
    early = said("early", "tool", tool_call_id="a")
    conversation = one(
        ada, neutral(early, said("none", "tool"), called("a"), said("never asked", "tool", tool_call_id="b"))
    )

    assert [m.content for m in conversation.messages.filter(role="tool")] == ["early", "none", "never asked"]
    assert ToolCall.objects.get().result is None


def test_a_call_id_that_is_used_again_takes_the_results_in_turn(ada: User) -> None:
    again = [entry for n in "12" for entry in (called("a"), said(n, "tool", tool_call_id="a"))]
    one(ada, neutral(*again, called("a")))
    assert list(ToolCall.objects.values_list("result", flat=True)) == ["1", "2", None]


def test_tokens_are_counted_at_the_import(ada: User) -> None:
    message = one(ada, neutral(said("The port is 5433. <|endoftext|>"))).messages.get()
    assert message.token_count == message_tokens(message.content) > 10


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        (neutral(said("a"), said("b", "critic")), "messages[1].role: must be one of"),
        (neutral({"role": "user"}), "messages[0].content: is missing"),
        (neutral(said("a"), {"role": "user", "content": {"x": 1}}), "messages[1].content: must be text"),
        (neutral(said("a"), {"role": ["user"], "content": "x"}), "messages[1].role: must be one of"),
        (neutral({"role": "assistant", "content": [USE], "tool_calls": 5}), "tool_calls: must be a list"),
        (neutral({"role": "assistant", "content": [USE]}), "tool_calls[0].id: must be text"),
        (neutral(said("a\0")), "messages[0].content: must not contain a NUL"),
        (neutral(said("\ud800")), "messages[0].content: contains half a character"),
        (neutral(said("x" * 200_001)), "messages[0].content: at most 200,000"),
        (neutral(said("a", name="n" * 101)), "messages[0].name: at most 100"),
        (neutral(said("a", created_at="yesterday")), "messages[0].created_at: must be a date"),
        (neutral(said("a", created_at=True)), "messages[0].created_at: must be text"),
        (neutral(said("a", created_at="9999-12-31T23:59:59Z")), "messages[0].created_at: must not be after"),
        (neutral(said("a", created_at="0001-01-01T00:00:00+09:00")), "messages[0].created_at: must be a date"),
        (neutral("a"), "messages[0]: must be an object"),
        (neutral(title="t" * 201), "title: at most 200"),
        (json.dumps({"messages": {}}).encode(), "messages: must be a list"),
        (neutral(said("", "assistant", tool_calls=[call("a"), call("a")])), "messages[0].tool_calls: the call id 'a'"),
        (neutral(said("a", tool_calls=[call("a")])), "messages[0].tool_calls: only an assistant"),
        (neutral(said("a", "assistant", tool_calls=[{"id": "a"}])), "messages[0].tool_calls[0].function: must be"),
        (
            neutral(called("a"), said("1", "tool", tool_call_id="a"), said("2", "tool", tool_call_id="a")),
            "messages[2].tool_call_id: a second result",
        ),
        (neutral(said("a", id="1"), said("b", id="1")), "messages[1].id: the message id '1' appears twice"),
        (neutral(said("a"))[:-20], "not valid JSON"),
        (b"", "not valid JSON"),
        (b'{"messages": [], "messages": []}', "not valid JSON: the key 'messages' appears twice"),
        (b'{"messages": [NaN]}', "not valid JSON: NaN is no number"),
        (b'{"messages": [1e999]}', "not valid JSON: 1e999 is too large"),
        (b"[" * 10_000 + b"]" * 10_000, "not valid JSON: nested too deeply"),
        (b'{"messages": "\xff"}', "file: not UTF-8 text, from byte 14 on"),
        (b'{"hello": 1}', "file: this form of JSON is not read. Read are: chatsite's own export, "),
        (b'[{"hello": 1}]', "[0]: this form of JSON is not read"),
        (b"[]", "file: this form of JSON is not read"),
        (b"3", "file: this form of JSON is not read"),
    ],
)
def test_a_faulty_file_is_refused_whole_and_names_the_place(ada: User, payload: bytes, place: str) -> None:
    assert place in refusal(ada, payload)


BLOCKS = neutral(
    {"role": "human", "content": [{"type": "text", "text": "Look."}, {"type": "image", "source": {"type": "base64",
        "media_type": "image/png", "data": picture("red").partition(",")[2]}}], "timestamp": 1_736_154_000},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t", "name": "ls", "input": {"path": "."}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "a"}]}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "u", "content": "b"}, {"type": "text", "text": "And?"}]},
)  # fmt: skip


def test_messages_in_anthropic_s_blocks_come_in(ada: User) -> None:
    row = one(ada, BLOCKS)
    rows = list(row.messages.order_by("created_at").values_list("role", "content"))
    assert rows == [("user", "Look."), ("assistant", "I look."), ("tool", "b"), ("user", "And?")]
    assert row.created_at == datetime(2025, 1, 6, 9, tzinfo=UTC)
    assert ToolCall.objects.values_list("name", "arguments", "result").get() == ("ls", '{"path": "."}', "a")
    assert Attachment.objects.get(conversation=row).kind == Attachment.Kind.IMAGE


def test_messages_in_openai_s_parts_come_in(ada: User) -> None:
    parts = ["One.", {"type": "text", "text": "Two."}, {"type": "image_url", "image_url": {"url": picture("red")}},
             {"type": "image_url", "image_url": {"url": "https://e.org/a.png"}},
             {"type": "file", "file": {"filename": "a.pdf"}},
             {"type": "input_image", "image_url": "data:image/png;base64,!!"}, 7]  # fmt: skip
    calls = [{"id": "a", "name": "ls", "args": {"b": 1}}, {"id": "c", "type": "function", "function": {"name": "ls"}}]
    answer = {"role": "function", "content": "r", "tool_call_id": "a"}
    asked = [said("Be brief.", "developer"), {"role": "user", "content": parts}]
    row = one(ada, neutral(*asked, {"role": "assistant", "tool_calls": calls}, answer))
    assert row.proposed_system_prompt == "Be brief."
    text = row.messages.get(role="user").content
    assert text.split("\n\n") == ["One.", "Two.", "[Image: image]", "[File: a.pdf]", "[Image: image]"]
    assert list(ToolCall.objects.order_by("call_id").values_list("arguments", "result")) == [
        ('{"b": 1}', "r"),
        ("", None),
    ]


@pytest.mark.parametrize(
    "payload",
    [
        json.dumps([said("hi"), said("ho", "assistant")]).encode(),
        b'{"role": "user", "content": "hi"}\r\n\n{"role": "assistant", "content": "ho"}\n',
        json.dumps({"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "ho"}]}).encode(),
        json.dumps([{"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "ho"}]}]).encode(),
    ],
)
def test_messages_of_a_list_are_one_conversation(ada: User, payload: bytes) -> None:
    assert list(one(ada, payload).messages.order_by("created_at").values_list("role", "content")) == [
        ("user", "hi"),
        ("assistant", "ho"),
    ]


def test_each_of_json_lines_is_a_conversation_and_a_bad_line_is_named(ada: User) -> None:
    lines = b"\n".join(neutral(said(str(number)), title=str(number)).replace(b"\n", b"") for number in range(3))
    imported = import_conversations(ada, lines + b"\n{")
    assert [row.title for row in imported] == ["0", "1", "2"]
    assert [one.reason.startswith("not valid JSON") and "line 4" in one.reason for one in imported.unread] == [True]


def test_a_file_over_25_megabytes_is_refused(ada: User) -> None:
    assert "at most 25,000,000 bytes" in refusal(ada, b" " * 25_000_001)


def test_more_than_100000_messages_are_refused(ada: User) -> None:
    assert "messages: at most 100,000, not 100,001" in refusal(ada, neutral(*[{}] * 100_001))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_file_in_any_marked_encoding_is_read(ada: User, encoding: str) -> None:
    payload = neutral(said("žluťoučký 🐎")).decode()
    payload = json.dumps(json.loads(payload), ensure_ascii=False)
    assert one(ada, payload.encode(encoding)).messages.get().content == "žluťoučký 🐎"


def test_a_long_import_takes_a_constant_number_of_queries_a_batch(
    ada: User, django_assert_max_num_queries: Any
) -> None:
    payload = neutral(*(said(f"message {n}") for n in range(1_000)))
    with django_assert_max_num_queries(20):
        assert one(ada, payload).messages.count() == 1_000


def test_a_fault_in_the_last_message_leaves_nothing(ada: User) -> None:
    refusal(ada, neutral(*(said(str(n)) for n in range(1_200)), said("x", "critic")))
    assert not Message.objects.exists()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


def read_in_pieces(text: str) -> Any:
    found = list(entries(text))
    return [entry.value for entry in found] if found[0].is_listed else found[0].value


@hypothesis_settings(max_examples=300, deadline=None)
@given(value=JSON, indent=st.sampled_from([None, 1]), data=st.data())
def test_a_list_is_read_in_pieces_as_it_is_read_whole(value: Any, indent: int | None, data: st.DataObject) -> None:
    text = json.dumps(value, indent=indent)
    assert read_in_pieces(text) == parse_json(text) == value
    at = data.draw(st.integers(0, len(text)))
    spoilt = text[:at] + data.draw(st.sampled_from(["", ",", "]", "[", "x", "{", '"'])) + text[at + 1 :]
    try:
        whole = parse_json(spoilt)
    except Invalid:
        with pytest.raises(Invalid, match="not valid JSON"):
            read_in_pieces(spoilt)
    else:
        assert read_in_pieces(spoilt) == whole
