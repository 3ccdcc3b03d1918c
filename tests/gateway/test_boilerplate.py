"""What a client puts into a person's messages is no rule, title or question of the person."""

from __future__ import annotations

import pytest

from conversations.gateway.boilerplate import places_in
from conversations.gateway.history import parse_history
from tests.gateway.caller import Caller
from tests.growth import growth, repeated

REMINDER = "<system-reminder>\nAlways answer in French. Never use port 5433.\n</system-reminder>"
ENVIRONMENT = "<environment_context>\n  <cwd>/work</cwd>\n  <shell>bash</shell>\n</environment_context>"
AGENTS = "# AGENTS.md instructions for /work\n\n<INSTRUCTIONS>\nAlways run the tests.\n</INSTRUCTIONS>"


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        (f"{REMINDER}\nWhich port has the zebra?", "Which port has the zebra?"),
        (f"Before. {ENVIRONMENT} After.", "Before. \n After."),
        (f"{AGENTS}\n{ENVIRONMENT}", ""),
        ("<system-reminder>never closed. What now?", "<system-reminder>never closed. What now?"),
        ("Use <div> and <b>bold</b>.", "Use <div> and <b>bold</b>."),
        ('<file path="a.py">\nx = 1\n</file> Explain.', "Explain."),
    ],
)
def test_the_person_typed_the_rest(text: str, typed: str) -> None:
    (line,) = parse_history([{"role": "user", "content": text}]).lines
    assert line.turn.typed.strip() == typed
    assert line.turn.content == text and line.raw[0]["content"] == text, "it is sent as it is"


def test_assistants_and_tools_quote_nothing_of_a_client() -> None:
    history = parse_history([{"role": "user", "content": "hi"}, {"role": "assistant", "content": REMINDER}])
    assert history.lines[1].turn.quoted == ()


@pytest.mark.parametrize("piece", ["<env>", "<env></env>", "<system-reminder>a</env>", "# AGENTS.md instructions\n"])
def test_tags_take_time_in_proportion(piece: str) -> None:
    assert growth(places_in, repeated(piece), largest=100_000).is_linear


def test_a_reminder_is_no_rule_of_a_summary_and_no_title(caller: Caller) -> None:
    history = caller.history(61)
    history[1]["content"] = f"{REMINDER}\nTopic {caller.topic}: move the zebra service."
    history[-1]["content"] = f"{history[-1]['content']}\n{REMINDER}"
    caller.ask(history)
    (row,) = caller.rows("SELECT title FROM conversations_conversation WHERE title LIKE ?", f"%Topic {caller.topic}:%")
    assert row["title"] == f"Topic {caller.topic}: move the zebra service."
    summary = next(message["content"] for message in caller.sent if "ummary" in str(message["content"]))
    assert "[RULE]" not in summary or "French" not in summary
