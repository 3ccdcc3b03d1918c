"""Turns a whole message of Anthropic's into the events of a stream, and back.

Some servers stream although the request asks for one object, and others send one object instead of a stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from conversations.llm.providers.choices import Json, as_object
from conversations.llm.providers.reported_usage import later_usage
from conversations.llm.providers.tool_call_chunks import object_of

GROWING = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}
"""The field with the next piece of a block, by the type of the delta."""


def message_of(events: list[Json]) -> Json | None:
    """The message that a stream's events make; None if the stream is not complete."""
    message: Json = {}
    blocks: dict[object, Json] = {}
    pieces: dict[object, list[str]] = {}
    is_whole = False
    for event in events:
        index, delta = event.get("index"), as_object(event.get("delta"))
        match event.get("type"):
            case "message_start":
                message = as_object(event.get("message"))
            case "content_block_start":
                blocks[index], pieces[index] = dict(as_object(event.get("content_block"))), []
            case "content_block_delta" if index in blocks:
                if name := GROWING.get(str(delta.get("type"))):
                    pieces[index].append(str(delta.get(name) or ""))
                elif delta.get("signature"):
                    blocks[index]["signature"] = f"{blocks[index].get('signature') or ''}{delta['signature']}"
            case "message_delta":
                usage = later_usage(as_object(message.get("usage")), event.get("usage"))
                message = message | delta | {"usage": usage}
            case "message_stop":
                is_whole = True
    if not message or not is_whole:
        return None
    return message | {"content": [_whole(block, "".join(pieces[index])) for index, block in blocks.items()]}


def events_of(message: Json) -> Iterator[Json]:
    """The events of a stream with all of a message."""
    content, ends = message.get("content"), ("stop_reason", "stop_sequence")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    yield {"type": "message_start", "message": message | {"content": [], **dict.fromkeys(ends)}}
    for index, block in enumerate(blocks):
        begun, deltas = _begun(block)
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {name: message.get(name) for name in ends}
    yield {"type": "message_delta", "delta": delta, "usage": as_object(message.get("usage"))}
    yield {"type": "message_stop"}


def _whole(block: Json, added: str) -> Json:
    """A block with the text that was added to its beginning."""
    if block.get("type") == "tool_use":
        return block | {"input": object_of(added) if added else block.get("input") or {}}
    name = "thinking" if block.get("type") == "thinking" else "text"
    return block | {name: f"{block.get(name) or ''}{added}"} if added else block


def _begun(block: Json) -> tuple[Json, list[Json]]:
    """(the block as it begins, its deltas); blocks of other types come as a whole."""
    match block.get("type"):
        case "text":
            return block | {"text": ""}, [{"type": "text_delta", "text": str(block.get("text") or "")}]
        case "thinking":
            thought = {"type": "thinking_delta", "thinking": str(block.get("thinking") or "")}
            signature = {"type": "signature_delta", "signature": str(block.get("signature") or "")}
            return block | {"thinking": "", "signature": ""}, [thought, signature]
        case "tool_use":
            arguments = json.dumps(as_object(block.get("input")), ensure_ascii=False)
            return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": arguments}]
    return block, []
