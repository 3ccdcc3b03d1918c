"""What the scripted model server can say, and the requests it was sent."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Event
from typing import Any, Literal

from compression.core.sections import SECTIONS, SUMMARY
from compression.core.tokens import count_tokens

SUMMARY_MARKER = "[Compressed Message Summary]"
CLOSING_MARKER = "[Request for a summary]"
OF_CODEX = "You are performing a CONTEXT CHECKPOINT COMPACTION"
TRUNCATED = "… [truncated]"
ORPHAN = "[Result of a tool]\n"
ELIDED = re.compile(
    re.escape(ORPHAN) + r"\[Result of a tool \(#[\d,]+, [\d,]+ characters\) left out to make room: .*\]"
)
"""What is sent in an emergency for the result of a tool whose call is not known."""
QUOTE = re.compile(r"^(\S[^\n]{7,})\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
"""Quoted data, between two lines that are equal."""

Fault = Literal[
    "reset",  # the connection is torn down instead of an answer
    "stall",  # the headers, then nothing more
    "half",  # half of the text, then the connection is torn down
    "half_stall",  # half of the text, then nothing more
    "unended",  # all of the text, but no finish_reason and no [DONE]
    "no_reason",  # all of it and the end of the stream, but no finish_reason
    "other_form",  # one object in place of a stream, and a stream in place of one object
    "no_names",  # Anthropic's events, whose types stand in their data alone
    "no_blanks",  # events without a blank line between them
    "html",  # 200 with a web page
    "no_choices",  # 200 with an empty list of choices, or a message without content
    "null",  # 200 with a null content
    "bytes",  # 200 with bytes that are not UTF-8
    "late_reset",  # all of the text and the finish_reason, then the connection is torn down
    "error_midway",  # half of the text, then an error event with `code`
]


@dataclass(frozen=True, slots=True)
class Answer:
    """One scripted answer; times in seconds. With a `status` other than 200, `code` and `message` are its error's.

    `calls` are the tools that it calls after its text, each (name, arguments as text). `events` are streamed as they
    stand in place of all that, for what servers do that no other answer here does. A stream that has sent the words of
    one of `holds` goes on when its event is set (OpenAI's API).
    """

    text: str = "All right."
    delay: float = 0.0  # before anything is sent
    drip: float = 0.0  # before each piece of a stream
    piece: int | None = None  # characters a piece; None: a word each
    finish_reason: str = "stop"
    refusal: bool = False
    usage: dict[str, Any] | Literal["counted"] | None = "counted"
    status: int = 200
    code: str = ""
    message: str = "scripted"
    retry_after: str | None = None
    fault: Fault | None = None
    thoughts: str = ""  # what the model thinks first, told in pieces of a word by chat completions
    thinks_in: str = "reasoning_content"  # the field of chat completions for it
    calls: Sequence[tuple[str, str]] = ()
    signature: str = ""  # of the thoughts that led to the calls, which Gemini puts on the first one
    events: Sequence[dict[str, Any]] = ()
    holds: Mapping[str, Event] = field(default_factory=dict)
    location: str | None = None  # of a redirection
    facts: Any = None  # of its models: JSON, or bytes as they are

    @property
    def pieces(self) -> list[str]:
        if self.piece is None:
            return re.findall(r"\s*\S+\s*", self.text) or [self.text]
        return [self.text[start : start + self.piece] for start in range(0, len(self.text), self.piece)]

    @property
    def reason(self) -> str:
        return "tool_calls" if self.calls and self.finish_reason == "stop" else self.finish_reason

    @property
    def tokens(self) -> int:
        """Of what is written, by our own count."""
        return count_tokens(self.text) + sum(count_tokens(name) + count_tokens(said) for name, said in self.calls)


def pieces_of(arguments: str) -> list[str]:
    """Arguments as they are streamed: in several pieces, where there are several characters."""
    size = max(1, len(arguments) // 3)
    return [arguments[start : start + size] for start in range(0, len(arguments), size)]


def call_id(request: Request, place: int) -> str:
    """Of the call at a place of the answer: unlike those of any other answer in the conversation."""
    asked = sha256(json.dumps(request.body, sort_keys=True).encode()).hexdigest()[:12]
    return f"call_{asked}_{place}"


@dataclass(frozen=True, slots=True)
class Request:
    """A request as the server received it."""

    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)
    path: str = "/v1/chat/completions"

    @property
    def is_about_model(self) -> bool:
        """Whether it asks a server of one's own what it knows of its models, by that server's own address."""
        return self.path.partition("?")[0] in ("/api/ps", "/api/show", "/api/v0/models", "/props", "/model/info")

    @property
    def in_blocks(self) -> bool:
        """Whether it came by Anthropic's messages API."""
        return self.path.endswith("/messages")

    @property
    def is_listing(self) -> bool:
        """Whether it asks which models there are."""
        return self.path.partition("?")[0].endswith("/models")

    @property
    def messages(self) -> list[dict[str, Any]]:
        """In the shape of chat completions, by whichever API it came: a message a block, calls with what is said."""
        return list(_messages_of(self.body)) if self.in_blocks else self.body["messages"]

    @property
    def text(self) -> str:
        """All contents, joined by newlines."""
        return "\n".join(text_of(message) for message in self.messages)

    @property
    def is_summary(self) -> bool:
        """Whether it asks for a summary. A compressed chat carries one too, but behind its marker."""
        if self.is_closing:
            return True
        systems = [text_of(message) for message in self.messages if message["role"] == "system"]
        # To a model that takes no system message its instructions come as the beginning of the first of the user.
        texts = systems or [text_of(message)[:2_000] for message in self.messages[:1]]
        return any(SUMMARY in text and SUMMARY_MARKER not in text for text in texts)

    @property
    def is_closing(self) -> bool:
        """Whether it asks for a summary at the end of a conversation, which it begins with; Codex asks so too."""
        return bool(self.messages) and text_of(self.messages[-1]).startswith((CLOSING_MARKER, OF_CODEX))

    @property
    def calls(self) -> list[Any]:
        """The calls of tools in its messages."""
        return [call for message in self.messages for call in message.get("tool_calls") or ()]

    @property
    def has_broken_calls(self) -> bool:
        """Whether a call has no function with a name and arguments, which providers refuse."""
        functions = [call.get("function") if isinstance(call, dict) else None for call in self.calls]
        return not all(
            isinstance(one, dict) and isinstance(one.get("name"), str) and isinstance(one.get("arguments"), str)
            for one in functions
        )

    @property
    def tokens(self) -> int:
        """Of all that it carries, by our own count: messages, the calls in them, the tools that it offers."""
        calls = [call["function"] for call in self.calls]
        called = sum(count_tokens(call["name"]) + count_tokens(call["arguments"]) for call in calls)
        defined = (json.dumps(tool, separators=(",", ":"), ensure_ascii=False) for tool in self.body.get("tools") or ())
        offered = [count_tokens(text) for text in defined]
        said = sum(count_tokens(text_of(message)) + 4 for message in self.messages)
        return said + called + (8 + sum(offered) if offered else 0)

    @property
    def tools(self) -> list[str]:
        """The names of those that it offers."""
        return [tool.get("function", tool)["name"] for tool in self.body.get("tools") or ()]


def as_blocks(content: Any) -> list[dict[str, Any]]:
    """The blocks of Anthropic's API: a text is one of them."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _messages_of(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for block in as_blocks(body.get("system", [])):
        yield {"role": "system", "content": block["text"]}
    for message in body["messages"]:
        yield from _spoken(message)


def _spoken(message: dict[str, Any]) -> list[dict[str, Any]]:
    spoken: list[dict[str, Any]] = []
    for block in as_blocks(message["content"]):
        if block["type"] == "tool_use":
            spoken = spoken or [{"role": "assistant", "content": ""}]
            function = {"name": block["name"], "arguments": json.dumps(block["input"])}
            spoken[-1].setdefault("tool_calls", []).append({"id": block["id"], "function": function})
            continue
        role = "tool" if block["type"] == "tool_result" else message["role"]
        spoken.append({"role": role, "content": block.get("text") or block.get("content") or ""})
    return spoken


def text_of(message: dict[str, Any]) -> str:
    """The text of a message whose content is a string, a list of parts, or missing."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part)


def summary_of(request: Request) -> str:
    """A valid summary of what a summarisation quotes: all headings, with the first and the last quoted line."""
    text = text_of(request.messages[-1])
    quotes = [found[2] for found in QUOTE.finditer(text)]
    lines = [line.strip() for line in (quotes[-1] if quotes else text).splitlines()]
    lines = [line[:120] for line in lines if line and not line.startswith("[")] or ["nothing"]
    bodies = (f"They began with: {lines[0]}", "-", "-", f"- Done: {lines[-1]}", "-")
    return "\n\n".join(f"## {name}\n{body}" for name, body in zip(SECTIONS, bodies, strict=True))


def assert_every_message_represented(
    messages: Iterable[tuple[str, bool, bool]], *, request: Request, summary_marker: str = SUMMARY_MARKER
) -> None:
    """Invariant I1, for one request.

    `messages` are the history that the request was made from, in order, as (content, covered by an active
    checkpoint, protected). Each must be covered or stand in the request verbatim (or cut, where the sent text ends
    in "… [truncated]"), or have a placeholder of its own where it is a tool's result that was left out; one that is
    covered and not protected must not; and where anything is covered, exactly one message of the request carries the
    summary. Equal contents are told apart by their number.
    """
    rows = list(messages)
    sent = [text_of(message) for message in request.messages]
    summaries = [text for text in sent if text.startswith(summary_marker)]
    assert len(summaries) == any(covered for _, covered, _ in rows), f"{len(summaries)} summaries in the request"
    contents = {content for content, _, _ in rows}
    counts = Counter(_original(text, contents) for text in sent)
    missing = []
    for content in contents:
        needed = sum(not covered for text, covered, _ in rows if text == content)
        allowed = sum(protected or not covered for text, covered, protected in rows if text == content)
        times = counts[content]
        missing += [f"{content[:80]!r} ({times} of {needed})"] * (needed - times)
        assert times <= allowed, f"covered and still sent: {content[:80]!r} ({times}, at most {allowed})"
    placeholders = sum(bool(ELIDED.fullmatch(text)) for text in sent)
    assert len(missing) == placeholders, f"neither covered nor sent: {missing}; {placeholders} placeholders"


def _original(sent: str, contents: set[str]) -> str:
    """The content that a sent text stands for: itself, unless it was cut."""
    if sent not in contents:
        sent = sent.removeprefix(ORPHAN)
    if sent in contents or not sent.endswith(TRUNCATED):
        return sent
    start = sent.removesuffix(TRUNCATED).rstrip()
    return next((content for content in contents if content.startswith(start)), sent)
