"""Servers of tools over HTTP, in threads: a real one of the `mcp` package, and one that answers as it is told to."""

import json
import socket
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.servers import free_port


@contextmanager
def real_server() -> Iterator[str]:
    """Its address. Its tools: `add`, `header` (what it was sent as that), `wait`."""
    import anyio
    import uvicorn
    from mcp.server.mcpserver import Context, MCPServer

    server = MCPServer("adder")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    @server.tool()
    def header(name: str, context: Context) -> str:
        """A header of the request."""
        return str(context.request_context.request.headers.get(name))

    @server.tool()
    async def wait(seconds: float) -> str:
        """Waits."""
        await anyio.sleep(seconds)
        return "waited"

    port = free_port()
    config = uvicorn.Config(server.streamable_http_app(), port=port, log_level="critical", timeout_graceful_shutdown=1)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        threading.Event().wait(0.01)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        running.should_exit = True
        thread.join(5)


class Answering(BaseHTTPRequestHandler):
    """By the last part of the path."""

    protocol_version = "HTTP/1.1"
    calls: Counter[str] = Counter()
    streams: dict[str, threading.Event] = defaultdict(threading.Event)
    """Set once the stream of the server's own messages was asked for, which it does not have."""

    def log_message(self, *_: Any) -> None:
        pass

    def do_DELETE(self) -> None:
        self._send(200, b"")

    def do_GET(self) -> None:
        how = self.path.rpartition("/")[2]
        self._send(404 if how == "streamless" else 405, b"")
        self.streams[how].set()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        how = self.path.rpartition("/")[2]
        if "id" not in asked:
            return self._send(202, b"")
        if how == "locked":
            return self._send(401, b'{"error": "who are you?"}')
        if how == "page":
            return self._send(200, b"<html>", "text/html")
        if asked["method"] == "server/discover":
            return self._send(404, b"")
        if asked["method"] == "initialize":
            about = {"name": "scripted", "version": "1"}
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about}
            return self._send(200, self._result(asked, result), session="one")
        self._call(how, asked)

    def _call(self, how: str, asked: dict[str, Any]) -> None:
        words = {"content": [{"type": "text", "text": "here"}]}
        self.calls[how] += 1
        match how:
            case "forgets":
                if self.calls[how] == 1:
                    return self._send(404, b"")
                self._send(200, self._result(asked, words))
            case "lost":
                self._send(404, b"")
            case "streamless":
                self.streams[how].wait(5)
                self._send(500, b"")
            case "large":
                self._send(200, self._result(asked, {"content": [{"type": "text", "text": "x" * 9_000_000}]}))
            case "events":
                large = self._result(asked, {"content": [{"type": "text", "text": "x" * 9_000_000}]})
                self._send(200, b"data: " + large + b"\n\n", "text/event-stream")
            case "half":
                self._send(200, b"data: {\n", "text/event-stream")
            case "packed":
                self._send(200, b"\x1f\x8b", encoding="gzip")
            case "broken":
                self._send(200, b"{")
            case "resets":
                self.connection.shutdown(socket.SHUT_RDWR)

    def _result(self, asked: dict[str, Any], result: dict[str, Any]) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()

    def _send(
        self, status: int, body: bytes, kind: str = "application/json", *, session: str = "", encoding: str = ""
    ) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        if session:
            self.send_header("mcp-session-id", session)
        if encoding:
            self.send_header("content-encoding", encoding)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def answering() -> Iterator[str]:
    """Its address, to which the way that it answers is added."""
    Answering.calls.clear()
    Answering.streams.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
