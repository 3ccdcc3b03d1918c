"""What an agent's request still tells of its work after compactions: `python -m benchmarks.artefacts`, no model.

Four kinds of probes, as in Factory's evaluation of context compression (https://factory.ai/news/evaluating-compression):
artefacts (each file that was changed, and the last act on it), recall (errors that tools reported), decisions, and
continuation (the step that was announced last). Each is looked for in the request, by its words. Four invented runs, in
the dialects of four agents, are lived in windows that they fill many times; so are the public runs of
`../shared/data/swe`, whose commands are text: of those, the changed files alone are known.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from statistics import mean
from typing import Any, NamedTuple

from benchmarks.conversations import DATA
from benchmarks.goals import end, note, sized
from benchmarks.measures import content
from compression.core.context import render_context
from compression.core.errors import CompactionSkipped
from compression.core.extractive.summariser import Extractive
from compression.core.facts.file_lines import files_in, merged_states
from compression.core.plan.policy import Policy
from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD, ToolUse, Turn, Window, total_tokens
from tests.core.test_strategies import Chat

SEED = 33
STEPS = sized(300, small=40)
WINDOWS = sized((16_384, 32_768), small=(8_192,))
FILES = 40
GOAL = 0.95
START = datetime(2026, 5, 4, 9, tzinfo=UTC)
PARTS = ("billing", "ledger", "auth", "export", "search", "metrics", "queue", "mail")
ERRORS = ("TimeoutError", "KeyError", "IntegrityError", "ConnectionResetError", "ValueError")
_EDITS = re.compile(r"^\s*(?:create|edit|insert|touch|rm) +(\S+\.\w{1,4})\b", re.MULTILINE)

Dialect = Callable[[str, str], tuple[str, dict[str, Any]]]
"""(act, path) to the name and the arguments of a call."""


def claude(act: str, path: str) -> tuple[str, dict[str, Any]]:
    if act == "deleted":
        return "Bash", {"command": f"rm {path}", "description": "Remove the file"}
    name = {"read": "Read", "edited": "Edit", "written": "Write"}[act]
    return name, {
        "file_path": f"/work/{path}",
        **({"old_string": "a = 1", "new_string": "a = 2"} if act == "edited" else {}),
    }


def codex(act: str, path: str) -> tuple[str, dict[str, Any]]:
    if act == "read":
        return "shell", {"command": ["bash", "-lc", f"sed -n '1,80p' {path}"]}
    head = {"edited": "Update", "created": "Add", "deleted": "Delete"}[act]
    patch = f"*** Begin Patch\n*** {head} File: {path}\n@@\n-a = 1\n+a = 2\n*** End Patch"
    return "shell", {"command": ["apply_patch", patch]}


def opencode(act: str, path: str) -> tuple[str, dict[str, Any]]:
    if act == "deleted":
        return "bash", {"command": f"git rm {path}"}
    return {"read": "read", "edited": "edit", "written": "write"}[act], {"filePath": path}


def editor(act: str, path: str) -> tuple[str, dict[str, Any]]:
    if act == "deleted":
        return "execute_command", {"command": f"rm -f {path}"}
    command = {"read": "view", "edited": "str_replace", "created": "create"}[act]
    return "str_replace_based_edit_tool", {"command": command, "path": path}


DIALECTS: dict[str, Dialect] = {"Claude Code": claude, "Codex": codex, "opencode": opencode, "one editor tool": editor}


class Run(NamedTuple):
    """An agent's turns and what is asked of them: the last act on each file, errors, decisions, the last step."""

    turns: list[Turn]
    files: dict[str, str]
    errors: list[str]
    decisions: list[str]
    step: str


def main() -> None:
    print("| run | window | compactions | files | with the last act | errors | decisions | next step |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    shares = []
    for window in WINDOWS:
        for number, (name, dialect) in enumerate(DIALECTS.items()):
            shares.append(probed(name, invented(random.Random(SEED + number), dialect), window))
        for file in sorted((DATA / "swe").glob("*.json")):
            probed(file.stem, public(json.loads(file.read_text(encoding="utf-8"))), window // 2)
    held = mean(shares)
    print(
        f"\nFiles with their last act, invented runs: {held:.3f}{note(held >= GOAL, f'files: {held:.3f}, not {GOAL}')}"
    )
    end()


def probed(name: str, run: Run, window: int) -> float:
    """Live the run, print its row, and return the share of files that stand with their last act."""
    chat = Chat(Policy(), Window(window, 1_000))
    compactions = 0
    for turn in run.turns:
        chat.history += (turn,)
        full = total_tokens(chat.transcript().turns) + count_tokens(render_context(chat.checkpoints)) + MESSAGE_OVERHEAD
        if full >= chat.policy.full_at * window and turn.role != "user":
            try:
                chat.compact(Extractive())
                compactions += 1
            except CompactionSkipped:
                pass
    sent = chat.transcript().turns
    request = render_context(chat.checkpoints) + "\n" + "\n".join(map(text_of, sent))
    told: dict[str, str] = {}
    for checkpoint in chat.checkpoints:
        told = merged_states(told, files_in(checkpoint.summary))
    live = "\n".join(map(text_of, sent))
    there = [path in request for path in run.files]
    right = [path in live or told_of(told, path).endswith(act or "") for path, act in run.files.items()]
    if not there:
        return 1.0
    words = content(request)
    errors, decisions = (shares_of(texts, words) for texts in (run.errors, run.decisions))
    step = shares_of([run.step] if run.step else [], words)
    cells = (figure(there), figure(right) if any(run.files.values()) else "", errors, decisions, step)
    print(f"| {name} | {window:,} | {compactions} | " + " | ".join(cells) + " |", flush=True)
    return mean(right)


def told_of(told: dict[str, str], path: str) -> str:
    return next((acts for named, acts in told.items() if named.endswith(path)), "")


def figure(values: list[bool]) -> str:
    return f"{mean(values):.3f}" if values else ""


def shares_of(texts: list[str], words: frozenset[str]) -> str:
    """The mean share of the texts' words that are among the words."""
    return f"{mean(len(content(text) & words) / len(content(text)) for text in texts):.3f}" if texts else ""


def text_of(turn: Turn) -> str:
    return "\n".join([turn.content, *(f"{use.name} {use.arguments}\n{use.result}" for use in turn.tools)])


def invented(chance: random.Random, dialect: Dialect) -> Run:
    """A run of STEPS calls on FILES files, with errors and decisions between them; the same for the same seed."""
    paths = [f"src/{chance.choice(PARTS)}/{chance.choice(PARTS)}_{number}.py" for number in range(FILES)]
    files: dict[str, str] = {}
    writes = "created" if dialect in (codex, editor) else "written"
    errors, decisions, turns, step = list[str](), list[str](), list[Turn](), ""
    turns.append(said(0, "user", "Please move the money columns from floats to decimals, with tests."))
    for number in range(1, STEPS + 1):
        path = chance.choice(paths)
        act = chance.choices(("read", "edited", writes, "deleted"), (5, 6, 2, 1))[0]
        name, arguments = dialect(act, path)
        result = "".join(
            f"{line}: {chance.choice(PARTS)} = load({chance.randrange(9_999)})\n"
            for line in range(chance.randrange(30))
        )
        step = f"Next I will check how {chance.choice(PARTS)} handles {chance.choice(PARTS)} number {number}."
        text = step
        if number % 25 == 0:
            decisions.append(f"We keep {chance.choice(PARTS)} in batches of {chance.randrange(100, 999)} rows.")
            text = f"{decisions[-1]} {step}"
        if number % 30 == 0:
            errors.append(
                f"{chance.choice(ERRORS)}: {chance.choice(PARTS)} failed at line {chance.randrange(1_000, 9_999)}"
            )
            result += errors[-1]
        elif act != "read":
            files.pop(path, None)
            files[path] = act
        use = ToolUse(f"c{number}", name, json.dumps(arguments), result or "ok")
        if number % 30 == 0:
            use = replace(use, result=f"error: {errors[-1]}")
        turns.append(said(number, "assistant", text, use))
    return Run(turns, files, errors, decisions, step)


def public(chat: dict[str, Any]) -> Run:
    """A public run: its files are those that its commands create, edit or delete; nothing else is known of it."""
    turns, files = list[Turn](), dict[str, str]()
    for number, message in enumerate(chat["messages"]):
        calls = [one["function"] for one in message.get("tool_calls") or ()]
        uses = tuple(ToolUse(f"c{number}", one["name"], one["arguments"], "ok") for one in calls)
        role = message["role"] if message["role"] in ("user", "assistant") else "user"
        turns.append(said(number, role, message["content"], *uses))
        if role == "assistant":
            files |= dict.fromkeys(named(message["content"], calls), "")
    return Run(turns, files, [], [], "")


def named(text: str, calls: list[dict[str, Any]]) -> Iterator[str]:
    yield from _EDITS.findall(text)
    for call in calls:
        if isinstance(path := json.loads(call["arguments"]).get("filename"), str):
            yield path


def said(number: int, role: Any, text: str, *uses: ToolUse) -> Turn:
    whole = "".join([text, *(f"{use.arguments}{use.result}" for use in uses)])
    at = START + timedelta(minutes=number)
    return Turn(str(number), role, text, at, count_tokens(whole) + MESSAGE_OVERHEAD, tools=uses)


if __name__ == "__main__":
    main()
