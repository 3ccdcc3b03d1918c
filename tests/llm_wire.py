"""The scripted model server's HTTP, written by hand so that it can be broken at any byte."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator, Iterator
from itertools import chain
from typing import Any

from tests import llm_messages
from tests.llm_answers import Answer, Request, call_id, pieces_of

HOLDS = 25
"""Seconds that a stream waits for leave to go on, at most."""

PAGE = b"<!doctype html><title>Sign in</title><h1>Please sign in to this network</h1>"
REASONS = {200: "OK", 429: "Too Many Requests"}


async def read(reader: asyncio.StreamReader, ahead: bytes) -> Request:
    """The next request of a connection; `ahead` is what was read of it already."""
    head = (ahead + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(json.loads(body or b"{}"), headers, path=head[0].split(" ")[1])


async def send(writer: asyncio.StreamWriter, answer: Answer, request: Request) -> bool:
    """Answer as scripted; says whether the connection may be used again."""
    await asyncio.sleep(answer.delay)
    if answer.fault == "reset":
        return _reset(writer)
    if answer.facts is not None:
        return await _send_whole(writer, answer.facts, answer)
    if request.is_listing:
        return await _send_whole(writer, {"data": [{"id": id} for id in answer.text.split("\n")]}, answer)
    if request.in_blocks:
        answer = llm_messages.checked(answer, request)
    if answer.status != 200 and request.in_blocks:
        return await _send_whole(writer, llm_messages.error(answer), answer)
    if answer.status != 200:
        error = {"message": answer.message, "type": "scripted_error", "param": None, "code": answer.code or None}
        return await _send_whole(writer, {"error": error}, answer)
    if answer.fault == "html":
        return await _send_whole(writer, PAGE, answer)
    if bool(request.body.get("stream")) is not (answer.fault == "other_form"):
        return await _send_stream(writer, answer, request)
    if answer.fault in ("stall", "half", "half_stall"):
        writer.write(_head(answer, "application/json", "Content-Length: 1000") + b'{"id": "x", "choices": [{"ind')
        return _reset(writer) if answer.fault == "half" else await _stall(writer)
    content = llm_messages.message(answer, request) if request.in_blocks else _completion(answer, request)
    return await _send_whole(writer, content, answer)


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
    async for data in _stream(answer, request):
        writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await writer.drain()
    if answer.fault in ("half", "late_reset"):
        return _reset(writer)
    if answer.fault == "half_stall":
        return await _stall(writer)
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


async def _stream(answer: Answer, request: Request) -> AsyncIterator[bytes]:
    for event in answer.events:
        name = f"event: {event['type']}\n".encode() if request.in_blocks else b""
        yield name + _data(event)
    if not answer.events:
        async for data in llm_messages.events(answer, request) if request.in_blocks else _events(answer, request):
            data = data[data.index(b"data:") :] if answer.fault == "no_names" else data
            yield data.replace(b"\n\n", b"\n") if answer.fault == "no_blanks" else data


async def _events(answer: Answer, request: Request) -> AsyncIterator[bytes]:
    """The events of a stream, as far as the fault lets it come."""
    deltas = list(_deltas(answer, request)) if answer.fault not in ("no_choices", "null") else []
    if answer.fault in ("half", "half_stall", "error_midway"):
        deltas = deltas[: len(deltas) // 2]
    if answer.fault == "no_choices":
        yield _chunk(request, choices=[])
    if answer.fault == "bytes":
        yield b'data: {"choices": [{"index": 0, "delta": {"content": "\xff\xfe\xc3("}}]}\n\n'
    sent = ""
    for delta in deltas:
        if answer.drip:
            await asyncio.sleep(answer.drip)
        yield _chunk(request, choices=[{"index": 0, "delta": delta, "finish_reason": None}])
        sent += delta.get("content") or delta.get(answer.thinks_in) or ""
        for words, go_on in answer.holds.items():
            if words in sent:
                await asyncio.to_thread(go_on.wait, HOLDS)
    if answer.fault == "error_midway":
        yield _data({"error": {"message": answer.message, "code": answer.code}})
    if answer.fault in ("half", "half_stall", "unended", "error_midway"):
        return
    if answer.fault not in ("no_choices", "no_reason"):
        last = {"content": None} if answer.fault == "null" else {}
        yield _chunk(request, choices=[{"index": 0, "delta": last, "finish_reason": answer.reason}])
    if answer.fault == "late_reset":
        return
    if answer.usage and (request.body.get("stream_options") or {}).get("include_usage"):
        yield _chunk(request, choices=[], usage=_usage(answer, request))
    yield b"data: [DONE]\n\n"


def _deltas(answer: Answer, request: Request) -> Iterator[dict[str, Any]]:
    """Text, then calls: each with its name first, then its arguments in pieces."""
    yield from ({answer.thinks_in: word} for word in re.findall(r"\s*\S+\s*", answer.thoughts))
    field = "refusal" if answer.refusal else "content"
    yield from ({field: piece} for piece in answer.pieces)
    for place, (name, arguments) in enumerate(answer.calls):
        begun = _call(answer, request, place, name, "")
        further = ({"function": {"arguments": piece}} for piece in pieces_of(arguments))
        yield from ({"tool_calls": [{"index": place} | piece]} for piece in chain([begun], further))


def _call(answer: Answer, request: Request, place: int, name: str, arguments: str) -> dict[str, Any]:
    call = {"id": call_id(request, place), "type": "function", "function": {"name": name, "arguments": arguments}}
    is_signed = answer.signature and place == 0
    return call | ({"extra_content": {"google": {"thought_signature": answer.signature}}} if is_signed else {})


def _chunk(request: Request, **fields: Any) -> bytes:
    common = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": request.body.get("model")}
    return _data(common | fields)


def _data(event: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def _completion(answer: Answer, request: Request) -> dict[str, Any]:
    text = "scripted-bytes" if answer.fault == "bytes" else None if answer.fault == "null" else answer.text
    message = {"role": "assistant", "content": text, "refusal": None}
    if answer.refusal:
        message |= {"content": None, "refusal": answer.text}
    if answer.thoughts:
        message[answer.thinks_in] = answer.thoughts
    if answer.calls:
        message["tool_calls"] = [
            _call(answer, request, place, name, said) for place, (name, said) in enumerate(answer.calls)
        ]
    finish = None if answer.fault in ("unended", "no_reason") else answer.reason
    choices = [] if answer.fault == "no_choices" else [{"index": 0, "message": message, "finish_reason": finish}]
    common = {"id": "x", "object": "chat.completion", "created": 1, "model": request.body.get("model")}
    return common | {"choices": choices, "usage": _usage(answer, request)}


def _usage(answer: Answer, request: Request) -> dict[str, Any] | None:
    if answer.usage != "counted":
        return answer.usage
    prompt, completion = request.tokens, answer.tokens
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _head(answer: Answer, kind: str, *more: str) -> bytes:
    lines = [f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Scripted')}", f"Content-Type: {kind}", *more]
    if answer.retry_after is not None:
        lines.append(f"Retry-After: {answer.retry_after}")
    if answer.location:
        lines.append(f"Location: {answer.location}")
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
