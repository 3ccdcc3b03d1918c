"""Turns the result of a server's tool into text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

NOTHING = "[The tool gave nothing back.]"


def result_text(result: CallToolResult, *, most: int, hidden: Callable[[str], str] = str) -> str:
    """A result as text: its texts, the names of other content, and its structured content unless a text has it.

    The text is cut to `most` characters, and a line states the cut. `hidden` removes secrets before that.
    """
    parts = [*map(_part, result.content), *_structured(result)]
    text = hidden("\n".join(part for part in parts if part) or NOTHING)
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[Cut: the tool gave {len(text):,} characters; the first {most:,} are kept.]"


def _part(block: ContentBlock) -> str:
    match block:
        case TextContent():
            return block.text
        case ImageContent() | AudioContent():
            return _named(block.type, block.mime_type, block.data)
        case ResourceLink():
            return f"[link: {block.name}, {block.uri}]"
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return f"[{resource.uri}]\n{resource.text}"
        case EmbeddedResource(resource=BlobResourceContents() as resource):
            return _named("file", resource.mime_type or "of an unknown kind", resource.blob)
    return ""


def _named(what: str, mime_type: str, base64: str) -> str:
    size = len(base64) * 3 // 4 - base64[-2:].count("=")
    return f"[{what}: {mime_type[:100]}, {size:,} bytes]"


def _structured(result: CallToolResult) -> Iterator[str]:
    value = result.structured_content
    if value is None or any(_is_same(block.text, value) for block in result.content if isinstance(block, TextContent)):
        return
    yield json.dumps(value, ensure_ascii=False)


def _is_same(text: str, value: Any) -> bool:
    """Whether a text is the structured value: servers send both, and wrap a plain value as {"result": value}."""
    plain = value["result"] if isinstance(value, dict) and value.keys() == {"result"} else value
    try:
        return text == plain or json.loads(text) in (value, plain)
    except (ValueError, RecursionError):
        return False
