"""Codex, as it comes from npm, works through the gateway: nothing is set but the address, the key and the model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compression.core.tokens import count_tokens
from conversations.exchange.document import ImportedSource
from conversations.exchange.parse import sources
from tests.faults.serving import Served, serving
from tests.gateway.caller import MARK, Caller
from tests.gateway.conftest import SETTINGS

CODEX = os.environ.get("CODEX") or shutil.which("codex") or ""
pytestmark = pytest.mark.skipif(not CODEX, reason="Codex is not here: npm install -g @openai/codex")
WINDOW, STEPS = 32_000, 16
CONFIG = """
model = "scripted"
model_provider = "chatsite"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.chatsite]
name = "{name}"
base_url = "{url}"
env_key = "CHATSITE_KEY"
wire_api = "responses"

[analytics]
enabled = false
"""


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A site whose model has 32,000 tokens: what Codex says first takes 8,450."""
    settings = SETTINGS | {"OPENAI_CONTEXT_WINDOW": str(WINDOW)}
    with serving(tmp_path_factory.mktemp("site"), **settings) as site:
        yield site


@pytest.fixture
def caller(roomy: Served) -> Caller:
    roomy.llm.clear()
    return Caller(roomy)


class Codex:
    """The program with a home and a folder of its own."""

    def __init__(self, caller: Caller, folder: Path, *, name: str = "chatsite") -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        home = folder / "home"
        home.mkdir()
        (home / "config.toml").write_text(CONFIG.format(url=caller.url, name=name))
        self.environment = os.environ | {"CODEX_HOME": str(home), "CHATSITE_KEY": caller.served.key}

    def says(self, prompt: str, *more: str) -> list[dict[str, Any]]:
        """Its events while it carries out a prompt."""
        command = [CODEX, "exec", *more, "--json", "--skip-git-repo-check", prompt]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_codex_runs_a_command_and_goes_on(caller: Caller, tmp_path: Path) -> None:
    codex, llm = Codex(caller, tmp_path), caller.served.llm
    llm.enqueue("I look now.", calls=[("exec_command", json.dumps({"cmd": "echo made > here.txt; cat here.txt"}))])
    llm.enqueue("It is done.")
    items = items_of(codex.says("Make a file."))
    assert [item["text"] for item in items if item["type"] == "agent_message"] == ["I look now.", "It is done."]
    assert (codex.folder / "here.txt").read_text() == "made\n"
    (file,) = (tmp_path / "home" / "sessions").rglob("*.jsonl")
    (source,) = sources(file.read_bytes())
    assert isinstance(source, ImportedSource)
    said = [(line.content, [call.name for call in line.calls]) for line in source.lines]
    assert said == [("Make a file.", []), ("I look now.", ["exec_command"]), ("It is done.", [])]
    assert len(source.results) == 1


def test_codex_never_overflows_the_window(caller: Caller, tmp_path: Path) -> None:
    """Results of several windows: no request is too long, and no result is parted from its call."""
    codex, llm = Codex(caller, tmp_path), caller.served.llm
    for number in range(STEPS):
        llm.enqueue("", calls=[("exec_command", json.dumps({"cmd": f"echo code-{number}; seq 1000 2200"}))])
    llm.enqueue("It is done.")
    ran = items_of(codex.says("Count."))
    assert len([item for item in ran if item["type"] == "command_execution"]) == STEPS
    assert ran[-1]["text"] == "It is done."
    sent = [request.body["messages"] for request in llm.chats]
    assert max(count_tokens(json.dumps(messages)) for messages in sent) < WINDOW
    assert any(str(message["content"]).startswith(MARK) for message in sent[-1])
    assert f"code-{STEPS - 1}" in sent[-1][-1]["content"]
    for messages in sent:
        called: set[str] = set()
        for message in messages:
            called |= {call["id"] for call in message.get("tool_calls") or ()}
            assert message["role"] != "tool" or message["tool_call_id"] in called


def test_codex_goes_on_from_a_compaction_that_it_asks_for(caller: Caller, tmp_path: Path) -> None:
    codex, llm = Codex(caller, tmp_path, name="OpenAI"), caller.served.llm
    for number in range(3):
        llm.enqueue("", calls=[("exec_command", json.dumps({"cmd": f"echo code-{number}; seq 1000 2200"}))])
    llm.enqueue("It is done.")
    ran = items_of(codex.says("Count.", "-c", "model_auto_compact_token_limit=14000"))
    assert ran[-1]["text"] == "It is done."
    last = [(message["role"], str(message["content"])) for message in llm.chats[-1].body["messages"]]
    assert [content for role, content in last if role == "user"][-1].startswith(MARK)
    systems = [content for role, content in last if role == "system"]
    assert len(systems) == len(set(systems))
    assert "code-2" in last[-1][1] and len(llm.chats) == 4


def items_of(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event["item"] for event in events if event["type"] == "item.completed"]
