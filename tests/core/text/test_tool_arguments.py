import json
from datetime import UTC, datetime

import pytest

from compression.core.citations.check import source_text
from compression.core.facts.find import find_facts
from compression.core.facts.restored_facts import with_facts
from compression.core.text.statements import statements_of
from compression.core.text.tool_arguments import argument_lines, arguments_of, plain_arguments
from compression.core.values import ToolUse, Turn


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ('{"path": "a.py", "text": "one\\ntwo \\"quoted\\""}', 'path="a.py"\ntext=one\ntwo "quoted"'),
        ('{"command": "ls -F"}', '"ls -F"'),
        ('{"path": "C:\\\\logs\\\\Köln.txt"}', 'path="C:\\logs\\Köln.txt"'),
        ('{"count": 3, "all": true, "names": ["a", "ü"]}', 'count=3\nall=true\nnames=["a", "ü"]'),
        ('{"empty": ""}', ""),
        ("{}", ""),
        ("not JSON\nat all", "not JSON\nat all"),
        ('["a list"]', '["a list"]'),
        ("", ""),
    ],
)
def test_arguments_are_lines_without_escapes(text: str, plain: str) -> None:
    assert plain_arguments(text) == plain


def test_a_text_that_is_no_object_is_one_argument() -> None:
    assert arguments_of("ls -F") == {"": "ls -F"}
    assert argument_lines("ls\n-F") == [("", ["ls", "-F"])]


@pytest.mark.parametrize("depth", [10, 300, 900, 5_000, 100_000])
def test_arguments_of_any_depth_are_read(depth: int) -> None:
    text = '{"value": ' + "[" * depth + "]" * depth + "}"
    assert plain_arguments(text) in (f"value={text[10:-1]}", text)


def test_a_fact_of_a_call_is_restored_as_the_tool_got_it() -> None:
    code = 'from datetime import timedelta\n\nobj = dict()\nprint("port 5433 of /srv/alpha/app.py")\n'
    call = ToolUse("call_1", "insert", json.dumps({"text": code}), "inserted")
    turn = Turn(
        id="1", role="assistant", content="", created_at=datetime(2026, 1, 5, tzinfo=UTC), tokens=60, tools=(call,)
    )
    facts = list(find_facts(statements_of(turn)))
    assert any(fact.text == "/srv/alpha/app.py" for fact in facts)
    assert "nobj" not in " ".join(fact.text for fact in facts)
    kept = with_facts("## Summary\nNothing.", facts)
    assert 'print("port 5433 of /srv/alpha/app.py")' in kept
    assert "\\n" not in kept
    assert call.arguments in source_text(turn) and code in source_text(turn)
