"""`python -m compression` compresses a JSON file with the engine alone: no Django, no site, no model."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from compression.__main__ import compressed

ROOT = Path(__file__).parents[2]

ALONE = """
import sys
for name in ("django", "openai", "conversations", "chatsite"):
    sys.modules[name] = None
sys.argv = ["compression", *sys.argv[1:]]
import runpy
runpy.run_module("compression", run_name="__main__")
"""


def said(count: int) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    talk = [
        {"role": roles[n % 2], "content": f"Message {n}: service{n} listens on port {5_000 + n}. " + "Well. " * 40}
        for n in range(count)
    ]
    return [{"role": "system", "content": "Answer shortly."}, *talk]


def run(folder: Path, given: Any, *options: str) -> subprocess.CompletedProcess[str]:
    """The program in a folder that has the package `compression` and nothing else of the site."""
    shutil.copytree(ROOT / "compression", folder / "compression", ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "chat.json"
    text = given if isinstance(given, str | bytes) else json.dumps(given)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    line = [sys.executable, "-c", ALONE, str(file), *options]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("is_object", [False, True])
def test_a_file_is_compressed_without_the_site(tmp_path: Path, is_object: bool) -> None:
    messages = said(61)
    done = run(tmp_path, {"messages": messages} if is_object else messages, "--window", "4000", "--reply", "800")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["after"] < found["before"] / 2 and found["after"] < 3_200
    system, summary, *kept = found["messages"]
    assert system == messages[0] and kept == messages[-len(kept) :]
    assert summary["role"] == "system" and "port 50" in summary["content"]
    assert found["summarised"] == 61 - len(kept)


def test_what_is_below_the_threshold_stays_as_it_is() -> None:
    messages = said(5)
    assert compressed(messages, window=8_000, reply=1_000, threshold=0.8) == {
        "messages": messages, "before": (tokens := compressed(messages, window=8_000, reply=1_000)["before"]),
        "after": tokens, "summarised": 0,
    }  # fmt: skip


def test_instructions_alone_stay_as_they_are() -> None:
    messages = said(0)
    assert compressed(messages, window=8_000, reply=1_000)["messages"] == messages


def test_results_stay_with_their_calls() -> None:
    messages = said(40)
    for number in range(40):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        result = {"role": "tool", "tool_call_id": f"c{number}", "content": f"file {number} " * 60}
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]}, result]
    found = compressed(messages, window=4_000, reply=800)
    called = {call["id"] for one in found["messages"] for call in one.get("tool_calls") or ()}
    answered = {one["tool_call_id"] for one in found["messages"] if one["role"] == "tool"}
    assert called == answered and 0 < len(called) < 40


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("{", "not valid JSON: Expecting property name"),
        (b"\xff\xfe", "not UTF-8 text, from byte 0 on."),
        ('{"role": "user", "content": "x"}\n{"role": ', "line 2: not valid JSON: Expecting value."),
        ("[" * 200_000, "not valid JSON: nested too deeply."),
        ([{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": 5}], "messages[1].tool_calls: must be"),
        ([{"role": "user", "content": "x", "created_at": "9999-12-31T23:59:59.999999"}] * 2, "messages[1].created_at:"),
        ([], "messages: must be a list of at least one message."),
        ([{"role": "boss"}], "messages[0].role: must be one of"),
        (["hi"], "messages[0].role: must be one of"),
        ([{"role": "user", "content": 3}], "messages[0].content: must be text or a list of parts."),
        (
            [{"role": "user", "content": "x", "created_at": "soon"}],
            "messages[0].created_at: must be a time in ISO 8601",
        ),
    ],
)
def test_bad_input_is_named_on_one_line(tmp_path: Path, given: Any, words: str) -> None:
    done = run(tmp_path, given)
    assert done.returncode == 1 and words in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("form", ["lines", "a byte order mark"])
def test_json_lines_and_a_byte_order_mark_are_read(tmp_path: Path, form: str) -> None:
    messages = [*said(61), {"role": "user", "content": "half of a pair: \ud83d"}]
    text = "\n".join(map(json.dumps, messages)) if form == "lines" else "\ufeff" + json.dumps(messages)
    done = run(tmp_path, text, "--window", "4000", "--reply", "800")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["messages"][-1] == {"role": "user", "content": "half of a pair: ?"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--window", "-5"), "--window: must be a whole number of tokens from 1 on"),
        (("--reply", "0"), "--reply: must be a whole number of tokens from 1 on"),
        (("--window", "100"), "for the reply do not fit a window of 100 tokens"),
    ],
)
def test_a_window_without_room_is_refused(tmp_path: Path, options: tuple[str, str], words: str) -> None:
    done = run(tmp_path, said(61), *options)
    assert done.returncode and words in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""
