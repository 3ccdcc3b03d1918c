"""Builds a request of Anthropic's Messages whose older part is a summary: all blocks that stay are the caller's own.

A translation to chat completions and back would lose signed thoughts, documents, typed tools and cache marks. So each
message of the compacted history is put back as the blocks that it was read from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from conversations.gateway.anthropic.blocks import ERROR, Read
from conversations.gateway.checkpoints import State, assemble
from conversations.gateway.history import History
from conversations.gateway.messages import ROLES, Raw, text_of
from conversations.gateway.protocol import Json
from conversations.llm.providers.anthropic_blocks import CACHE_MARK, OPENING
from conversations.llm.providers.tool_call_chunks import object_of
from conversations.llm.thinking.thoughts import BLOCKS

MARK = "cache_control"
MARKED_MESSAGES = 2
"""The marks for the cache within the messages. With the caller's last one before them and the summary's these are four,
the most that the API takes."""


def with_summary(given: Json, history: History, state: State) -> Json:
    """The caller's body `given` with the summary and the recalled passages in place of the summarised messages."""
    kept = assemble(history, state)[len(history.lead) + state.is_summary :]
    messages = joined(_message(raw, given["messages"]) for raw in kept)
    if not messages or messages[0]["role"] != "user":
        messages.insert(0, {"role": "user", "content": [{"type": "text", "text": OPENING}]})
    system, tools = as_blocks(given.get("system") or []), list(given.get("tools") or ())
    system += [{"type": "text", "text": text_of(raw)} for raw in history.lead if isinstance(raw, Read)]
    mark = next(iter(_marks([*tools, *system, *_all(messages)])), CACHE_MARK[MARK])
    tools, system = _unmarked(tools, but_last=not _marks(system)), _unmarked(system, but_last=True)
    if state.is_summary:
        system.append({"type": "text", "text": state.context, MARK: mark})
    own = {"system": system, "messages": _marked(messages, mark)} | ({"tools": tools} if tools else {})
    return given | {name: value for name, value in own.items() if value}


def _message(raw: Raw, given: Sequence[Json]) -> Json:
    """A message as the blocks that it was read from, or, if it has changed since, as new blocks."""
    role = "assistant" if ROLES[raw["role"]] == "assistant" else "user"
    if isinstance(raw, Read):
        blocks = as_blocks(given[raw.number]["content"])
        return {"role": role, "content": blocks if raw.blocks is None else [blocks[at] for at in raw.blocks]}
    return {"role": role, "content": [*_made(raw)]}


def _made(raw: Raw) -> Iterator[Json]:
    text = text_of(raw)
    if raw["role"] == "tool":
        failed = {"is_error": True} if text.startswith(ERROR) else {}
        content = {"content": text.removeprefix(ERROR)} if text.strip() else {}
        yield {"type": "tool_result", "tool_use_id": raw["tool_call_id"], **content, **failed}
        return
    if text.strip():
        yield {"type": "text", "text": text}
    for call in raw.get("tool_calls") or ():
        function = call["function"]
        yield {
            "type": "tool_use",
            "id": call["id"],
            "name": function["name"],
            "input": object_of(function["arguments"]),
        }


def as_blocks(content: Any) -> list[Json]:
    """A new list of the blocks of a content: a text is one block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def joined(messages: Iterable[Json]) -> list[Json]:
    """The messages with neighbours of one role in one, as the API reads them, without empty ones."""
    joined: list[Json] = []
    for message in messages:
        if not message["content"]:
            continue
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1]["content"] += message["content"]
        else:
            joined.append(message)
    return joined


def _all(messages: Iterable[Json]) -> Iterator[Json]:
    return (block for message in messages for block in message["content"])


def _marks(blocks: Iterable[Json]) -> list[Any]:
    return [block[MARK] for block in blocks if block.get(MARK)]


def _unmarked(blocks: list[Json], *, but_last: bool) -> list[Json]:
    """The blocks without marks; `but_last` keeps the last mark."""
    last = max((at for at, block in enumerate(blocks) if block.get(MARK)), default=None) if but_last else None
    return [block if at == last or MARK not in block else _bare(block) for at, block in enumerate(blocks)]


def _bare(block: Json) -> Json:
    return {name: value for name, value in block.items() if name != MARK}


def _marked(messages: list[Json], mark: Any) -> list[Json]:
    """The messages with MARKED_MESSAGES marks: the caller's last ones, else at the ends of the user's last messages."""
    placed = [(at, place, block) for at, one in enumerate(messages) for place, block in enumerate(one["content"])]
    places = [(at, place) for at, place, block in placed if block.get(MARK)]
    own = [_last_markable(at, message) for at, message in enumerate(messages) if message["role"] == "user"]
    chosen = set((places or [place for place in own if place])[-MARKED_MESSAGES:])
    return [
        message
        | {
            "content": [
                (block if block.get(MARK) else block | {MARK: mark}) if (at, place) in chosen else _bare(block)
                for place, block in enumerate(message["content"])
            ]
        }
        for at, message in enumerate(messages)
    ]


def _last_markable(at: int, message: Json) -> tuple[int, int] | None:
    markable = [place for place, block in enumerate(message["content"]) if block.get("type") not in BLOCKS]
    return (at, markable[-1]) if markable else None
