"""A server of tools on standard input and output that does what it is told to do, and most of that is bad.

In plain Python, so that it starts at once: `python bad_server.py [how]`, where `how` is what it does at the start.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from typing import Any

OBJECT = {"type": "object", "properties": {"what": {"type": "string"}}}


def say(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


def called(id: Any, name: str, arguments: dict[str, Any]) -> None:
    what = arguments.get("what", "")
    match name:
        case "echo":
            say(id=id, result=text(what))
        case "slow":
            time.sleep(float(what))
            say(id=id, result=text("at last"))
        case "hang":
            time.sleep(60)
        case "die":
            os._exit(3)
        case "die_after":
            say(id=id, result=text("goodbye"))
            os._exit(0)
        case "child":
            child = subprocess.Popen(["sleep", "60"])
            say(id=id, result=text(f"{os.getpid()} {child.pid}"))
        case "noise":
            for _ in range(int(what)):
                print("INFO no message")
            say(id=id, result=text("after the noise"))
        case "error":
            say(id=id, error={"code": -32602, "message": f"no such thing as {what}{os.environ.get('TOKEN')}"})
        case "is_error":
            say(id=id, result=text(f"it went wrong with {what}{os.environ.get('TOKEN')}", isError=True))
        case "nonsense":
            say(id=id, result={"table": "no content"})
        case "large":
            sys.stdout.write('{"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "')
            for _ in range(int(what)):
                sys.stdout.write("x" * 1_000_000)
            say(id=id, result=text(""))
        case "nested":
            say(id=id, result={"content": [], "structuredContent": {"x": [[]] * int(what)}})
        case "blocks":
            say(id=id, result={"content": [{"type": "text", "text": "a"}] * int(what)})
        case "text":
            say(id=id, result=text("x" * int(what)))
        case "binary":
            data = base64.b64encode(b"\x89" * 12_345).decode()
            blob = {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": data}
            blocks = [
                {"type": "text", "text": "see:"},
                {"type": "image", "mimeType": "image/png", "data": data},
                {"type": "audio", "mimeType": "audio/wav", "data": data},
                {"type": "resource", "resource": blob},
                {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "words"}},
                {"type": "resource_link", "name": "more", "uri": "https://example.com/more"},
            ]
            say(id=id, result={"content": blocks})
        case "structured":
            value = {"rows": [1, 2]}
            same = json.dumps(value) if what == "same" else "two rows"
            say(id=id, result=text(same, structuredContent=value))
        case "environment":
            say(id=id, result=text(json.dumps(dict(os.environ))))


def tools() -> list[dict[str, Any]]:
    return [
        {"name": "echo", "description": "Says it.\0 " + "d" * 2_000, "inputSchema": OBJECT},
        {"name": "no good", "description": "-", "inputSchema": OBJECT},
        {"name": "n" * 130, "description": "-", "inputSchema": OBJECT},
        {"name": "large", "description": "-", "inputSchema": {"type": "object", "x": "y" * 20_000}},
        {"name": "silent", "inputSchema": {"type": "object"}},
        {"name": "echo", "description": "Another.", "inputSchema": OBJECT},
    ]


def answer(message: dict[str, Any]) -> None:
    id, method, params = message.get("id"), message.get("method"), message.get("params", {})
    match method:
        case "initialize":
            about = {"name": "bad", "version": "1"}
            say(id=id, result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about})
        case "tools/list":
            say(id=id, result={"tools": tools()})
        case "tools/call":
            called(id, params["name"], params.get("arguments", {}))
        case _ if id is not None:
            say(id=id, error={"code": -32601, "message": "Method not found"})


def main(how: str) -> None:
    if how == "exit":
        sys.exit("cannot start")
    if how == "silent":
        time.sleep(60)
    if how == "garbage":
        while True:
            print("\x00\xff no message at all")
    for line in sys.stdin:
        answer(json.loads(line))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
