"""Compresses a JSON file of messages: the engine alone, without a database, a server or a model.

    python -m compression chat.json --window 8000 > compressed.json

The file is a list of messages as OpenAI's chat completions have them, an object with that list as `messages`, or JSON
lines of messages. The output has the messages to send in their place, and the tokens before and after. `created_at` of
a message, where it is given, is its time in ISO 8601.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from compression.core.errors import CompactionFailed, CompactionSkipped
from compression.core.extractive.summariser import Extractive
from compression.core.pipeline import compact
from compression.core.plan.policy import Policy
from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD, Draft, Steering, ToolUse, Transcript, Turn, Window, total_tokens

ROLES = ("system", "developer", "user", "assistant", "tool")
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)

Message = Mapping[str, Any]


class BadInput(ValueError):
    """A message that cannot be read; the text names its place."""


def compressed(messages: Sequence[Message], *, window: int, reply: int, threshold: float = 0.0) -> dict[str, Any]:
    """The messages to send in place of `messages`, and the tokens of both.

    `window` and `reply`, the room for the reply, are in tokens. What takes at most `threshold` of the window stays as
    it is. Raises BadInput, or CompactionFailed where the result would not fit.
    """
    groups = list(_groups(messages))
    lead = [message for message in messages if message["role"] in ROLES[:2]]
    turns = [_turn(number, group) for number, group in enumerate(groups)]
    system = sum(count_tokens(_text(message)) + MESSAGE_OVERHEAD for message in lead)
    before = system + total_tokens(turns)
    unchanged = {"messages": list(messages), "before": before, "after": before, "summarised": 0}
    if not turns or before <= threshold * window:
        return unchanged
    transcript = Transcript(tuple(turns), Window(window, reply), system, waiting=int(turns[-1].role == "user"))
    try:
        draft = asyncio.run(_compacted(transcript))
    except CompactionSkipped:
        if before + reply > window:
            asked = f"{before:,} tokens and {reply:,} for the reply do not fit a window of {window:,} tokens"
            raise CompactionFailed("plan", f"{asked}, and no summary would be small enough.") from None
        return unchanged
    kept = [turn.id for turn in (*draft.kept, *draft.tail)]
    sent = [message for id in kept for message in groups[int(id)]]
    summary = {"role": "system", "content": draft.context}
    after = system + draft.context_tokens + total_tokens((*draft.kept, *draft.tail))
    return {
        "messages": [*lead, summary, *sent],
        "before": before,
        "after": after,
        "summarised": len(turns) - len(kept),
    }


async def _compacted(transcript: Transcript) -> Draft:
    return await compact(
        transcript, Policy(), steering=Steering(), summariser=Extractive(), count=count_tokens, on_stage=_silent
    )  # fmt: skip


async def _silent(stage: str, percent: int) -> None:
    """A compaction of a file takes milliseconds: nobody waits for its progress."""


def _groups(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Messages that stay together: one alone, or one with tool calls and their results. Instructions are in none."""
    group: list[Message] = []
    for place, message in enumerate(messages):
        _require(place, message)
        if message["role"] == "tool" and group and group[0].get("tool_calls"):
            group.append(message)
            continue
        if group:
            yield group
        group = [] if message["role"] in ROLES[:2] else [message]
    if group:
        yield group


def _require(place: int, message: Any) -> None:
    """Raise BadInput where a field of a message cannot be read."""
    if not isinstance(message, Mapping) or message.get("role") not in ROLES:
        raise BadInput(f"messages[{place}].role: must be one of {', '.join(ROLES)}.")
    if not isinstance(message.get("content"), str | list | None):
        raise BadInput(f"messages[{place}].content: must be text or a list of parts.")
    if not _are_calls(message.get("tool_calls")):
        raise BadInput(f"messages[{place}].tool_calls: must be a list of objects, each with a function.")
    try:
        _moment(place, message)
    except (ValueError, OverflowError):
        given = str(message["created_at"])[:80]
        raise BadInput(f"messages[{place}].created_at: must be a time in ISO 8601, not {given!r}.") from None


def _are_calls(calls: Any) -> bool:
    if not isinstance(calls, list | None):
        return False
    return all(isinstance(call, Mapping) and isinstance(call.get("function"), Mapping | None) for call in calls or ())


def _turn(number: int, group: Sequence[Message]) -> Turn:
    first, *answers = group
    results = {str(answer.get("tool_call_id")): _text(answer) for answer in answers}
    uses = tuple(_uses(first.get("tool_calls") or (), results))
    texts = [_text(message) for message in group] + [f"{use.name}{use.arguments}" for use in uses]
    tokens = sum(map(count_tokens, texts)) + MESSAGE_OVERHEAD * (1 + len(uses))
    return Turn(str(number), first["role"], _text(first), _moment(number, first), tokens, first.get("name") or "", uses)


def _uses(calls: Sequence[Mapping[str, Any]], results: Mapping[str, str]) -> Iterator[ToolUse]:
    for call in calls:
        function = call.get("function") or {}
        id = str(call.get("id") or "")
        yield ToolUse(id, str(function.get("name") or ""), str(function.get("arguments") or ""), results.get(id))


def _moment(number: int, message: Message) -> datetime:
    """The time of a message, each later than the one before; messages without times are a second apart."""
    given = message.get("created_at")
    if given is None:
        return BEGINNING + number * SECOND
    moment = datetime.fromisoformat(str(given))
    moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    return moment + number * timedelta(microseconds=1)


def _text(message: Message) -> str:
    """The text of a message; parts that are no text are named."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in content if isinstance(part, Mapping))


def _messages(data: bytes) -> list[Any]:
    """The messages of a file. Raises BadInput."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise BadInput(f"not UTF-8 text, from byte {fault.start:,} on.") from None
    try:
        given = json.loads(text)
    except json.JSONDecodeError as fault:
        if fault.msg != "Extra data":
            raise BadInput(f"not valid JSON: {fault}.") from None
        given = [_of_line(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    except RecursionError:
        raise BadInput("not valid JSON: nested too deeply.") from None
    messages = given.get("messages") if isinstance(given, dict) else given
    if not isinstance(messages, list) or not messages:
        raise BadInput("messages: must be a list of at least one message.")
    return messages


def _of_line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (json.JSONDecodeError, RecursionError) as fault:
        raise BadInput(f"line {number}: not valid JSON: {getattr(fault, 'msg', 'nested too deeply')}.") from None


def _tokens(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be a whole number of tokens from 1 on")
    return int(text)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m compression", description=__doc__.splitlines()[0])
    parser.add_argument("file", type=argparse.FileType("rb"), help='a JSON file; "-" is the input')
    parser.add_argument("--window", type=_tokens, default=8_000, help="tokens of the model's window")
    parser.add_argument("--reply", type=_tokens, default=1_000, help="tokens kept free for the reply")
    parser.add_argument("--threshold", type=float, default=0.0, help="leave alone what takes this share of the window")
    options = parser.parse_args()
    try:
        messages = _messages(options.file.read())
        found = compressed(messages, window=options.window, reply=options.reply, threshold=options.threshold)
    except (BadInput, CompactionFailed) as fault:
        sys.exit(f"{options.file.name}: {fault}")
    # Half of a surrogate pair, which JSON can name, is no UTF-8.
    sys.stdout.buffer.write(json.dumps(found, ensure_ascii=False, indent=2).encode(errors="replace") + b"\n")


if __name__ == "__main__":
    main()
