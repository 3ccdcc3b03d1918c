"""Summaries as models write them, with headings and wrappings of their own, come into the standard form."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compression.core.errors import CompactionFailed
from compression.core.text.summary_forms import clean, without_closing
from compression.core.text.summary_text import accepted
from compression.core.values import SummariserOutput
from tests.growth import growth, repeated

SUMMARY = """## Summary
They set the port to 8443.

## Decisions
- Port 8443 (Ann)

## State
- Docs are missing"""
GERMAN = {"Summary": "Zusammenfassung", "Decisions": "Entscheidungen", "State": "Stand"}
CHINESE = {"Summary": "摘要", "Decisions": "决定", "State": "状态"}


def headed(heading: Callable[[str], str]) -> str:
    lines = SUMMARY.split("\n")
    return "\n".join(heading(line[3:]) if line.startswith("## ") else line for line in lines)


def read(text: str) -> str:
    return accepted(SummariserOutput(text, finished=True))


@pytest.mark.parametrize(
    "heading",
    [
        *("# {}", "###{}", "**{}**", "**{}:**", "{}:", "## {}:", "## {} ##", "### **{}**", "## 1. {}", "1. **{}**"),
        *("- **{}**:", "## 📝 {}", "## {} 📝", "[{}]", "* {} *", "<h2>{}</h2>", "{}\n-----", "{}\n=====", "##\u00a0{}"),
        *("## Key {}", "## {} of the conversation", "## {} so far"),
    ],
)
def test_headings_in_a_model_s_own_form_are_read(heading: str) -> None:
    assert read(headed(heading.format)) == SUMMARY


def test_headings_in_capitals_and_in_other_languages_are_read() -> None:
    assert read(headed(lambda name: f"## {name.upper()}")) == SUMMARY
    for names in (GERMAN, CHINESE):
        assert read(headed(lambda name, names=names: f"## {names[name]}")) == SUMMARY  # type: ignore[misc]


def test_text_in_the_line_of_a_heading_stands_below_it() -> None:
    text = "**Summary:** They set the port.\n\n**Decisions:**\n- Port 8443\n- State: open"
    assert read(text) == "## Summary\nThey set the port.\n\n## Decisions\n- Port 8443\n- State: open"


def test_words_that_are_headings_elsewhere_stay_words_beside_headings() -> None:
    text = f"{SUMMARY}\n\nContext:\n- **Files**\n- State: open"
    assert read(text) == text


@pytest.mark.parametrize(
    "wrapped",
    [
        "```markdown\n{}\n```",
        "Here it is:\n```\n{}\n```\n\nLet me know if you need changes!",
        "<summary>\n{}\n</summary>",
        "<analysis>\n## Summary\nA draft.\n## Decisions\n- x\n</analysis>\n<summary>\n{}\n</summary>\n",
        "<thinking>\n## Summary\nA draft.\n## State\nx</thinking>{}",
        "<|channel|>analysis<|message|>We must.<|end|><|channel|>final<|message|>{}<|return|>",
        "{}<|im_end|>",
        "{}</s>\n<|eot_id|>",
        "# Conversation summary\n\n---\n\n{}\n\n---\n\nWould you like me to go on with the docs?",
        "{}\n\n(Note: This summary has 45 words.)",
        "{}\n\nThis summary captures all decisions.\n\nShall I continue?",
        "    {}",
        "> {}",
    ],
)
def test_what_stands_around_a_summary_is_left_out(wrapped: str) -> None:
    indent = wrapped.removesuffix("{}") if wrapped.endswith(" {}") else ""
    assert read(wrapped.format(SUMMARY.replace("\n", f"\n{indent}"))) == SUMMARY
    assert read(wrapped.format(SUMMARY.replace("\n", f"\n{indent}")).replace("\n", "\r\n")) == SUMMARY


@pytest.mark.parametrize(
    "ending",
    [
        "\n- It strips `</think>` and `</summary>` tags",
        "\n```\nport = 8443\n```",
        "\n\n- Let me know is what Bob wrote",
        "\n\nThe last word was <b>",
    ],
)
def test_words_of_a_summary_that_look_like_a_wrapping_stay(ending: str) -> None:
    assert without_closing(clean(SUMMARY + ending)) == SUMMARY + ending


@pytest.mark.parametrize(
    "text", ["Summary and decisions follow.", '{"summary": "x"}', "Es tut mir leid.", "## Summary\nx"]
)
def test_what_is_no_summary_is_refused(text: str) -> None:
    with pytest.raises(CompactionFailed, match="headings"):
        read(text)


@pytest.mark.parametrize(
    "piece",
    [
        "summary ",
        "## ",
        "#1.",
        "key summary ",
        "> ",
        "\n\nlet me know",
        "<|a|>",
        "\n---",
        "<h2>",
        "summary of ",
        "\n```",
    ],
)
def test_any_text_is_cleaned_in_time_that_grows_with_its_length(piece: str) -> None:
    for after in ("", "x", "\nSummary:\nState:"):
        assert growth(clean, repeated(piece, after=after), start=12_500, largest=100_000).is_linear
        assert growth(without_closing, repeated(piece, after=after), start=12_500, largest=100_000).is_linear
