"""What a client puts into a person's messages is no rule, title or question of the person."""

from __future__ import annotations

import pytest

from compression.core.facts.find import find_facts
from compression.core.text.statements import statements_of
from conversations.gateway.history import parse_history
from conversations.messages.boilerplate import places_in
from tests.gateway.caller import MARK, Caller
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
        ("This is the Qwen Code. We are setting up the context for our chat.\nMy operating system is: linux", ""),
        ("I have *added these files to the chat* so you can go ahead and edit them.\n\na.py\n```\nx = 1\n```", ""),
        ("I switched to a new code base. Please don't consider the above files or try to edit them any longer.", ""),
        ("Refactor hello() into its own file.", ""),
        ("Refactor hello() into its own file. Then test it.", "Refactor hello() into its own file. Then test it."),
        ("I said: This is the Qwen Code. We set up.", "I said: This is the Qwen Code. We set up."),
        ('<file path="a.py">\nx = 1\n</file> Explain.', "Explain."),
    ],
)
def test_the_person_typed_the_rest(text: str, typed: str) -> None:
    (line,) = parse_history([{"role": "user", "content": text}]).lines
    assert line.turn.typed.strip() == typed
    assert line.turn.content == text and line.raw[0]["content"] == text, "it is sent as it is"


def facts(*messages: dict[str, str]) -> set[str]:
    lines = parse_history([*messages]).lines
    return {fact.text for fact in find_facts(one for line in lines for one in statements_of(line.turn))}


def test_reminders_and_environments_have_no_facts_and_files_do() -> None:
    text = f"{AGENTS}\n{ENVIRONMENT}\n{REMINDER}\n<file path='a.py'>\nport = 5434\n</file>\nMove it to /srv/zebra."
    assert facts({"role": "user", "content": text}) == {"a.py", "5434", "/srv/zebra"}
    context = "This is the Gemini CLI. We are setting up the context for our chat.\nFolder: /srv/gnu"
    assert facts({"role": "user", "content": context}) == set()
    added = "I have *added these files to the chat* so you can go ahead and edit them.\n\nPort 8443 of /srv/yak."
    assert facts({"role": "user", "content": added}) == {"8443", "/srv/yak"}
    named = "<system-reminder>\nResult of calling the Read tool: the port is 8443\n</system-reminder>"
    assert facts({"role": "user", "content": named}) >= {"8443"}


def test_an_instruction_that_a_program_repeats_is_protected_once() -> None:
    repeated = {"role": "system", "content": "The task tools were not used recently. See /srv/tasks."}
    other = {"role": "system", "content": "Answer shortly."}
    said = {"role": "user", "content": "hi"}
    lines = parse_history([other, said, repeated, said, repeated, other, said]).lines
    assert [line.turn.protected for line in lines] == [False, True, False, False, False, False]
    assert facts(other, said, repeated, repeated) == {"/srv/tasks"}


def test_reminders_of_a_program_do_not_fill_the_window(caller: Caller) -> None:
    history = caller.history(61)
    reminder = {"role": "system", "content": f"Topic {caller.topic}: " + "the task tools were not used recently. " * 8}
    messages = [one for message in history for one in (message, reminder)]
    caller.ask(messages)  # it was refused as too large while each was protected
    assert any(str(one["content"]).startswith(MARK) for one in caller.sent)
    assert sum(one["content"] == reminder["content"] for one in caller.sent) < len(history) / 2


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
