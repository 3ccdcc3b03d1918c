"""A scripted OpenAI-compatible server over real HTTP, for tests and benchmarks.

    with LlmServer() as llm:
        llm.enqueue("Hello!")
        llm.enqueue(status=429, retry_after="2")
        ...ask a model at llm.url...
        assert "5433" in llm.last_request.text

As a process of its own: `python -m tests.llm_server --port 9000 --delay 20 --tokens 200`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Self

from tests.llm_answers import Answer, Request, assert_every_message_represented, count_tokens, summary_of

__all__ = ["Answer", "LlmServer", "Request", "assert_every_message_represented", "closed_port"]

PAGE = b"<!doctype html><title>Sign in</title><h1>Please sign in to this network</h1>"
REASONS = {200: "OK", 429: "Too Many Requests"}


class LlmServer:
    """Answers chat completions as scripted, from a thread of its own; every method may be called from any thread.

    Requests for a summary have a queue and a default of their own. `connections` counts connections that were
    opened, `open` those that still are, `aborted` the answers that a client did not wait for.
    """

    def __init__(self, *, port: int = 0, default: Answer | None = None) -> None:
        self.port = port
        self.default = default or Answer()
        self.default_summary: Callable[[Request], str] = summary_of
        self.summary_delay = 0.0
        self.connections = 0
        self.open = 0
        self.aborted = 0
        self._lock = threading.Lock()
        self._received: list[Request] = []
        self._chats: deque[Answer] = deque()
        self._summaries: deque[Answer] = deque()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="llm-server", daemon=True)

    @property
    def url(self) -> str:
        """The base URL, as OPENAI_BASE_URL takes it."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def received(self) -> list[Request]:
        with self._lock:
            return list(self._received)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies of all requests so far, in order."""
        return [request.body for request in self.received]

    @property
    def chats(self) -> list[Request]:
        return [request for request in self.received if not request.is_summary]

    @property
    def summaries(self) -> list[Request]:
        return [request for request in self.received if request.is_summary]

    @property
    def last_request(self) -> Request:
        return self.received[-1]

    def enqueue(self, text: str = "All right.", *, times: int = 1, **how: Any) -> None:
        """Script the answer to the next chat request; `how` are the fields of Answer."""
        with self._lock:
            self._chats.extend([Answer(text, **how)] * times)

    def enqueue_summary(self, text: str | None = None, *, times: int = 1, **how: Any) -> None:
        """Script the answer to the next request for a summary; None: the default summary, with `how`."""
        with self._lock:
            self._summaries.extend([Answer("" if text is None else text, **how)] * times)

    def summary_takes(self, *, seconds: float) -> None:
        """Every default summary takes this long from now on."""
        self.summary_delay = seconds

    def clear(self) -> None:
        """Forget requests and scripted answers."""
        with self._lock:
            self._received.clear()
            self._chats.clear()
            self._summaries.clear()
        self.summary_delay = 0.0

    def wait_for(self, done: Callable[[LlmServer], bool], *, seconds: float = 5.0) -> None:
        """Block until `done(self)`; fails after `seconds`."""
        limit = time.monotonic() + seconds
        while not done(self):
            assert time.monotonic() < limit, f"the model server waited in vain; {len(self.received)} requests so far"
            time.sleep(0.005)

    def __enter__(self) -> Self:
        count_tokens("the first count loads the vocabulary")
        self._thread.start()
        self._submit(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._submit(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)
        self._loop.close()

    def _submit(self, coroutine: Any) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout=5)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=2**26, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        ahead: bytes | None = b""
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while ahead is not None:
                request = await _read(reader, ahead)
                ahead = await self._reply(self._answer(request), request, reader, writer)
        writer.transport.abort()
        self.open -= 1

    async def _reply(
        self, answer: Answer, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes | None:
        """What the client sent meanwhile of its next request; None where the connection is over."""
        sending = asyncio.ensure_future(_send(writer, answer, request))
        more = asyncio.ensure_future(reader.read(1))  # ends when the client goes away, or asks again
        try:
            await asyncio.wait({more, sending}, return_when=asyncio.FIRST_COMPLETED)
            self.aborted += not sending.done()
            if not sending.done() or not sending.result():
                return None
            return more.result() if more.done() else b""
        finally:
            sending.cancel()
            more.cancel()
            await asyncio.gather(sending, more, return_exceptions=True)

    def _answer(self, request: Request) -> Answer:
        with self._lock:
            self._received.append(request)
            if not request.is_summary:
                return self._chats.popleft() if self._chats else self.default
            answer = self._summaries.popleft() if self._summaries else Answer("", delay=self.summary_delay)
        return answer if answer.text else replace(answer, text=self.default_summary(request))


async def _read(reader: asyncio.StreamReader, ahead: bytes) -> Request:
    head = (ahead + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(json.loads(body), headers)


async def _send(writer: asyncio.StreamWriter, answer: Answer, request: Request) -> bool:
    """Whether the connection may be used again."""
    await asyncio.sleep(answer.delay)
    if answer.fault == "reset":
        return _reset(writer)
    if answer.status != 200:
        error = {"message": answer.message, "type": "scripted_error", "param": None, "code": answer.code or None}
        return await _send_whole(writer, {"error": error}, answer)
    if answer.fault == "html":
        return await _send_whole(writer, PAGE, answer)
    if request.body.get("stream"):
        return await _send_stream(writer, answer, request)
    if answer.fault in ("stall", "half", "half_stall"):
        writer.write(_head(answer, "application/json", "Content-Length: 1000") + b'{"id": "x", "choices": [{"ind')
        return _reset(writer) if answer.fault == "half" else await _stall(writer)
    return await _send_whole(writer, _completion(answer, request), answer)


async def _send_whole(writer: asyncio.StreamWriter, content: dict[str, Any] | bytes, answer: Answer) -> bool:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    body = body.replace(b"scripted-bytes", b"\xff\xfe\xc3(")
    kind = "text/html" if isinstance(content, bytes) else "application/json"
    writer.write(_head(answer, kind, f"Content-Length: {len(body)}") + body)
    await writer.drain()
    return True


async def _send_stream(writer: asyncio.StreamWriter, answer: Answer, request: Request) -> bool:
    writer.write(_head(answer, "text/event-stream", "Transfer-Encoding: chunked"))
    await writer.drain()
    if answer.fault == "stall":
        return await _stall(writer)
    async for event in _events(answer, request):
        data = b"data: " + event + b"\n\n"
        writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await writer.drain()
    if answer.fault in ("half", "late_reset"):
        return _reset(writer)
    if answer.fault == "half_stall":
        return await _stall(writer)
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


async def _events(answer: Answer, request: Request) -> AsyncIterator[bytes]:
    """The data of each event of a stream, as far as the fault lets it come."""
    field = "refusal" if answer.refusal else "content"
    pieces = answer.pieces if answer.fault not in ("no_choices", "null") else []
    if answer.fault in ("half", "half_stall", "error_midway"):
        pieces = pieces[: len(pieces) // 2]
    if answer.fault == "no_choices":
        yield _chunk(request, choices=[])
    if answer.fault == "bytes":
        yield b'{"choices": [{"index": 0, "delta": {"content": "\xff\xfe\xc3("}}]}'
    for piece in pieces:
        if answer.drip:
            await asyncio.sleep(answer.drip)
        yield _chunk(request, choices=[{"index": 0, "delta": {field: piece}, "finish_reason": None}])
    if answer.fault == "error_midway":
        yield json.dumps({"error": {"message": answer.message, "code": answer.code}}).encode()
    if answer.fault in ("half", "half_stall", "unended", "error_midway"):
        return
    if answer.fault != "no_choices":
        last = {"content": None} if answer.fault == "null" else {}
        yield _chunk(request, choices=[{"index": 0, "delta": last, "finish_reason": answer.finish_reason}])
    if answer.fault == "late_reset":
        return
    if answer.usage and (request.body.get("stream_options") or {}).get("include_usage"):
        yield _chunk(request, choices=[], usage=_usage(answer, request))
    yield b"[DONE]"


def _chunk(request: Request, **fields: Any) -> bytes:
    common = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": request.body.get("model")}
    return json.dumps(common | fields).encode()


def _completion(answer: Answer, request: Request) -> dict[str, Any]:
    text = "scripted-bytes" if answer.fault == "bytes" else None if answer.fault == "null" else answer.text
    message = {"role": "assistant", "content": text, "refusal": None}
    if answer.refusal:
        message |= {"content": None, "refusal": answer.text}
    finish = None if answer.fault == "unended" else answer.finish_reason
    choices = [] if answer.fault == "no_choices" else [{"index": 0, "message": message, "finish_reason": finish}]
    common = {"id": "x", "object": "chat.completion", "created": 1, "model": request.body.get("model")}
    return common | {"choices": choices, "usage": _usage(answer, request)}


def _usage(answer: Answer, request: Request) -> dict[str, Any] | None:
    if answer.usage != "counted":
        return answer.usage
    prompt, completion = request.tokens, count_tokens(answer.text)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _head(answer: Answer, kind: str, *more: str) -> bytes:
    lines = [f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Scripted')}", f"Content-Type: {kind}", *more]
    if answer.retry_after is not None:
        lines.append(f"Retry-After: {answer.retry_after}")
    return "\r\n".join([*lines, "", ""]).encode()


def _reset(writer: asyncio.StreamWriter) -> bool:
    """Close with a TCP reset, as a crashed server does."""
    peer = writer.get_extra_info("socket")
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    writer.transport.abort()
    return False


async def _stall(writer: asyncio.StreamWriter) -> bool:
    await writer.drain()
    await asyncio.Event().wait()
    return False


@contextmanager
def closed_port() -> Any:
    """The base URL of a port where nothing listens, held so that nothing else takes it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="milliseconds before each token")
    parser.add_argument("--tokens", type=int, default=100, help="length of each reply")
    options = parser.parse_args()
    default = Answer("word " * options.tokens, drip=options.delay / 1000)
    with LlmServer(port=options.port, default=default) as server, suppress(KeyboardInterrupt):
        print(server.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
