"""Runs a server of tools as a program of this machine; messages are lines on its standard input and output.

This replaces the `mcp` package's own transport, which joins a long line anew with each part that arrives, sets no limit
to it, logs lines that it cannot read, and lets the server write to this process's standard error.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from conversations.agents.tools.mcp.bounds import LARGEST, SizeBudget, TooMuch
from conversations.agents.tools.mcp.connection_state import ConnectionState

GRACE = 1.0
"""Time that a server has to end after its input is closed, and again after SIGTERM."""
MAX_NOISE_LINES = 1_000
"""The most lines that are not messages; some servers write their log to their output."""

Heard = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]
Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def stdio(command: str, environment: dict[str, str], fate: ConnectionState) -> AsyncIterator[Streams]:
    """Run the program while the block runs; yields the streams of its messages. Raises OSError if it cannot start.

    The program has its `environment` and the harmless part of this process's. At the end of the block, the program and
    all processes that it started are ended.
    """
    process = await asyncio.create_subprocess_exec(
        *shlex.split(command),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env=get_default_environment() | environment,
        start_new_session=True,
        limit=LARGEST,
    )
    heard, to_hear = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_send, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_hear, process, heard, fate)
        tasks.start_soon(_send, process, outgoing)
        try:
            yield to_hear, to_send
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)
            for stream in (to_hear, to_send, heard, outgoing):
                stream.close()
            tasks.cancel_scope.cancel()


async def _hear(process: Process, heard: Heard, fate: ConnectionState) -> None:
    """Pass on the server's messages until its output ends; a server that exceeds a bound is killed."""
    with heard, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        try:
            await _messages(process, heard)
            fate.end(await _how_it_ended(process))
        except TooMuch as reason:
            fate.end(str(reason))
            _signal(process, signal.SIGKILL)


async def _messages(process: Process, heard: Heard) -> None:
    noise = 0
    while line := await _line(process):
        SizeBudget().take(line)
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            noise += bool(line.strip())
            if noise > MAX_NOISE_LINES:
                raise TooMuch("writes to its output what are no messages of the protocol") from None
            await asyncio.sleep(0)
        else:
            await heard.send(SessionMessage(message))


async def _line(process: Process) -> bytes:
    """Read one line; b"" at the end. Raises TooMuch."""
    assert process.stdout is not None
    try:
        return await process.stdout.readline()
    except ValueError:
        raise TooMuch(f"sent more than {LARGEST // 1_000_000} MB at once") from None
    except OSError:
        return b""


async def _how_it_ended(process: Process) -> str:
    try:
        async with asyncio.timeout(GRACE):
            status = await process.wait()
    except TimeoutError:
        return "closed its output"
    return f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"


async def _send(process: Process, outgoing: Outgoing) -> None:
    assert process.stdin is not None
    with outgoing, suppress(OSError):
        async for one in outgoing:
            line = one.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(line.encode() + b"\n")
            await process.stdin.drain()


async def _end(process: Process) -> None:
    """End the program: close its input, send SIGTERM, then kill it with all processes that it started."""
    assert process.stdin is not None
    try:
        process.stdin.close()
        if not await _has_ended(process):
            _signal(process, signal.SIGTERM)
            await _has_ended(process)
    finally:
        _signal(process, signal.SIGKILL)
    await _has_ended(process)
    # No public API closes the transport: it stays open while a process outside the group holds an end of a pipe.
    getattr(process, "_transport").close()  # noqa: B009 - not declared
    await asyncio.sleep(0)


async def _has_ended(process: Process) -> bool:
    """Whether the program ends within GRACE. `wait` would wait for every process that has its output open."""
    for _ in range(int(GRACE / 0.01)):
        if process.returncode is not None:
            return True
        await asyncio.sleep(0.01)
    return False


def _signal(process: Process, number: signal.Signals) -> None:
    """Send a signal to the server and the processes that it started, which form a group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
