"""Reads the neutral form: messages as in OpenAI's chat completions, with a title, one conversation a file.

Messages may stand alone in a list or in JSON lines, have Anthropic's blocks, or ShareGPT's fields `from` and `value`.
Other fields are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from conversations.context.system_prompt import clean_system_prompt
from conversations.exchange.document import ImportedMessage, ImportedSource
from conversations.exchange.fields import fault, read_kind, read_text
from conversations.exchange.formats.foreign_images import Images
from conversations.exchange.formats.instructions import with_instructions
from conversations.exchange.formats.message_forms import ATTACHED, as_messages, is_message
from conversations.exchange.formats.messages import Reader
from conversations.exchange.json_stream import Entry
from conversations.models import Message
from conversations.models.conversation import MAX_SYSTEM_PROMPT_CHARS, MAX_TITLE_CHARS

NAME = "a conversation with a title and messages"
SHAREGPT = "conversations"


def recognises(data: object) -> bool:
    return isinstance(data, dict) and "format" not in data and ("messages" in data or SHAREGPT in data)


def gathered(found: Iterable[Entry]) -> Iterator[Entry]:
    """The entries of a file; messages that follow each other in its list are one conversation."""
    together: list[Any] = []
    for entry in found:
        if entry.is_listed and is_message(entry.value):
            together.append(entry.value)
            continue
        if together:
            yield Entry({"messages": together}, is_listed=True)
            together = []
        yield entry
    if together:
        yield Entry({"messages": together}, is_listed=True)


def read_conversation(data: dict[str, Any], images: Images | None = None) -> ImportedSource:
    """The conversation. Raises Invalid, naming the place."""
    reader = _Reader()
    listed = data["messages"] if "messages" in data else data[SHAREGPT]
    if isinstance(listed, list):
        listed = list(chain.from_iterable(as_messages(one, images or Images()) for one in listed))
    lines = list(reader.read(listed))
    system_prompt = ""
    if lines and lines[0].role == Message.Role.SYSTEM:
        system_prompt = _system_prompt(lines.pop(0))
    return ImportedSource(
        title=read_text("title", data.get("title"), limit=MAX_TITLE_CHARS),
        system_prompt=system_prompt,
        lines=with_instructions(lines),
        results=reader.results,
        fields={"kind": read_kind("kind", data["kind"])} if "kind" in data else {},
    )


class _Reader(Reader):
    """Reads messages with the images of their parts."""

    def _line(self, place: str, role: str, message: dict[Any, Any]) -> ImportedMessage:
        return replace(super()._line(place, role, message), files=tuple(message.get(ATTACHED, ())))


def _system_prompt(line: ImportedMessage) -> str:
    if len(line.content) > MAX_SYSTEM_PROMPT_CHARS:
        raise fault("messages[0].content", f"a system prompt has at most {MAX_SYSTEM_PROMPT_CHARS:,} characters.")
    return clean_system_prompt(line.content)
