"""A scripted model server over real HTTP, for tests and benchmarks: OpenAI's chat completions, Anthropic's messages.

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
import socket
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Self

from tests import llm_templates, llm_windows
from tests.llm_answers import Answer, Request, assert_every_message_represented, count_tokens, summary_of
from tests.llm_wire import read, send

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

__all__ = ["Answer", "LlmServer", "Request", "assert_every_message_represented", "closed_port", "listen"]

_ports: set[int] = set()


async def listen(serve: Serve, *, port: int = 0, **options: Any) -> tuple[asyncio.Server, int]:
    """A server on this machine and its port: for 0, one that no earlier server of this process had.

    The product remembers by its address which requests a server refuses; the system hands a free port out again.
    """
    while True:
        server = await asyncio.start_server(serve, "127.0.0.1", port, **options)
        found: int = server.sockets[0].getsockname()[1]
        if port or found not in _ports:
            _ports.add(found)
            return server, found
        server.close()


class LlmServer:
    """Answers as scripted, by either API, from a thread of its own; every method may be called from any thread.

    Requests for a summary have a queue and a default of their own. `connections` counts connections that were
    opened, `open` those that still are, `aborted` the answers that a client did not wait for. `models` are the ids that
    it lists; who asks for those is not recorded. `template` is the chat template by which chat completions are refused
    (`tests.llm_templates`), "" for none; refused requests are recorded and take no scripted answer. `counts` is
    how many times our own count it reports as used (chat completions). `facts` are its answers about models by path
    (`tests.llm_windows`), bytes as they are, after `facts_delay` seconds; without one it answers 404,
    and with `redirects` it sends those who ask to that address. `reads` is how many tokens of a request its
    model reads, 0 for all: what is longer loses its front, and no error says so. `half_of_long`: only half of that is
    left, as with Ollama. `ends_at` is how many tokens a request and its reply have room for together, 0 for any number:
    longer replies end there, and longer requests are refused, as by llama.cpp. `repeats` is whether its model repeats
    the mark at the head of what it read.
    """

    def __init__(self, *, port: int = 0, default: Answer | None = None) -> None:
        self.port = port
        self.template = ""
        self.counts = 1.0
        self.facts: dict[str, Any] = {}
        self.asked: list[str] = []
        self.asked_keys: list[str] = []
        self.facts_delay = 0.0
        self.redirects = ""
        self.reads = 0
        self.half_of_long = False
        self.ends_at = 0
        self.repeats = True
        self.default = default or Answer()
        self.default_summary: Callable[[Request], str] = summary_of
        self.summary_delay = 0.0
        self.models = ["scripted"]
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
        """The base URL, as OPENAI_BASE_URL and ANTHROPIC_BASE_URL take it."""
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

    def forget_scripted_summaries(self) -> None:
        """Summaries are the default ones again."""
        with self._lock:
            self._summaries.clear()

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
        self.template = ""
        self.counts = 1.0
        self.facts_delay, self.redirects, self.asked_keys = 0.0, "", []
        self.facts, self.asked, self.reads, self.half_of_long, self.repeats, self.ends_at = {}, [], 0, False, True, 0

    def wait_for(self, done: Callable[[LlmServer], bool], *, seconds: float = 30.0) -> None:
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
        self._server, self.port = await listen(self._serve, port=self.port, limit=2**26, backlog=1024)

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
                request = await read(reader, ahead)
                ahead = await self._reply(self._counted(self._answer(request), request), request, reader, writer)
        writer.transport.abort()
        self.open -= 1

    async def _reply(
        self, answer: Answer, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes | None:
        """What the client sent meanwhile of its next request; None where the connection is over."""
        sending = asyncio.ensure_future(send(writer, answer, request))
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
        path = request.path.partition("?")[0]
        if request.is_about_model or path in self.facts:
            self.asked.append(path)
            self.asked_keys.append(request.headers.get("authorization", ""))
            status = 307 if self.redirects else 200 if path in self.facts else 404
            return Answer(
                status=status, facts=self.facts.get(path), delay=self.facts_delay, location=self.redirects or None
            )
        if request.is_listing:
            return Answer("\n".join(self.models))
        with self._lock:
            self._received.append(request)
            if request.has_broken_calls:
                return Answer(status=400, message="tool_calls: each has a function with a name and arguments")
            if refusal := llm_templates.refusal(self.template, request):
                return refusal
            if not request.is_summary:
                answer = self._chats.popleft() if self._chats else self.default
                answer = llm_windows.cut_off(answer, request, self.ends_at) if self.ends_at else answer
                return llm_windows.with_mark(answer, request, self._read(request)) if self.repeats else answer
            answer = self._summaries.popleft() if self._summaries else Answer("", delay=self.summary_delay)
        return answer if answer.text else replace(answer, text=self.default_summary(request))

    def _read(self, request: Request) -> int:
        """The tokens of a request that its model reads."""
        if not self.reads or request.tokens <= self.reads:
            return request.tokens
        return self.reads // 2 + 2 if self.half_of_long else self.reads

    def _counted(self, answer: Answer, request: Request) -> Answer:
        if answer.usage != "counted" or request.is_listing or request.is_about_model or answer.status != 200:
            return answer
        if self.counts == 1 and not self.reads:
            return answer
        prompt, completion = round(self.counts * self._read(request)), round(self.counts * answer.tokens)
        return replace(answer, usage={"prompt_tokens": prompt, "completion_tokens": completion})


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
