from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from conversations.errors import Invalid
from conversations.exchange.formats import chatgpt as format_of_chatgpt
from conversations.exchange.formats.chatgpt_references import without_marks
from conversations.exchange.imports import Imported, import_conversations
from conversations.models import Conversation, Message, ToolCall, User
from tests.conversations.exports import DATE, chatgpt, told
from tests.growth import growth, repeated

pytestmark = [pytest.mark.django_db, pytest.mark.once]

START = datetime.fromtimestamp(DATE, UTC)
TICK = timedelta(microseconds=1)


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


def taken(user: User, *conversations: dict[str, Any]) -> Imported:
    return import_conversations(user, json.dumps(list(conversations)).encode())


def one(user: User, *messages: dict[str, Any] | None, **more: Any) -> Conversation:
    Conversation.objects.update(imported_from="")  # each of a test is another one
    (row,) = taken(user, chatgpt(*messages, **more))
    return row


def said(row: Conversation) -> list[tuple[str, str]]:
    return list(row.messages.order_by("created_at").values_list("role", "content"))


def test_a_conversation_comes_in_with_its_title_dates_and_models(ada: User) -> None:
    row = one(
        ada,
        told("system", ""),
        told("user", "Which port?", create_time=DATE + 1),
        told("assistant", "5433.", create_time=DATE + 2, metadata={"model_slug": "gpt-4o"}),
    )
    assert (row.owner_id, row.title, row.created_at) == (ada.pk, "Ports", START)
    assert row.updated_at == START + timedelta(seconds=60)
    rows = row.messages.values_list("role", "content", "created_at", "model")
    assert list(rows) == [
        ("user", "Which port?", START + timedelta(seconds=1), ""),
        ("assistant", "5433.", START + timedelta(seconds=2), "gpt-4o"),
    ]


def test_only_the_branch_that_was_last_seen_is_taken(ada: User) -> None:
    data = chatgpt(told("user", "first words"), told("assistant", "first answer"))
    data["mapping"] |= {
        "edited": {"id": "edited", "message": told("user", "other words"), "parent": "root", "children": ["late"]},
        "late": {"id": "late", "message": told("assistant", "other answer"), "parent": "edited", "children": []},
    }
    assert said(taken(ada, data).conversations[0]) == [("user", "first words"), ("assistant", "first answer")]
    assert said(taken(ada, data | {"current_node": "late"}).conversations[0])[0] == ("user", "other words")


def test_without_a_current_node_the_latest_leaf_counts(ada: User) -> None:
    data = chatgpt(told("user", "a", create_time=DATE), told("assistant", "b", create_time=DATE + 9), current_node=None)
    data["mapping"]["n2"] = {"message": told("assistant", "c", create_time=DATE + 5), "parent": "n0", "children": []}
    assert said(taken(ada, data).conversations[0])[-1] == ("assistant", "b")
    data["mapping"]["n2"]["message"]["create_time"] = DATE + 9
    assert said(taken(ada, data).conversations[0])[-1] == ("assistant", "c"), "of equal dates the last in the file"


def test_custom_instructions_are_proposed(ada: User) -> None:
    custom = {"content_type": "user_editable_context", "user_profile": "I am Ada.", "user_instructions": "Be brief."}
    hidden = {"is_visually_hidden_from_conversation": True}
    row = one(ada, told("system", ""), told("user", content=custom, metadata=hidden), told("user", "hello"))
    assert row.proposed_system_prompt == "I am Ada.\n\nBe brief."
    assert said(row) == [("user", "hello")]

    old = {"is_user_system_message": True, "user_context_message_data": {"about_user_message": "I am Ada."}}
    assert (
        one(ada, told("system", "", metadata=old | hidden), told("user", "hello")).proposed_system_prompt == "I am Ada."
    )


def test_a_leading_system_message_is_proposed_and_a_later_one_is_protected(ada: User) -> None:
    row = one(ada, told("system", "Be brief."), told("user", "hello"), told("system", "Speak French."))
    assert row.proposed_system_prompt == "Be brief."
    assert list(row.messages.values_list("content", "is_protected")) == [("hello", False), ("Speak French.", True)]


def test_hidden_empty_and_reasoning_messages_are_left_out(ada: User) -> None:
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "secret"}]}
    recap = {"content_type": "reasoning_recap", "content": "Thought for 3 s"}
    memory = {"content_type": "model_editable_context", "model_set_context": "likes ports"}
    row = one(
        ada,
        told("user", "hello"),
        told("assistant", content=memory),
        told("assistant", content=thoughts),
        told("assistant", content=recap),
        told("assistant", "  "),
        told("assistant", "not shown", metadata={"is_visually_hidden_from_conversation": True}),
        None,
        told("assistant", "hi"),
    )
    assert said(row) == [("user", "hello"), ("assistant", "hi")]


def test_a_tool_that_was_asked_and_answered_is_a_call_with_its_result(ada: User) -> None:
    code = {"content_type": "code", "language": "python", "text": "print(1)"}
    output = {"content_type": "execution_output", "text": "1\n"}
    quote = {"content_type": "tether_quote", "url": "https://a.b", "domain": "a.b", "title": "A", "text": "words"}
    row = one(
        ada,
        told("user", "count, then look"),
        told("assistant", content=code, recipient="python", metadata={"model_slug": "gpt-4o"}),
        told("tool", content=output, name="python"),
        told("assistant", '{"queries": ["a"]}', recipient="file_search.msearch"),
        told("tool", content=quote, name="file_search"),
        told("tool", "and more", name="file_search"),
        told("assistant", "done"),
    )
    calls = ToolCall.objects.order_by("pk").values_list("name", "arguments", "result")
    assert list(calls) == [
        ("python", "print(1)", "1\n"),
        ("file_search.msearch", '{"queries": ["a"]}', "A\nhttps://a.b\nwords"),
    ]
    assert said(row) == [
        ("user", "count, then look"), ("assistant", ""), ("assistant", ""), ("tool", "and more"), ("assistant", "done")
    ]  # fmt: skip
    assert ToolCall.objects.values_list("call_id", flat=True).distinct().count() == 2
    assert row.messages.get(tool_calls__name="python").model == "gpt-4o"


def test_calls_without_answers_and_answers_without_calls_are_text(ada: User) -> None:
    row = one(
        ada,
        told("tool", "nobody asked", name="browser"),
        told("assistant", "search(ports)", recipient="browser"),
        told("user", "stop"),
        told("assistant", "x = 1", recipient="python"),
        told("tool", "found", name="browser"),
        told("tool", "", name="browser"),
    )
    assert not ToolCall.objects.exists()
    assert said(row) == [
        ("tool", "nobody asked"),
        ("assistant", "[Call of browser]\nsearch(ports)"),
        ("user", "stop"),
        ("assistant", "[Call of python]\nx = 1"),
        ("tool", "found"),
    ]


def test_images_sounds_and_files_are_named(ada: User) -> None:
    parts = [
        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1", "width": 10},
        {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_2"},
        {"content_type": "audio_transcription", "text": "spoken words", "direction": "in"},
        {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://sound"},
        {"content_type": "real_time_user_audio_video_asset_pointer",
         "audio_asset_pointer": {"asset_pointer": "sediment://live"}},
        "What is this?",
        {"content_type": "image_asset_pointer"},
    ]  # fmt: skip
    attachments = [
        {"id": "file-1", "name": "ports.png", "mime_type": "image/png"},
        {"id": "file-9", "name": "notes.pdf", "mime_type": "application/pdf"},
        {"id": "file-8", "name": "map.jpg", "mime_type": "image/jpeg"},
    ]
    content = {"content_type": "multimodal_text", "parts": parts}
    row = one(ada, told("user", content=content, metadata={"attachments": attachments}))
    assert row.messages.get().content.splitlines() == [
        "[Image: ports.png]",
        "[Image: file_2]",
        "spoken words",
        "[File: sound]",
        "[File: live]",
        "What is this?",
        "[Image: without a name]",
        "[File: notes.pdf]",
        "[Image: map.jpg]",
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"content_type": "code", "language": "python", "text": "x = 1"}, "```python\nx = 1\n```"),
        ({"content_type": "code", "language": "unknown", "text": "x"}, "```\nx\n```"),
        ({"content_type": "tether_browsing_display", "result": "", "summary": "found"}, "found"),
        ({"content_type": "system_error", "name": "Error", "text": "It broke."}, "It broke."),
        ({"content_type": "something new", "text": "still read"}, "still read"),
        (
            {"content_type": "sonic_webpage", "title": "Iron", "url": "https://e.org", "text": "Old."},
            "Iron\nhttps://e.org\nOld.",
        ),
        ({"content_type": "citable_code_output", "output_str": "42"}, "42"),
        ({"content_type": "refusal", "refusal": "I cannot."}, "I cannot."),
        ({"content_type": "text", "parts": ["one", 7, None, "two"]}, "one\ntwo"),
    ],
)
def test_every_kind_of_content_has_its_text(ada: User, content: dict[str, Any], text: str) -> None:
    assert said(one(ada, told("assistant", content=content))) == [("assistant", text)]


@pytest.mark.parametrize(
    "date", [True, 1e300, -1, 0, "soon", [], {"$date": {}}, 253_402_000_000_000_000, 10**400, "9" * 500]
)
def test_an_odd_date_counts_as_none(ada: User, date: Any) -> None:
    row = one(ada, told("user", "a", create_time=DATE), told("assistant", "b", create_time=date))
    assert list(row.messages.order_by("created_at").values_list("created_at", flat=True)) == [START, START + TICK]


@pytest.mark.parametrize(
    "date", [DATE, str(DATE), DATE * 1000, "2025-01-06T09:00:00.5Z", {"$date": {"$numberLong": "1736154000500"}}]
)
def test_a_date_has_many_forms(ada: User, date: Any) -> None:
    assert one(ada, told("user", "a", create_time=date)).messages.get().created_at == START


CITED = "\ue200cite\ue202turn0search0\ue202turn1view2\ue201"
IRON = {"title": "Iron [old]", "url": "https://e.org/iron"}


@pytest.mark.parametrize(
    ("text", "metadata", "expected"),
    [
        (f"Old. {CITED}", {"content_references": [{"matched_text": CITED, "alt": "([Iron](https://e.org))"}]},
         "Old. ([Iron](https://e.org))"),
        (f"Old. {CITED}", {"content_references": [{"matched_text": CITED, "alt": None, "items": [IRON, IRON]}]},
         "Old. ([Iron old](https://e.org/iron))"),
        (f"Old. {CITED}", {"content_references": [{"matched_text": CITED, "items": [{"url": "javascript:x"}]}]},
         "Old. "),
        ("In \ue200filecite\ue202turn0file0\ue201.", {"content_references": [
            {"matched_text": "\ue200filecite\ue202turn0file0\ue201", "type": "file", "name": "a.pdf"}]},
         "In [File: a.pdf]."),
        ("A b.", {"content_references": [{"matched_text": " ", "type": "sources_footnote"}]}, "A b."),
        (f"Old. {CITED} New.", {}, "Old.  New."),
        ('\ue203By \ue200entity\ue202["people","Ada",0]\ue201\ue204, \ue200url\ue202here\ue202turn0search1\ue201.', {},
         "By Ada, here."),
        ('\ue200entity\ue202{"a":\ue201 \ue200image_group\ue202{"query":["x"]}\ue201 cut \ue200cite', {}, "  cut cite"),
        ("Old【8†source】, new【9:1†a.pdf】.", {"citations": [
            {"metadata": IRON | {"extra": {"cited_message_idx": 8}}}, {"metadata": None}, 7]},
         "Old ([Iron old](https://e.org/iron)), new【9:1†a.pdf】."),
        ("【8】 and 【8 items】 stay.", {"citations": [{"metadata": IRON | {"extra": {"cited_message_idx": 8}}}]},
         "【8】 and 【8 items】 stay."),
        ("An icon \ue201 and 【text】 stay.", {"content_references": "x", "citations": None},
         "An icon \ue201 and 【text】 stay."),
    ],
)  # fmt: skip
def test_marks_of_sources_become_links_and_names(ada: User, text: str, metadata: dict[str, Any], expected: str) -> None:
    row = one(ada, told("user", text), told("assistant", text, metadata=metadata))
    assert said(row) == [("user", text), ("assistant", expected.strip() if not expected.strip() else expected)]


@pytest.mark.parametrize("piece", [CITED, "\ue200", "\ue200cite", "【1", "【1†", "【1†a】", '\ue200entity\ue202["'])
def test_marks_take_time_in_proportion_to_the_text(piece: str) -> None:
    known = {"content_references": [{"matched_text": CITED, "alt": "x"}]}
    assert growth(lambda text: without_marks(text, known), repeated(piece), start=12_500, largest=200_000).is_linear


def test_an_archived_conversation_stays_archived(ada: User) -> None:
    assert one(ada, told("user", "a"), is_archived=True).archived and not one(ada, told("user", "a")).archived


def test_text_that_no_database_holds_is_put_right(ada: User) -> None:
    row = one(ada, told("user", "a\0b \ud83d c"), title="T\0itle " + "x" * 300)
    assert said(row) == [("user", "ab \ufffd c")]
    assert row.title == "Title " + "x" * 194


def test_a_result_that_is_too_long_is_cut_and_says_so(ada: User) -> None:
    one(ada, told("assistant", "all", recipient="python"), told("tool", "x" * 300_000, name="python"))
    result = str(ToolCall.objects.get().result)
    assert len(result) <= 200_000
    assert result.endswith("[… cut: 300,000 characters in all]")


@pytest.mark.parametrize("dates", [[5, 3, 4], [5, 5, 5], [None, 5, None], [10**9, None, 3]])
def test_the_order_of_the_branch_is_kept_whatever_its_dates_are(ada: User, dates: list[int | None]) -> None:
    messages = [told("user", str(at), create_time=date and DATE + date) for at, date in enumerate(dates)]
    rows = list(one(ada, *messages).messages.order_by("created_at").values_list("content", "created_at"))
    assert [content for content, _ in rows] == ["0", "1", "2"]
    assert all(later - earlier >= TICK for (_, earlier), (_, later) in pairwise(rows))


def test_many_conversations_come_in_at_once_and_empty_ones_are_counted(ada: User) -> None:
    empty = chatgpt(told("system", ""), conversation_id="empty")
    talks = [chatgpt(told("user", f"hi {n}"), conversation_id=f"c{n}", title=None) for n in range(3)]
    imported = taken(ada, empty, *talks, chatgpt(mapping={}, conversation_id="none", current_node=None))
    assert [row.title for row in imported] == ["hi 0", "hi 1", "hi 2"]
    assert (imported.messages, imported.skipped) == ((1, 1, 1), 2)
    assert Conversation.objects.count() == 3


def test_many_conversations_take_few_queries(ada: User, django_assert_max_num_queries: Any) -> None:
    talks = [chatgpt(told("user", "hi"), told("assistant", "ho"), conversation_id=f"c{n}") for n in range(200)]
    with django_assert_max_num_queries(15):
        assert len(taken(ada, *talks).conversations) == 200


def circle() -> dict[str, Any]:
    data = chatgpt(told("user", "a"), told("assistant", "b"))
    data["mapping"]["root"]["parent"] = "n1"
    return data


def changed(path: str, value: object) -> dict[str, Any]:
    data = chatgpt(told("user", "a"), told("assistant", "b"))
    *way, last = path.split(".")
    at: Any = data
    for part in way:
        at = at[part]
    at[last] = value
    return data


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (circle(), "[1].mapping: the parents of 'n1' go round in a circle"),
        (circle() | {"current_node": None}, "[1].mapping: the parents go round in a circle"),
        (changed("mapping", []), "[1].mapping: must be an object"),
        (changed("mapping.n0", 7), "[1].mapping.n0: must be an object"),
        (changed("mapping.n0.message", "text"), "[1].mapping.n0.message: must be an object"),
        (changed("mapping.n0.message.content.parts", ["x" * 200_001]), "n0.message.content: at most 200,000"),
        (chatgpt(told("user", "a"), conversation_id="first"), "[1].id: the conversation id 'first' appears twice"),
    ],
)
def test_what_is_wrong_is_named_and_keeps_nothing_else_out(ada: User, data: dict[str, Any], place: str) -> None:
    imported = taken(ada, chatgpt(told("user", "fine"), conversation_id="first"), data)
    (bad,) = imported.unread
    assert place in f"{bad.place}.{bad.reason}"
    assert [row.imported_from for row in Conversation.objects.all()] == ["chatgpt:first"]
    if "twice" not in place:
        with pytest.raises(Invalid) as refused:
            taken(ada, data)
        assert place.removeprefix("[1]") in refused.value.message


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (changed("mapping.n0.parent", "gone"), [("user", "a"), ("assistant", "b")]),
        (changed("mapping.n0.parent", 7), [("user", "a"), ("assistant", "b")]),
        (changed("current_node", "gone"), [("user", "a"), ("assistant", "b")]),
        (changed("current_node", ["n1"]), [("user", "a"), ("assistant", "b")]),
        (changed("mapping.n0.message.author", None), [("assistant", "[unknown] a"), ("assistant", "b")]),
        (changed("mapping.n0.message.author.role", "critic"), [("assistant", "[critic] a"), ("assistant", "b")]),
        (changed("mapping", None), []),
        (changed("mapping.n9", None), [("user", "a"), ("assistant", "b")]),
        (changed("create_time", []), [("user", "a"), ("assistant", "b")]),
        (changed("mapping.n0.message.content", "a text"), [("user", "a text"), ("assistant", "b")]),
        (
            changed("mapping.n1.message.recipient", "t" * 201),
            [("user", "a"), ("assistant", f"[Call of {'t' * 200}]\nb")],
        ),
    ],
)
def test_oddities_of_real_exports_come_in(ada: User, data: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    imported = taken(ada, chatgpt(told("user", "fine"), conversation_id="first"), data)
    assert imported.unread == () and imported.skipped == (not expected)
    if expected:
        assert said(imported.conversations[1]) == expected


def test_shells_of_conversations_are_skipped(ada: User) -> None:
    imported = taken(ada, chatgpt(told("user", "fine")), {"title": "shell", "conversation_id": "x"})
    assert (len(imported.conversations), imported.skipped, imported.unread) == (1, 1, ())


def test_replies_bear_the_model_that_their_conversation_names(ada: User) -> None:
    row = one(ada, told("user", "a"), told("assistant", "b"), default_model_slug="gpt-5-thinking")
    assert [message.model for message in row.messages.order_by("created_at")] == ["", "gpt-5-thinking"]


def test_a_newer_export_brings_what_is_new(ada: User) -> None:
    def talk(number: int, *words: str) -> dict[str, Any]:
        said = [told("assistant" if at % 2 else "user", word) for at, word in enumerate(words)]
        return chatgpt(*said, conversation_id=f"c{number}", title=f"Talk {number}")

    taken(ada, *[talk(number, "a", "b") for number in range(5)])
    again = taken(ada, talk(0, "a", "b", "c", "d"), *[talk(number, "a", "b") for number in range(1, 6)])
    assert (len(again.conversations), again.unchanged) == (1, 4)
    ((row, new),) = again.updated
    assert (row.title, new) == ("Talk 0", 2)
    assert said(row) == [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d")]
    assert Conversation.objects.count() == 6
    dates = list(row.messages.order_by("created_at").values_list("created_at", flat=True))
    assert len(set(dates)) == 4
    # What somebody went on with here is theirs: the newer export is another conversation then.
    row.messages.filter(content="d").update(content="my own")
    taken(ada, talk(0, "a", "b", "c", "d", "e"))
    assert Conversation.objects.count() == 7
    assert len(taken(ada, talk(0, "a", "b", "c", "d", "e")).conversations) == 0


def test_another_person_s_import_is_their_own(ada: User) -> None:
    eve = User.objects.create_user("eve")
    talk = chatgpt(told("user", "a"), conversation_id="c1")
    taken(ada, talk)
    assert len(taken(eve, talk).conversations) == 1
    assert sorted(Conversation.objects.values_list("owner__username", flat=True)) == ["ada", "eve"]


@pytest.mark.long
def test_a_file_has_at_most_5000_conversations_and_100000_messages(ada: User) -> None:
    with pytest.raises(Invalid, match="file: at most 5,000 conversations"):
        taken(ada, *[{"mapping": {}}] * 5_001)
    talk = {"messages": [{"role": "user", "content": "a"}] * 60_000}
    with pytest.raises(Invalid, match="file: at most 100,000 messages in all"):
        taken(ada, talk, talk)
    assert not Message.objects.exists()


TREES = st.lists(st.integers(0, 1_000), min_size=1, max_size=40).map(
    lambda picks: [None, *(pick % number for number, pick in enumerate(picks, start=1))]
)
"""For each node the number of its parent, which stands before it."""


def branch_down_to(children: dict[int | None, list[int]], node: int, wanted: int) -> list[int] | None:
    """Looked for from the root down, as the reader does not."""
    if node == wanted:
        return [node]
    ways = (branch_down_to(children, child, wanted) for child in children.get(node, []))
    way = next((way for way in ways if way), None)
    return [node, *way] if way else None


@hypothesis_settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(parents=TREES, data=st.data())
def test_the_branch_to_the_current_node_is_found_in_any_tree(parents: list[int | None], data: st.DataObject) -> None:
    numbers = list(range(len(parents)))
    empty = data.draw(st.sets(st.sampled_from(numbers)))
    children: dict[int | None, list[int]] = {}
    for number, parent in enumerate(parents):
        children.setdefault(parent, []).append(number)
    nodes = {
        f"n{at}": {
            "id": f"n{at}",
            "message": None if at in empty else told("user", f"text {at}", create_time=float(at)),
            "parent": None if parents[at] is None else f"n{parents[at]}",
            "children": [f"n{child}" for child in children.get(at, [])],
        }
        for at in data.draw(st.permutations(numbers))
    }
    current = data.draw(st.sampled_from([None, *numbers]))
    leaves = [number for number in numbers if number not in children]
    latest = max((leaf for leaf in leaves if leaf not in empty), default=None)
    wanted = current if current is not None else latest
    named = None if current is None else f"n{current}"
    source = format_of_chatgpt.read_conversation({"title": "t", "mapping": nodes, "current_node": named})
    found = [line.content for line in source.lines]
    if wanted is None:  # nothing is said in any leaf: any branch to one will do
        assert found in [_texts(children, leaf, empty) for leaf in leaves]
    else:
        assert found == _texts(children, wanted, empty)


def _texts(children: dict[int | None, list[int]], wanted: int, empty: set[int]) -> list[str]:
    return [f"text {at}" for at in branch_down_to(children, 0, wanted) or [] if at not in empty]
