"""Calls that a model writes into its text, in the forms in which servers let them through."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.llm.providers.written_calls import MAX_HELD_CHARS, WrittenCalls
from conversations.llm.providers.written_forms import OPENINGS

pytestmark = pytest.mark.once

TOOLS: dict[str, Any] = {
    "read": {"properties": {"path": {"type": "string"}, "lines": {"type": "integer"}, "only": {"type": "array"}}},
    "now": {"type": "object", "properties": {}},
}
DSML = (
    '<#tool_calls>\n<#invoke name="read">\n<#parameter name="path" string="true">a.txt</#parameter>\n'
    '<#parameter name="lines" string="false">5</#parameter>\n</#invoke>\n</#tool_calls>'
)
FORMS = {
    "Hermes": '<tool_call>\n{"name": "read", "arguments": {"path": "a.txt", "lines": 5}}\n</tool_call>',
    "Qwen3-Coder": (
        "<tool_call>\n<function=read>\n<parameter=path>\na.txt\n</parameter>\n<parameter=lines>\n5\n</parameter>\n"
        "</function>\n</tool_call>"
    ),
    "without the opening tag": (
        "<function=read>\n<parameter=path>\na.txt\n</parameter>\n<parameter=lines>5</parameter>\n</function>\n</tool_call>"
    ),
    "without any closing tag": "<function=read>\n<parameter=path>a.txt\n<parameter=lines>5",
    "GLM": (
        "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>\n<arg_key>lines</arg_key>\n"
        "<arg_value>5</arg_value>\n</tool_call>"
    ),
    "MiniMax": (
        '<minimax:tool_call>\n<invoke name="read">\n<parameter name="path">a.txt</parameter>\n'
        '<parameter name="lines">5</parameter>\n</invoke>\n</minimax:tool_call>'
    ),
    "MiniMax M3": (
        ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="read">\n]<]minimax[>[<path>a.txt]<]minimax[>[</path>\n'
        "]<]minimax[>[<lines>5]<]minimax[>[</lines>\n]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>"
    ),
    "DeepSeek": DSML.replace("#", "｜DSML｜"),
    "DeepSeek V3.2, with other bars": DSML.replace("tool_calls", "function_calls").replace("#", "‖DSML‖"),
    "DeepSeek, without tags around it": DSML[len("<#tool_calls>\n") : DSML.index("\n</#invoke>")].replace(
        "#", "｜｜DSML｜｜"
    ),
    "Kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>"
        '{"path": "a.txt", "lines": 5}<|tool_call_end|><|tool_calls_section_end|>'
    ),
    "Mistral": '[TOOL_CALLS][{"name": "read", "arguments": {"path": "a.txt", "lines": 5}}]',
    "arguments as a text": (
        '<tool_call>{"name": "read", "arguments": "{\\"path\\": \\"a.txt\\", \\"lines\\": 5}"}</tool_call>'
    ),
}


def read(text: str, *, size: int = 7, is_whole: bool = True, tools: Any = TOOLS) -> tuple[str, list[tuple[str, Any]]]:
    """(the text, the calls) of a reply that comes in pieces of `size` characters."""
    written = WrittenCalls(tools)
    pieces = [written.take(text[at : at + size]) for at in range(0, len(text), size)]
    rest, calls = written.rest(is_whole=is_whole)
    return "".join(pieces) + rest, [(call.name, json.loads(call.arguments)) for call in calls]


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("form", FORMS)
def test_a_call_at_the_end_of_a_text_is_read(form: str, size: int) -> None:
    text, calls = read(f"Let me look.\n\n{FORMS[form]}\n", size=size)
    assert (text, calls) == ("Let me look.\n\n", [("read", {"path": "a.txt", "lines": 5})])


def test_a_text_stays_a_text_if_the_model_says_so() -> None:
    text = FORMS["DeepSeek"].replace('"lines" string="false"', '"lines" string="true"')
    assert read(text)[1] == [("read", {"path": "a.txt", "lines": "5"})]
    assert read('<｜DSML｜invoke name="now"/>')[1] == [("now", {})]


def test_several_calls_are_read_in_their_order() -> None:
    text, calls = read(FORMS["Hermes"] + "\n" + FORMS["Qwen3-Coder"] + "<tool_call>now</tool_call>")
    assert text == "" and [name for name, _ in calls] == ["read", "read", "now"]
    assert calls[-1] == ("now", {})


def test_values_keep_their_lines_and_have_the_type_of_their_schema() -> None:
    body = "def f():\n    return '<b>'\n"
    text = f"<function=read><parameter=path>\n{body}\n</parameter><parameter=only>[1, 2]</parameter></function>"
    assert read(text)[1] == [("read", {"path": body, "only": [1, 2]})]


def test_values_in_values_keep_their_form_and_their_tags() -> None:
    schema = {
        "properties": {
            "edits": {"type": "array", "items": {"properties": {"line": {"type": "integer"}, "text": {}}}},
            "tags": {"type": "array"},
            "dry": {"type": "boolean"},
        }
    }
    told = (
        '<tool_call><invoke name="edit"><edits><item><line>3</line><text></p> <b>x</b></text></item>'
        "<item><line>4</line><text>y</text></item></edits><tags><item>a</item></tags><dry>true</dry></invoke></tool_call>"
    )
    text = told.replace("<", "]<]minimax[>[<").replace("]<]minimax[>[</p>", "</p>")
    text = text.replace("]<]minimax[>[<b>", "<b>").replace("]<]minimax[>[</b>", "</b>")
    edits = [{"line": 3, "text": "</p> <b>x</b>"}, {"line": 4, "text": "y"}]
    assert read(text, tools={"edit": schema}) == ("", [("edit", {"edits": edits, "tags": ["a"], "dry": True})])


@pytest.mark.parametrize(
    "text",
    [
        "```\n<tool_call>" + '{"name": "read", "arguments": {}}' + "</tool_call>\n```",
        "Write `<function=read>` to call it.",
        "<function=delete><parameter=path>a</parameter></function>",
        FORMS["Hermes"] + "\nThat was the call.",
        '<tool_call>{"name": "read", "arguments": {"path": </tool_call>',
        "<tool_call>",
        "A <tool_call> is a tag, and this sentence goes on and on. " * 9,
        FORMS["DeepSeek"].replace("read", "delete"),
        FORMS["DeepSeek"] + "\nThat was the call.",
        FORMS["Kimi"].replace("5}", "5"),
        "<|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>[1]<|tool_call_end|>",
        FORMS["MiniMax M3"].replace("]<]minimax[>[</path>", ""),
        FORMS["MiniMax M3"].replace("]<]minimax[>[</invoke>", ""),
        "]<]minimax[>[<tool_call>]<]minimax[>[" + '<invoke name="read">' + "]<]minimax[>[<a>" * 30,
        "Less than <, a fence ``` and `one`, <func",
    ],
)
@pytest.mark.parametrize("size", [1, 10_000])
def test_everything_else_stays_text(text: str, size: int) -> None:
    assert read(text, size=size) == (text, [])


def test_a_call_after_a_block_of_code_is_read() -> None:
    code = "```\n<tool_call>{}</tool_call>\n```\n"
    text, calls = read(code + FORMS["Hermes"], size=10_000)
    assert text == code and len(calls) == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_reply_that_was_cut_off_and_one_without_tools_are_text(form: str) -> None:
    assert read(FORMS[form], is_whole=False) == (FORMS[form], [])
    assert read(FORMS[form], tools={}) == (FORMS[form], [])


def test_text_that_only_looks_like_a_call_is_shown_while_it_streams() -> None:
    written = WrittenCalls(TOOLS)
    shown = "".join(written.take(word) for word in ["The tag <tool_call> "] + ["is what they use. "] * 30)
    assert "is what they use. " * 20 in shown


@given(
    st.lists(st.sampled_from([*OPENINGS, *FORMS.values(), "```", "`", "a", " ", "</parameter>", "{", "<"])), st.data()
)
def test_no_character_is_lost(parts: list[str], data: st.DataObject) -> None:
    text, size = "".join(parts), data.draw(st.integers(1, 50))
    shown, calls = read(text, size=size)
    assert text.startswith(shown)
    assert calls or shown == text


@pytest.mark.parametrize(
    "part",
    [
        "<｜DSML｜", "<|DSML|invoke name=", "<|tool_call_begin|>", "<|tool_call_begin|>read:",
        '<｜DSML｜invoke name="read"><｜DSML｜parameter name="path">', "]<]minimax[>[<a>", "]<]minimax[>[", "]<",
        ']<]minimax[>[<invoke name="read">', "<tool_call> ", "<function=read>", "<function=read><parameter=path>", "`",
        "`<tool_call>", "```<tool_call>",
    ],
)  # fmt: skip
def test_long_texts_take_no_longer_than_they_are_long(part: str) -> None:
    for characters, size in ((MAX_HELD_CHARS, 20), (1_000_000, 1_000_000)):
        began = time.perf_counter()
        read(part * (characters // len(part)), size=size)
        assert time.perf_counter() - began < 2
