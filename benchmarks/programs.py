"""What programs from npm get through the gateway: `python -m benchmarks.programs`.

Codex, Claude Code and opencode, by its three packages, each carry out one task of 500 tool calls before a scripted
model that refuses what is longer than its window. Every 25th call prints a marker, and the model's summaries hold the
markers that they were shown. Counted are the calls that were refused, the requests longer than the window, the markers
that the last request lacks, the results without their calls, and the share of each request that begins as the one
before, between two compactions. Programs that are not on the path are named and left out.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.goals import end, note, sized
from tests.faults.serving import Served, serving
from tests.gateway.caller import MARK
from tests.llm_answers import Request

CALLS = sized(500, small=20)
MARKED = sized(25, small=5)
"""Every so many calls, a marker is printed."""
PREFIX_GOAL = 0.97
TASK = "Build it."
DONE = "It is done."
NEVER = 90_000_000
"""Tokens that no history has: the program never compacts by itself."""
SETTINGS = {"MODEL_TIMEOUT_SECONDS": "20", "MAX_CALLS_PER_USER": "32", "GATEWAY_RETRIES": "1"}

_MARKER = re.compile(r"marker-[0-9a-f]{6}")
_CODEX = """
model = "scripted"
model_provider = "chatsite"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
model_context_window = {never}
model_auto_compact_token_limit = {never}

[model_providers.chatsite]
name = "chatsite"
base_url = "{url}/v1"
env_key = "CHATSITE_KEY"
wire_api = "responses"

[analytics]
enabled = false
"""


@dataclass(frozen=True)
class Started:
    """A program's command, and what its environment has besides."""

    command: list[str]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Program:
    """A program before a model with a `window`; `start` makes its command from a folder and the site."""

    name: str
    executable: str
    window: int
    tool: tuple[str, str]
    """The name of the tool that runs a command, and of its parameter."""
    start: Callable[[Path, Served], Started]


def codex(folder: Path, site: Served) -> Started:
    (folder / "config.toml").write_text(_CODEX.format(url=site.site.url, never=NEVER))
    environment = {"CODEX_HOME": str(folder), "CHATSITE_KEY": site.key}
    return Started(["codex", "exec", "--json", "--skip-git-repo-check", TASK], environment)


def claude(folder: Path, site: Served) -> Started:
    environment = {
        "ANTHROPIC_BASE_URL": site.site.url,
        "ANTHROPIC_AUTH_TOKEN": site.key,
        "ANTHROPIC_MODEL": "scripted",
        "ANTHROPIC_SMALL_FAST_MODEL": "scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
    }
    return Started(["claude", "-p", TASK, "--dangerously-skip-permissions"], environment)


def opencode(package: str, output: int) -> Callable[[Path, Served], Started]:
    def start(folder: Path, site: Served) -> Started:
        options = {"baseURL": f"{site.site.url}/v1", "apiKey": site.key}
        model = {"name": "scripted", "limit": {"context": NEVER, "output": output}}
        provider = {"npm": package, "name": "site", "options": options, "models": {"scripted": model}}
        config = {"provider": {"site": provider}, "permission": "allow", "autoupdate": False, "share": "disabled",
                  "small_model": "site/scripted"}  # fmt: skip
        (folder / "opencode.json").write_text(json.dumps(config))
        command = ["opencode", "run", "--model", "site/scripted", "--title", "Build", TASK]
        return Started(command, {"OPENCODE_CONFIG": str(folder / "opencode.json")})

    return start


BASH = ("bash", "command")
PROGRAMS = (
    Program("Codex, Responses", "codex", 32_000, ("exec_command", "cmd"), codex),
    Program("Claude Code, Messages", "claude", 64_000, ("Bash", "command"), claude),
    Program("opencode, Messages, 32,000 a reply", "opencode", 64_000, BASH, opencode("@ai-sdk/anthropic", 32_000)),
    Program("opencode, Responses", "opencode", 64_000, BASH, opencode("@ai-sdk/openai", 16_000)),
    Program("opencode, chat completions", "opencode", 64_000, BASH, opencode("@ai-sdk/openai-compatible", 8_000)),
)


def main() -> None:
    for program in PROGRAMS:
        if shutil.which(program.executable) is None:
            print(f"{program.name}: not measured, {program.executable} is not installed")
            continue
        with tempfile.TemporaryDirectory(prefix="chatsite-bench-") as folder:
            lived(program, Path(folder))


def lived(program: Program, folder: Path) -> None:
    for name in ("site", "work", "home"):
        (folder / name).mkdir()
    with serving(folder / "site", **SETTINGS, OPENAI_CONTEXT_WINDOW=str(program.window)) as site:
        site.llm.ends_at, site.llm.default_summary = program.window, summary_with_markers
        for number in range(CALLS):
            tool, parameter = program.tool
            site.llm.enqueue("", calls=[(tool, json.dumps({parameter: command_of(number), "description": "Builds"}))])
        site.llm.enqueue(DONE, times=3)
        started = program.start(folder / "home", site)
        environment = os.environ | {"HOME": str(folder / "home")} | dict(started.environment)
        began = time.perf_counter()
        done = subprocess.run(
            started.command, cwd=folder / "work", env=environment, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, timeout=1_200,
        )  # fmt: skip
        seconds = time.perf_counter() - began
        is_done = done.returncode == 0 and DONE in done.stdout
        refused = sum(row["status"] != 200 for row in rows_of(folder / "site"))
        told(program, site.llm.chats, seconds, refused=refused + (not is_done))


def told(program: Program, requests: list[Request], seconds: float, *, refused: int) -> None:
    sent = [request for request in requests if any(message.get("tool_calls") for message in request.messages)]
    over = sum(request.tokens > program.window for request in requests)
    last = json.dumps(sent[-1].body)
    lost = [number for number in range(0, CALLS, MARKED) if marker(number) not in last]
    between = [(one, other) for one, other in pairwise(sent) if head_of(one) == head_of(other)]
    alike, whole = map(sum, zip(*(shared(one, other) for one, other in between), strict=True))
    figures = {"refused": refused, "over the window": over, "markers lost": len(lost), "parted": parted(sent)}
    missed = "; ".join(f"{number} {what}" for what, number in figures.items() if number)
    missed += "" if alike >= PREFIX_GOAL * whole else f"; prefix {alike / whole:.3f}"
    words = ", ".join(f"{number} {what}" for what, number in figures.items())
    compactions = len(sent) - 1 - len(between)
    print(
        f"{program.name}, {program.window:,}: {len(requests)} calls in {seconds:.0f} s, {compactions} compactions, "
        f"{words} of {len(range(0, CALLS, MARKED))}, prefix {alike / whole:.3f}"
        + note(not missed, f"{program.name}: {missed}")
    )


def marker(number: int) -> str:
    return f"marker-{hashlib.sha256(str(number).encode()).hexdigest()[:6]}"


def command_of(number: int) -> str:
    marked = f"echo 'the build wrote {marker(number)}'; " if number % MARKED == 0 else ""
    line = f"step {number} file_$i.py compiled in $((i*{number + 3}%97)) ms, unit $((i*7+{number})) of module_$((i%9))"
    return f'{marked}for i in $(seq 1 60); do echo "{line}"; done'


def summary_with_markers(request: Request) -> str:
    markers = dict.fromkeys(_MARKER.findall(request.text))
    lines = "\n".join(f"- Done: the build wrote {one}." for one in markers)
    return f"## Summary\nThe build goes on.\n\n## State\n{lines or '- Done: a part of the build.'}"


def head_of(request: Request) -> str:
    """The summary in a request; "" without one."""
    return next((str(one["content"]) for one in request.messages if MARK in str(one.get("content"))), "")


def shared(one: Request, other: Request) -> tuple[int, int]:
    """(characters with which both requests begin, characters of the first)."""
    first, second = ("".join(json.dumps(message) for message in request.messages) for request in (one, other))
    places = (at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    return next(places, min(len(first), len(second))), len(first)


def parted(requests: Iterable[Request]) -> int:
    """Results that stand before their calls, or without them."""
    found = 0
    for request in requests:
        called: set[Any] = set()
        for message in request.messages:
            called |= {call["id"] for call in message.get("tool_calls") or ()}
            found += message["role"] == "tool" and message["tool_call_id"] not in called
    return found


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """The calls that the site recorded."""
    with sqlite3.connect(next(folder.rglob("*.sqlite3"))) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute("SELECT status FROM conversations_gatewaycall")]


if __name__ == "__main__":
    main()
    end()
