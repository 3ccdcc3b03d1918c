"""Servers of tools: a real one from PyPI, one over HTTP, and many that do what a server must not."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CallToolResult

from conversations.agents.tools.mcp.definitions import MAX_SCHEMA_CHARS, changed, look
from conversations.agents.tools.mcp.lenient_results import repaired
from conversations.agents.tools.mcp.results import result_text
from conversations.agents.tools.mcp.sessions import Sessions, definitions
from conversations.llm.tools import ToolFailed
from conversations.models import ToolServer
from tests.agents.http_servers import Answering, answering, real_server
from tests.llm_server import closed_port

pytestmark = pytest.mark.once

BAD = f"{sys.executable} {Path(__file__).parent / 'bad_server.py'}"
SECRET = "sekret-123"


def server(how: str = "", **fields: Any) -> ToolServer:
    """One that answers within a second, or is given up."""
    usual = {"pk": 1, "name": "bad", "command": f"{BAD} {how}", "environment": f"TOKEN={SECRET}", "timeout_seconds": 20}
    return ToolServer(**usual | fields)


def at(url: str, **fields: Any) -> ToolServer:
    return server(transport="http", url=url, **fields)


async def failure(sessions: Sessions, row: ToolServer, tool: str, what: object = "") -> str:
    with pytest.raises(ToolFailed) as failed:
        await sessions.call(row, tool, {"what": str(what)})
    assert SECRET not in str(failed.value)
    return str(failed.value)


async def refusal(row: ToolServer) -> str:
    with pytest.raises(ToolFailed) as failed:
        await definitions(row)
    return str(failed.value)


def is_alive(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    return False


def have_ended(pids: list[int]) -> bool:
    """Soon: who is killed ends a moment later."""
    until = time.monotonic() + 10
    while any(map(is_alive, pids)) and time.monotonic() < until:
        time.sleep(0.01)
    return not any(map(is_alive, pids))


async def pids(sessions: Sessions, row: ToolServer) -> list[int]:
    """Of the server, and of a child that it started."""
    return [int(pid) for pid in (await sessions.call(row, "child", {})).split()]


@asynccontextmanager
async def loop_held() -> AsyncIterator[list[float]]:
    """The seconds that the loop worked between two of its beats, the longest first, once this has ended: of its own
    thread alone, whatever else the machine does meanwhile."""
    times: list[float] = []

    async def beat() -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.005)
            times.append(time.thread_time() - before)

    task = asyncio.create_task(beat())
    try:
        yield times
    finally:
        await asyncio.sleep(0.01)  # the beat that was held, if one was, ends before it is looked at
        task.cancel()
        times.sort(reverse=True)


@pytest.fixture(scope="module")
def http_server() -> Iterator[str]:
    with real_server() as url:
        yield url


async def test_a_real_server_is_asked_what_it_offers_and_called() -> None:
    row = server(name="time", command=f"{sys.executable} -m mcp_server_time", environment="", timeout_seconds=20)
    async with Sessions() as sessions:
        offered = await sessions.look(row)
        assert [tool["name"] for tool in offered.tools] == ["get_current_time", "convert_time"]
        assert offered.tools[0]["parameters"]["properties"].keys() == {"timezone"}
        told = json.loads(await sessions.call(row, "get_current_time", {"timezone": "Asia/Tokyo"}))
        assert (told["timezone"], told["datetime"][-6:]) == ("Asia/Tokyo", "+09:00")
        with pytest.raises(ToolFailed, match="nowhere"):
            await sessions.call(row, "get_current_time", {"timezone": "nowhere"})


async def test_a_server_over_http_is_called_by_many_at_once_with_its_headers(http_server: str) -> None:
    row = at(http_server, headers=f"Authorization=Bearer {SECRET}\nX-Team=blue=1")
    async with Sessions() as sessions:
        sums = await asyncio.gather(*(sessions.call(row, "add", {"a": n, "b": 1}) for n in range(20)))
        assert sums == [str(n + 1) for n in range(20)]
        assert await sessions.call(row, "header", {"name": "authorization"}) == f"Bearer {SECRET}"
        assert await sessions.call(row, "header", {"name": "x-team"}) == "blue=1"
        assert len((await sessions.look(row)).tools) == 3


async def test_one_process_serves_all_calls_of_a_turn_and_ends_with_it() -> None:
    row = server()
    async with Sessions() as sessions:
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(sessions.call(row, "echo", {"what": str(n)})) for n in range(50)]
        assert [call.result() for call in calls] == [str(n) for n in range(50)]
        first, second = await pids(sessions, row), await pids(sessions, row)
        assert first[0] == second[0] and all(map(is_alive, first + second))
    assert have_ended(first + second)


async def test_no_process_is_left_when_a_turn_is_cancelled_in_the_middle_of_a_call() -> None:
    row, started = server(), list[int]()

    async def turn() -> None:
        async with Sessions() as sessions:
            started.extend(await pids(sessions, row))
            await sessions.call(row, "hang", {})

    task = asyncio.create_task(turn())
    while not started:
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.sleep(0.05)
    task.cancel()  # whoever stops it twice does not stop the closing
    with pytest.raises(asyncio.CancelledError):
        await task
    assert have_ended(started)


async def test_no_process_is_left_when_the_loop_is_shut_down() -> None:
    started = list[int]()

    async def turn() -> None:
        async with Sessions() as sessions:
            started.extend(await pids(sessions, server()))
            await asyncio.sleep(60)

    async def main() -> None:
        asyncio.get_running_loop().create_task(turn())
        while not started:
            await asyncio.sleep(0.01)

    await asyncio.to_thread(asyncio.run, main())
    assert have_ended(started)


async def test_what_a_tool_gives_is_told_as_text_and_what_is_no_text_is_named() -> None:
    async with Sessions() as sessions:
        assert await sessions.call(server(), "binary", {}) == (
            "see:\n[image: image/png, 12,345 bytes]\n[audio: audio/wav, 12,345 bytes]\n"
            "[file: application/pdf, 12,345 bytes]\n[file:///a.txt]\nwords\n[link: more, https://example.com/more]"
        )
        assert await sessions.call(server(), "structured", {"what": "same"}) == '{"rows": [1, 2]}'
        assert await sessions.call(server(), "structured", {"what": "else"}) == 'two rows\n{"rows": [1, 2]}'
        assert await sessions.call(server(), "echo", {}) == "[The tool gave nothing back.]"
        long = await sessions.call(server(), "text", {"what": "300000"})
        assert long.startswith("x" * 200_000 + "\n[Cut: the tool gave 300,000 characters") and len(long) < 200_100


async def test_a_server_sees_nothing_of_ours_but_what_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ours")
    async with Sessions() as sessions:
        seen = json.loads(await sessions.call(server(), "environment", {}))
    assert seen["TOKEN"] == SECRET and "PATH" in seen
    assert not {"OPENAI_API_KEY", "SECRET_KEY", "DJANGO_SETTINGS_MODULE", "DATA_DIR"} & seen.keys()


async def test_a_command_is_never_read_by_a_shell(tmp_path: Path) -> None:
    path = tmp_path / "made"
    assert "ended with status 0" in await refusal(server(command=f"echo $HOME; touch {path} && touch {path}"))
    assert not path.exists()


async def test_no_half_of_a_secret_is_left_where_what_a_server_says_is_cut() -> None:
    row = server(timeout_seconds=20, max_characters=100)
    async with Sessions() as sessions:
        for tool, most in (("error", 300), ("is_error", 100)):
            words = await failure(sessions, row, tool)
            before = len(words.partition(": ")[2] if tool == "error" else words) - 1 - (tool == "error")
            told = await failure(sessions, row, tool, "x" * (most - before - 5))
            assert "x" * 60 in told and SECRET[:3] not in told


async def test_a_server_that_fails_says_so_and_the_next_call_is_made() -> None:
    row = server(timeout_seconds=20)
    async with Sessions() as sessions:
        for tool, words in (
            ("error", "The server bad says: no such thing as …."),
            ("is_error", "it went wrong with …"),
            ("nonsense", "The server bad answered with what the protocol does not know."),
            ("die", "The server bad ended with status 3."),
        ):
            assert await failure(sessions, row, tool) == words
            assert await sessions.call(row, "echo", {"what": "still here"}) == "still here"
        assert await sessions.call(row, "die_after", {}) == "goodbye"
        while not sessions._current[row.pk].is_over:
            await asyncio.sleep(0.01)
        assert await sessions.call(row, "echo", {"what": "back"}) == "back"
        assert await sessions.call(row, "noise", {"what": "50"}) == "after the noise"


async def test_a_program_that_hangs_is_started_anew_for_the_next_call() -> None:
    row = server(timeout_seconds=4)
    async with Sessions() as sessions:
        hung = await pids(sessions, row)
        assert await failure(sessions, row, "hang") == "The server bad did not answer within 4 s."
        assert (await pids(sessions, row))[0] != hung[0]
        assert await asyncio.to_thread(have_ended, hung)


async def test_a_call_that_takes_too_long_takes_no_other_one_with_it(http_server: str) -> None:
    row = at(http_server, timeout_seconds=3)
    async with Sessions() as sessions:
        late = asyncio.create_task(sessions.call(row, "wait", {"seconds": 30}))
        await asyncio.sleep(1.8)
        other = asyncio.create_task(sessions.call(row, "wait", {"seconds": 1.8}))
        with pytest.raises(ToolFailed, match="did not answer within 3 s"):
            await late
        assert not other.done()
        assert await sessions.call(row, "add", {"a": 1, "b": 1}) == "2"
        assert await other == "waited"


@pytest.mark.parametrize(
    ("tool", "what", "words"),
    [
        ("large", 50, "sent more than 8 MB at once"),
        ("blocks", 100_000, "lists and objects at once"),
        ("noise", 20_000, "what are no messages of the protocol"),
    ],
)
async def test_a_server_that_sends_too_much_is_ended_and_the_loop_is_never_held(
    tool: str, what: int, words: str
) -> None:
    async with Sessions() as sessions:
        await sessions.call(server(), "echo", {})
        async with loop_held() as held:
            assert words in await failure(sessions, server(), tool, what)
        assert held[0] < 0.2
        assert await sessions.call(server(), "echo", {"what": "again"}) == "again"


@pytest.mark.parametrize(("tool", "what"), [("text", 7_000_000), ("nested", 9_000), ("blocks", 9_000)])
async def test_the_most_that_is_read_holds_the_loop_for_no_time_that_is_felt(tool: str, what: int) -> None:
    async with Sessions() as sessions:
        await sessions.call(server(), "echo", {})
        async with loop_held() as held:
            assert await sessions.call(server(), tool, {"what": str(what)})
    assert held[0] < 0.5


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"command": "/no/such/program"}, "cannot be started: there is no such program"),
        ({"command": "/etc/passwd"}, "cannot be started"),
        ({"command": "it's"}, "cannot be started"),
        ({"command": f"{BAD} exit"}, "ended with status 1"),
        ({"command": f"{BAD} garbage"}, "writes to its output what are no messages of the protocol"),
        ({"command": f"{BAD} silent", "timeout_seconds": 1}, "did not answer within 1 s"),
    ],
)
async def test_a_server_that_cannot_be_had_says_why(fields: dict[str, Any], words: str) -> None:
    assert await refusal(server(**fields)) == f"The server bad {words}."


async def test_a_server_over_http_that_misbehaves_is_told_from_one_that_is_not_there(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with answering() as url, closed_port() as closed:
        secret = {"headers": f"Authorization={SECRET}"}
        assert await refusal(at(closed)) == "The server bad cannot be reached."
        assert await refusal(at(f"{url}locked", **secret)) == "The server bad answered with the HTTP status 401."
        assert "text/html" in await refusal(at(f"{url}page", **secret))
        async with Sessions() as sessions:
            for number, (how, words) in enumerate(
                (
                    ("large", "sent more than 8 MB at once"),
                    ("events", "sent more than 8 MB at once"),
                    ("half", "broke off the connection"),
                    ("packed", "sent a packed answer, which was not asked for"),
                    ("broken", "answered with what the protocol does not know"),
                    ("resets", "broke off the connection"),
                )
            ):
                row = at(f"{url}{how}", pk=number, **secret)
                assert await failure(sessions, row, "any") == f"The server bad {words}."
            assert await sessions.call(at(f"{url}forgets", pk=99), "any", {}) == "here"
            lost = await failure(sessions, at(f"{url}lost", pk=98), "any")
            assert lost == "The server bad answered with the HTTP status 404."
            streamless = await failure(sessions, at(f"{url}streamless", pk=97), "any")
            assert streamless == "The server bad answered with the HTTP status 500."
    assert Answering.calls["forgets"] == Answering.calls["lost"] == 2 and Answering.calls["streamless"] == 1
    assert SECRET not in caplog.text
    assert not [record for record in caplog.records if record.name.startswith("mcp")]


async def test_neither_an_environment_nor_a_header_is_in_what_is_shown_of_a_connection() -> None:
    async with Sessions() as sessions:
        await sessions.call(server(), "echo", {})
        (connection,) = sessions._opened
        assert SECRET not in repr(connection) + repr(vars(connection)) + repr(sessions.__dict__)


async def test_what_a_server_says_of_its_tools_is_bounded() -> None:
    found = await definitions(server())
    assert [tool["name"] for tool in found.tools] == ["echo", "silent"]
    assert len(found.tools[0]["description"]) == 1_000 and "\0" not in found.tools[0]["description"]
    assert found.tools[1]["description"] == ""
    assert found.refused == {
        "no good": "its name has characters other than letters, digits, -, _, . and /",
        "n" * 128: "its name is longer than 128 characters",
        "large": f"its parameters take more than {MAX_SCHEMA_CHARS:,} characters",
        "echo": "the server offers it twice",
    }


ODD = """
import json, sys
def say(id, **more): print(json.dumps({"jsonrpc": "2.0", "id": id, **more}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    match asked["method"]:
        case "initialize":
            about = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "odd", "version": "1"}}
            say(asked["id"], result=about)
        case "tools/list":
            tools = [{"name": "plain"}, {"name": "a.b/c", "inputSchema": {}, "annotations": {"readOnlyHint": "often"}}]
            tools += [{"inputSchema": {}}, {"name": "bad", "inputSchema": [1]}]
            say(asked["id"], result={"tools": tools, "nextCursor": ""})
        case "tools/call" if asked["params"]["name"] == "plain":
            say(asked["id"], result={"content": [{"type": "table", "rows": [1]}, {"type": "text", "text": "5433"}]})
        case "tools/call":
            say(asked["id"], error={"code": -32000, "message": "The port is taken"})
"""


async def test_one_odd_tool_or_block_spoils_no_others(tmp_path: Path) -> None:
    program = tmp_path / "odd.py"
    program.write_text(ODD)
    row = server(command=f"{sys.executable} {program}", environment="", timeout_seconds=20)
    async with Sessions() as sessions:
        found = await sessions.look(row)
        assert [tool["name"] for tool in found.tools] == ["plain", "a.b/c"]
        assert all(tool["parameters"] == {"type": "object", "properties": {}} for tool in found.tools)
        assert found.refused == {"bad": "its parameters are no valid JSON schema"}
        assert await sessions.call(row, "plain", {}) == '{"type": "table", "rows": [1]}\n5433'
        with pytest.raises(ToolFailed, match="says: The port is taken"):
            await sessions.call(row, "a.b/c", {})


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"content": "5433"}, "5433"),
        ({"toolResult": {"port": 5433}}, '{"port": 5433}'),
        ({"content": [{"type": "text", "text": None}, {"type": "text", "text": 5433}]}, "5433"),
        ({"content": None, "structuredContent": {"port": 5433}}, '{"port": 5433}'),
        ({"content": ["a", {"type": "text", "text": "b"}], "structuredContent": [1]}, "a\nb"),
        ({}, "[The tool gave nothing back.]"),
        ({"isError": "no"}, "[The tool gave nothing back.]"),
    ],
)
def test_a_result_of_another_form_is_text(result: dict[str, Any], text: str) -> None:
    read = CallToolResult.model_validate(repaired(result), by_name=False)
    assert (result_text(read, most=1_000), read.is_error) == (text, False)


def test_other_results_are_unchanged() -> None:
    for result in ({"resources": []}, {"protocolVersion": "1"}, {"tools": {"a": 1}}):
        assert repaired(result) is result


class Offered:
    def __init__(self, name: str, schema: dict[str, Any], description: str = "words") -> None:
        self.name, self.description, self.input_schema = name, description, schema


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "array"}, "no JSON object"),
        ({}, "no JSON object"),
        ({"type": "object", "properties": 3}, "no valid JSON schema"),
        ({"type": "object", "title": "\0"}, "signs that cannot be stored"),
        ({"type": "object", "title": "\ud800"}, "signs that cannot be stored"),
    ],
)
def test_a_tool_whose_parameters_no_provider_takes_is_not_offered(schema: dict[str, Any], reason: str) -> None:
    found = look([Offered("a", schema), Offered("b", {"type": "object", "title": "😀"})])
    assert [tool["name"] for tool in found.tools] == ["b"]
    assert reason in found.refused["a"]


def test_only_as_many_tools_are_kept_as_a_page_can_show() -> None:
    found = look([Offered(f"t{n}", {"type": "object"}) for n in range(102)])
    assert (len(found.tools), list(found.refused)) == (100, ["t100", "t101"])


def test_a_tool_has_changed_where_its_words_or_parameters_have() -> None:
    before = look([Offered(name, {"type": "object"}) for name in "abcd"]).tools
    now = look([Offered("a", {"type": "object"}), Offered("b", {"type": "object"}, "other words"),
                Offered("c", {"type": "object", "title": "x"}), Offered("e", {"type": "object"})]).tools  # fmt: skip
    assert changed(before, now) == {"b", "c"}


def test_the_package_is_only_loaded_for_a_call() -> None:
    code = (
        "import django; django.setup(); import conversations.agents.tools.toolbox, sys; sys.exit('mcp' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
