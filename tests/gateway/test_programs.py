"""Programs for code, as they come from npm, work through the gateway over several windows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from compression.core.tokens import count_tokens
from conversations.exchange.document import ImportedSource
from conversations.exchange.parse import sources
from conversations.llm.thinking.required_thoughts import PLACEHOLDER
from tests.faults.serving import Served, serving
from tests.gateway.caller import MARK, Caller, Messages
from tests.gateway.conftest import SETTINGS

CLAUDE = os.environ.get("CLAUDE") or shutil.which("claude") or ""
OPENCODE = os.environ.get("OPENCODE") or shutil.which("opencode") or ""
needs_claude = pytest.mark.skipif(
    not CLAUDE, reason="Claude Code is not here: npm install -g @anthropic-ai/claude-code"
)
WINDOW, STEPS = 64_000, 16
COUNTED = "echo code-{number}; seq 1000 3400"


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A site whose model has room for what these programs say first, some 20,000 tokens of tools."""
    settings = SETTINGS | {"OPENAI_CONTEXT_WINDOW": str(WINDOW)}
    with serving(tmp_path_factory.mktemp("site"), **settings) as site:
        yield site


@pytest.fixture
def caller(roomy: Served) -> Caller:
    roomy.llm.clear()
    return Caller(roomy)


def ran(command: list[str], folder: Path, **environment: str) -> str:
    home = folder / "home"
    home.mkdir(exist_ok=True)
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"HOME": str(home)} | environment, capture_output=True, text=True,
        timeout=240, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    return done.stdout


def require_bounded(caller: Caller) -> None:
    """No request was too long, no result is parted from its call, and a summary stands for what is left out."""
    sent: list[Messages] = [request.body["messages"] for request in caller.served.llm.chats]
    assert max(count_tokens(json.dumps(messages)) for messages in sent) < WINDOW
    assert any(MARK in str(message["content"]) for message in sent[-1])
    for messages in sent:
        called: set[str] = set()
        for message in messages:
            called |= {call["id"] for call in message.get("tool_calls") or ()}
            assert message["role"] != "tool" or message["tool_call_id"] in called


def claude(caller: Caller, folder: Path, prompt: str) -> str:
    """The last words of Claude Code after a prompt."""
    return ran(
        [CLAUDE, "-p", prompt, "--dangerously-skip-permissions"], folder,
        ANTHROPIC_BASE_URL=caller.served.site.url, ANTHROPIC_AUTH_TOKEN=caller.served.key, ANTHROPIC_MODEL="scripted",
        ANTHROPIC_SMALL_FAST_MODEL="scripted", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", IS_SANDBOX="1",
    ).strip()  # fmt: skip


@needs_claude
def test_claude_code_works_with_models_that_want_their_thoughts_and_write_calls_as_text(
    caller: Caller, tmp_path: Path
) -> None:
    llm = caller.served.llm
    written = "<parameter=command>\necho one > one.txt\n</parameter>\n<parameter=description>Writes</parameter>"
    llm.enqueue(f"I write.\n\n<function=Bash>\n{written}\n</function>\n</tool_call>")
    llm.enqueue(status=400, message="The reasoning_content in the thinking mode must be passed back to the API.")
    arguments = json.dumps({"command": "echo two > two.txt", "description": "Writes"})
    llm.enqueue("", thoughts="One more.", signature="c2lnbmVk", calls=[("Bash", arguments)])
    llm.enqueue("It is done.")
    assert claude(caller, tmp_path, "Write two files.") == "It is done."
    assert [(tmp_path / name).read_text() for name in ("one.txt", "two.txt")] == ["one\n", "two\n"]
    first, second = (one for one in llm.chats[-1].messages if one.get("tool_calls"))
    assert (first["reasoning_content"], second["reasoning_content"]) == (PLACEHOLDER, "One more.")
    assert second["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "c2lnbmVk"}}
    (file,) = (tmp_path / "home" / ".claude" / "projects").glob("*/*.jsonl")
    (source,) = sources(file.read_bytes())
    assert isinstance(source, ImportedSource)
    said = [(line.content.strip(), [call.name for call in line.calls]) for line in source.lines]
    assert said == [("Write two files.", []), ("I write.", ["Bash"]), ("", ["Bash"]), ("It is done.", [])]
    assert len(source.results) == 2


@needs_claude
def test_claude_code_never_overflows_the_window(caller: Caller, tmp_path: Path) -> None:
    for number in range(STEPS):
        arguments = {"command": COUNTED.format(number=number), "description": "Counts"}
        caller.served.llm.enqueue("", calls=[("Bash", json.dumps(arguments))])
    caller.served.llm.enqueue("It is done.")
    assert claude(caller, tmp_path, "Count.") == "It is done."
    require_bounded(caller)


@pytest.mark.skipif(not OPENCODE, reason="opencode is not here: npm install -g opencode-ai")
@pytest.mark.parametrize("package", ["@ai-sdk/openai-compatible", "@ai-sdk/anthropic"])
def test_opencode_never_overflows_the_window(caller: Caller, tmp_path: Path, package: str) -> None:
    models = {"scripted": {"name": "scripted", "limit": {"context": 200_000, "output": 8_000}}}
    options = {"baseURL": caller.url, "apiKey": caller.served.key}
    provider = {"npm": package, "name": "site", "options": options, "models": models}
    config = {"provider": {"site": provider}, "permission": "allow", "autoupdate": False, "share": "disabled",
              "small_model": "site/scripted"}  # fmt: skip
    (tmp_path / "opencode.json").write_text(json.dumps(config))
    for number in range(STEPS):
        arguments = {"command": COUNTED.format(number=number), "description": "Counts"}
        if number:
            caller.served.llm.enqueue("", calls=[("bash", json.dumps(arguments))])
        else:  # as models write it whose server does not know their form
            caller.served.llm.enqueue(f"<tool_call>{json.dumps({'name': 'bash', 'arguments': arguments})}</tool_call>")
    caller.served.llm.enqueue("It is done.", times=3)
    command = [OPENCODE, "run", "--model", "site/scripted", "--title", "Count", "Count."]
    said = ran(command, tmp_path, OPENCODE_CONFIG=str(tmp_path / "opencode.json"))
    assert "It is done." in said
    *_, called, result = caller.served.llm.chats[1].messages
    assert "code-0" in called["tool_calls"][0]["function"]["arguments"] and "3400" in result["content"]
    require_bounded(caller)


def command_of(program: str, caller: Caller, folder: Path) -> tuple[list[str], dict[str, str]]:
    """The command of a program that answers "Count the numbers.", and its environment; writes its settings."""
    url, key, prompt = caller.url, caller.served.key, "Count the numbers."
    home = folder / "home"
    if program == "qwen":
        options = ["--auth-type", "openai", "--openai-base-url", url, "--openai-api-key", key, "-m", "scripted", "-y"]
        return [program, *options, prompt], {}
    if program == "qwen by Messages":
        environment = {"ANTHROPIC_BASE_URL": caller.served.site.url, "ANTHROPIC_API_KEY": key}
        return ["qwen", "--auth-type", "anthropic", "-m", "scripted", "-y", prompt], environment
    if program == "pi":
        model = {"id": "scripted", "contextWindow": 200_000, "maxTokens": 8_000}
        provider = {"baseUrl": url, "api": "openai-completions", "apiKey": key, "models": [model]}
        (home / ".pi" / "agent").mkdir(parents=True)
        (home / ".pi" / "agent" / "models.json").write_text(json.dumps({"providers": {"site": provider}}))
        return [program, "-p", "--provider", "site", "--model", "scripted", prompt], {}
    if program == "cn":
        model = {"name": "scripted", "provider": "openai", "model": "scripted", "apiBase": url, "apiKey": key,
                 "capabilities": ["tool_use"], "defaultCompletionOptions": {"contextLength": 200_000}}  # fmt: skip
        (folder / "cn.yaml").write_text(
            json.dumps({"name": "t", "version": "1.0.0", "schema": "v1", "models": [model]})
        )
        return [program, "--config", str(folder / "cn.yaml"), "--auto", "-p", prompt], {}
    ran([program, "auth", "-p", "openai", "-k", key, "-m", "scripted", "-b", url], folder)
    return [program, "-P", "openai-compatible", "-m", "scripted", prompt], {}


@pytest.mark.parametrize(
    ("program", "package", "tool", "argument"),
    [
        ("qwen", "@qwen-code/qwen-code", "run_shell_command", "command"),
        ("qwen by Messages", "@qwen-code/qwen-code", "run_shell_command", "command"),
        ("pi", "@mariozechner/pi-coding-agent", "bash", "command"),
        ("cn", "@continuedev/cli", "Bash", "command"),
        ("cline", "cline", "run_commands", "commands"),
    ],
)
def test_other_programs_never_overflow_the_window(
    caller: Caller, tmp_path: Path, program: str, package: str, tool: str, argument: str
) -> None:
    if not shutil.which(program.split()[0]):
        pytest.skip(f"{program} is not here: npm install -g {package}")
    for number in range(STEPS):
        shell = COUNTED.format(number=number)
        arguments = {argument: [shell] if argument == "commands" else shell, "is_background": False}
        caller.served.llm.enqueue("", calls=[(tool, json.dumps(arguments))])
    caller.served.llm.enqueue("It is done.")
    (tmp_path / "home").mkdir()
    command, environment = command_of(program, caller, tmp_path)
    assert "It is done." in ran(command, tmp_path, **environment)
    require_bounded(caller)
