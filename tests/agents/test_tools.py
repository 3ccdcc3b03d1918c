"""The tools of our own, what is offered to whom, and how a call is carried out."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from conversations.agents.tools import toolbox
from conversations.agents.tools.calculator import calculate
from conversations.agents.tools.clock import current_time
from conversations.agents.tools.history import read_history, search_history
from conversations.agents.tools.toolbox import Toolbox, checked
from conversations.context import tools as context_tools
from conversations.context.tools import BUILT_IN, offered_tools
from conversations.llm.tools import Spec, ToolFailed, ToolRequest
from conversations.memory import message_index
from conversations.models import Conversation, Message, ToolCall, ToolServer

once = pytest.mark.once
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def failure(expression: str) -> str:
    with pytest.raises(ToolFailed) as failed:
        calculate(expression)
    return str(failed.value)


@once
@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1+1", "2"),
        ("2**64 * 10**30", str(2**64 * 10**30)),
        ("0.1+0.2", "0.3"),
        ("1/3*3", "1"),
        ("10/4", "2.5"),
        ("1/3", "0.333333333333333"),
        ("-7//2", "-4"),
        ("-7%3", "2"),
        ("sqrt(1/4)", "0.5"),
        ("sqrt(2)", "1.4142135623731"),
        ("log(100, 10)", "2"),
        ("round(2.675, 2)", "2.68"),
        ("max(1, 2.50, min(3, 4))", "3"),
        ("sin(pi/2) + e - e", "1"),
        ("factorial(20)", "2432902008176640000"),
        ("3 × 4 ÷ 2", "6"),
        ("250000*1.00417**360", "1118271.63592207"),
        ("10**-40/4", "2.5E-41"),
    ],
)
def test_a_value_is_exact_as_far_as_decimals_can_write_it(expression: str, value: str) -> None:
    assert calculate(expression) == value


@once
@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("1/0", "divides by zero"),
        ("0**-1", "divides by zero"),
        ("1e999", "too large"),
        ("exp(1000)", "too large"),
        ("answer", "'answer' is not known"),
        ("open('/etc/passwd')", "'open' is not known"),
        ("'a'*10", "Only arithmetic"),
        ("(1).__class__", "Only arithmetic"),
        ("[x for x in (1,)]", "Only arithmetic"),
        ("f'{1}'", "Only arithmetic"),
        ("1 if 1 else 2", "Only arithmetic"),
        ("True", "Only arithmetic"),
        ("a = 1", "one expression"),
        ("1,000 * 2", "thousands separators"),
        ("2^3", "**"),
        ("15% of 80", "cannot be read"),
        ("(-8) ** (1/3)", "no real number"),
        ("sqrt", "no real number"),
        ("sqrt(-1)", "no value there"),
        ("max()", "no value there"),
        ("9" * 1001, "more than 1,000 characters"),
    ],
)
def test_what_has_no_value_says_why_in_a_sentence(expression: str, words: str) -> None:
    told = failure(expression)
    assert words in told and told.endswith(".") and "\n" not in told


@once
@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9",
        "9**9**9**9",
        "factorial(10**9)",
        "factorial(factorial(20))",
        "(" * 490 + "1" + ")" * 490,
        "-" * 990 + "1",
        "*".join(["(9**999)"] * 100),
        "**".join(["1.5"] * 100),
        "+".join(f"1/{n}" for n in range(100, 250)),
        "round(1e300, 10**9)",
        "2**(10**300)",
        "sin(10**1000)",
    ],
)
def test_no_expression_takes_longer_than_is_felt(expression: str) -> None:
    def seconds() -> float:
        began = time.thread_time()
        with suppress(ToolFailed):
            assert len(calculate(expression)) < 2_000
        return time.thread_time() - began

    # The garbage of the tests before it may be collected meanwhile, which takes half a second.
    assert min(seconds() for _ in range(3)) < 0.1


@once
def test_the_time_is_told_in_the_zone_that_was_asked_for() -> None:
    told = current_time("Asia/Kolkata")
    assert told.endswith(", UTC+05:30 (Asia/Kolkata)")
    day, date, *_ = told.split(", ")
    when = datetime.strptime(date, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC) - timedelta(hours=5, minutes=30)
    assert abs(datetime.now(UTC) - when) < timedelta(seconds=5)
    assert day == f"{datetime.strptime(date[:10], '%Y-%m-%d'):%A}"
    assert "UTC+00:00 (UTC)" in current_time()


@once
@pytest.mark.parametrize("zone", ["Mars", "Europe", "../../etc/passwd", "", "\0", "a" * 64])
def test_a_zone_that_is_not_known_comes_with_one_that_is(zone: str) -> None:
    with pytest.raises(ToolFailed, match="'Europe/Berlin'"):
        current_time(zone)


def said(conversation: Conversation, *contents: str, **fields: Any) -> list[Message]:
    """Messages, by a person and a model in turns, a minute after each other."""
    have = Message.objects.filter(conversation=conversation).count()
    return Message.objects.bulk_create(
        Message(
            conversation=conversation,
            content=content,
            created_at=START + timedelta(minutes=number),
            **({"role": "assistant" if number % 2 else "user"} | fields),
        )
        for number, content in enumerate(contents, have)
    )


def test_messages_are_found_by_any_of_their_words_the_best_first_and_the_latest_of_equal_ones(
    conversation: Conversation,
) -> None:
    said(conversation, "The port is 5433.", "Noted.", "And the PORT of Redis is 6379.", "Fine.")
    assert search_history(conversation.pk, "port is") == (
        "#3 user, 2026-01-05 09:02: And the PORT of Redis is 6379.\n#1 user, 2026-01-05 09:00: The port is 5433."
    )
    assert search_history(conversation.pk, '"port is" 5433').startswith("#1 ")
    assert search_history(conversation.pk, "5433 port").startswith("#1 ")
    assert len(search_history(conversation.pk, "ports nowhere").splitlines()) == 2
    assert "No message has any of these words" in search_history(conversation.pk, "nowhere nothing")
    with pytest.raises(ToolFailed):
        search_history(conversation.pk, "  ")


def test_letters_that_are_not_ascii_are_found_in_either_case(conversation: Conversation) -> None:
    said(conversation, "Die Straße nach KÖLN", "100%_sicher")
    assert search_history(conversation.pk, "köln").startswith("#1 ")
    assert search_history(conversation.pk, "0%_s").startswith("#2 ")
    assert search_history(conversation.pk, "0_%").startswith("No message")


def test_the_part_that_a_summary_stands_for_is_found_and_read_too(conversation: Conversation) -> None:
    rows = said(conversation, "needle one", "two", "needle three", "four")
    conversation.compressed_context, conversation.compressed_at = "summary", rows[2].created_at
    conversation.save()
    assert [line[:2] for line in search_history(conversation.pk, "needle").splitlines()] == ["#3", "#1"]
    assert "needle one" in read_history(conversation.pk, 1)


def test_what_was_replaced_failed_or_is_being_written_has_no_number(conversation: Conversation) -> None:
    old, *_ = said(conversation, "needle old", "needle new", "needle failed", "needle in the making", "needle last")
    Message.objects.filter(pk=old.pk).update(replaced_by=old.pk)
    Message.objects.filter(content="needle failed").update(status="failed")
    Message.objects.filter(content="needle in the making").update(status="streaming")
    assert [line.split(" ")[0] for line in search_history(conversation.pk, "needle").splitlines()] == ["#2", "#1"]
    assert read_history(conversation.pk, 2).endswith("needle last")
    with pytest.raises(ToolFailed, match="only 2 messages"):
        read_history(conversation.pk, 3)


def test_results_of_tools_are_found_but_not_those_of_looking_into_the_history(conversation: Conversation) -> None:
    _, reply, _ = said(conversation, "Look it up.", "", "Thanks.")
    for number, (name, result) in enumerate((("fetch", "the needle is here"), (context_tools.SEARCH, "#1 needle"))):
        ToolCall.objects.create(
            message=reply, call_id=str(number), name=name, arguments="{}", result=result, created_at=START
        )
    assert search_history(conversation.pk, "needle") == (
        "#2 assistant, 2026-01-05 09:01, result of fetch: the needle is here"
    )
    assert "[fetch {}]\nthe needle is here" in read_history(conversation.pk, 2)
    ToolCall.objects.filter(name="fetch").delete()
    assert search_history(conversation.pk, "needle").startswith("No message")


def test_what_is_found_stays_within_what_a_model_is_sent_of_a_result(conversation: Conversation, settings: Any) -> None:
    said(conversation, *(f"needle {number} " + "word " * 500 for number in range(30)))
    found = search_history(conversation.pk, "needle")
    assert len(found) < settings.TOOL_RESULT_MAX_CHARS
    *lines, last = found.splitlines()
    assert [line.partition(" ")[0] for line in lines] == [f"#{n}" for n in range(30, 30 - len(lines), -1)]
    assert 5 < len(lines) <= 10 and last == "There are more: other words may find them."
    settings.TOOL_RESULT_MAX_CHARS = 20_000
    assert len(search_history(conversation.pk, "needle").splitlines()) == 11


def test_a_long_message_is_read_page_by_page_and_nothing_of_it_is_left_out(
    conversation: Conversation, settings: Any
) -> None:
    whole = "".join(f"{number:05}" for number in range(1_500))
    said(conversation, whole, "short", "the end")
    text, offset, pages = "", 0, 0
    while True:
        page = read_history(conversation.pk, 1, 1, offset)
        assert len(page) < settings.TOOL_RESULT_MAX_CHARS
        body, _, rest = page.partition(":\n")[2].partition("\n\n[Go on with first=1, offset=")
        text, pages = text + body, pages + 1
        if not rest:
            break
        offset = int(rest.partition(":")[0])
    assert text == whole and pages == 5
    with pytest.raises(ToolFailed, match="only 7,500 characters"):
        read_history(conversation.pk, 1, 1, 7_500)


def test_as_many_messages_are_read_at_once_as_fit_with_a_word_on_how_to_go_on(
    conversation: Conversation, settings: Any
) -> None:
    said(conversation, "first", "second", "x" * 3_000, "fourth")
    told = read_history(conversation.pk, 1, 4)
    assert (
        told == "#1 user, 2026-01-05 09:00:\nfirst\n\n#2 assistant, 2026-01-05 09:01:\nsecond\n\n[Go on with first=3]"
    )
    assert "offset=" in read_history(conversation.pk, 3, 2)
    assert read_history(conversation.pk, 4, 20).endswith("\nfourth")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"first": 1.0, "count": 2.0, "offset": 0.0}', "the first"),
        ('{"first": 1, "offset": 4.0}', "first"),
        ('{"first": 100000000000000000000}', "There are only 1 messages."),
    ],
)
async def test_numbers_as_json_has_them_are_read(conversation: Conversation, arguments: str, told: str) -> None:
    await conversation.messages.acreate(role="user", content="the first", created_at=START)
    async with Toolbox() as tools:
        try:
            found = await tools.call(ToolRequest("1", "read_history", arguments), among=BUILT_IN, about=conversation.pk)
        except ToolFailed as failed:
            found = str(failed)
    assert found.splitlines()[-1] == told


def test_the_numbers_of_a_long_history_are_counted_without_its_content(conversation: Conversation) -> None:
    rows = said(conversation, *(f"message {number}" for number in range(2_000)))
    message_index.catch_up(seconds=60)
    with CaptureQueriesContext(connection) as queries:
        assert search_history(conversation.pk, "message").startswith("#2000 ")
        assert read_history(conversation.pk, 1_999).startswith("#1999 ")
    assert len(queries) == 8 and len(rows) == 2_000


def test_nothing_of_another_conversation_is_found(conversation: Conversation) -> None:
    other = Conversation.objects.create(owner=conversation.owner)
    said(other, "needle")
    assert search_history(conversation.pk, "needle").startswith("No message")
    with pytest.raises(ToolFailed, match="only 0 messages"):
        read_history(conversation.pk, 1)


TOOL = {"name": "fetch", "description": "Gets it.", "parameters": {"type": "object"}}


def tool_server(**fields: Any) -> ToolServer:
    return ToolServer.objects.create(**{"name": "web", "tools": [TOOL], "allowed": ["fetch"]} | fields)


def names(kind: str, *, has_gaps: bool = False) -> list[str]:
    return [one.name for one in offered_tools(kind, has_gaps=has_gaps)]


def test_each_kind_of_conversation_is_offered_what_it_needs(transactional_db: None) -> None:
    tool_server()
    recall = [context_tools.SEARCH, context_tools.READ]
    own = [context_tools.CALCULATE.name, context_tools.CURRENT_TIME.name]
    assert names("agent") == [context_tools.DELEGATE, context_tools.CONTINUE, *recall]
    assert names("executor") == [*recall, *own, "web__fetch"]
    assert names("chat") == [*own, "web__fetch"]
    assert names("chat", has_gaps=True) == [*recall, *own, "web__fetch"]
    assert names("gateway") == []


def test_only_allowed_tools_of_enabled_servers_are_offered(transactional_db: None) -> None:
    tool_server(tools=[TOOL, TOOL | {"name": "delete"}])
    tool_server(name="off", enabled=False)
    tool_server(name="unread", allowed=["gone"])
    assert names("chat")[2:] == ["web__fetch"]


@once
@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("nonsense", "{}", "There is no tool called 'nonsense'. Those that there are: search_history, read_history"),
        ("calculate", "{", "not JSON"),
        ("calculate", "[]", "no JSON object"),
        ("calculate", "[" * 100_000, "not JSON"),
        ("calculate", "9" * 5_000, "not JSON"),
        ("calculate", "{}", "'expression' is a required property"),
        ("calculate", "", "'expression' is a required property"),
        ("calculate", '{"expression": 1}', "expression: 1 is not of type 'string'"),
        ("calculate", '{"expression": "1", "more": 1}', "more"),
        ("read_history", '{"first": 0}', "first: 0 is less than the minimum of 1"),
    ],
)
def test_arguments_that_do_not_fit_are_told_with_what_is_wrong(name: str, arguments: str, words: str) -> None:
    with pytest.raises(ToolFailed) as failed:
        checked(ToolRequest("1", name, arguments), BUILT_IN)
    assert words in str(failed.value) and len(str(failed.value)) < 700


def spec_with(**schema: Any) -> tuple[Spec, ...]:
    return (Spec("web__fetch", "", json.dumps({"type": "object"} | schema)),)


@once
@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"x": {"pattern": "^(a+)+$"}}},
        {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
    ],
)
def test_a_servers_regular_expressions_are_left_to_the_server(schema: dict[str, Any]) -> None:
    endless = "a" * 60 + "!"
    began = time.thread_time()
    checked(ToolRequest("1", "web__fetch", json.dumps({"x": endless, endless: 1})), spec_with(**schema))
    assert time.thread_time() - began < 1


@once
@pytest.mark.parametrize("place", ["http://127.0.0.1:9/schema", "#/$defs/none", "#"])
def test_a_definition_that_refers_to_elsewhere_or_itself_is_not_followed(place: str) -> None:
    with pytest.raises(ToolFailed, match="its own definition is broken"):
        checked(ToolRequest("1", "web__fetch", "{}"), spec_with(**{"$ref": place}))


async def test_a_call_gives_text_that_can_be_stored(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolbox, "MAX_RESULT_CHARS", 4)
    async with Toolbox() as tools:
        asked = ToolRequest("1", "calculate", '{"expression": "10**9"}')
        told = await tools.call(asked, among=BUILT_IN, about=conversation.pk)
    assert told == "1000\n[Cut: the tool gave 10 characters; the first 4 are kept.]"
    assert toolbox._storable("a\0\ud800") == "a"


async def test_a_servers_tool_that_is_not_allowed_any_more_is_not_called(conversation: Conversation) -> None:
    row = await ToolServer.objects.acreate(name="web", tools=[TOOL], allowed=["fetch"], command="/no/such")
    among = spec_with()
    async with Toolbox() as tools:
        with pytest.raises(ToolFailed, match="cannot be started"):
            await tools.call(ToolRequest("1", "web__fetch", "{}"), among=among, about=conversation.pk)
        for change in ({"allowed": []}, {"allowed": ["fetch"], "enabled": False}):
            await ToolServer.objects.filter(pk=row.pk).aupdate(**change)
            with pytest.raises(ToolFailed, match="not offered any more"):
                await tools.call(ToolRequest("1", "web__fetch", "{}"), among=among, about=conversation.pk)
