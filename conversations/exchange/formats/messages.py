"""Reads messages in the form of OpenAI's chat completions, with dates, as both our formats have them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from conversations.context.elisions import LONGEST_EXCERPT
from conversations.exchange.attachments import (
    checked_words,
    pixels_of,
    read_files,
    read_pastes,
    require_pixels,
    room_of,
)
from conversations.exchange.document import ImportedCall, ImportedMessage, ImportedResult
from conversations.exchange.fields import (
    fault,
    read_choice,
    read_date,
    read_flag,
    read_list,
    read_number,
    read_object,
    read_text,
)
from conversations.exchange.reply_figures import read_figures
from conversations.exchange.tool_calls import MAX_CALL_TEXT, cut_off, read_call
from conversations.llm.thinking.thoughts import CUT, MAX_THOUGHT_CHARS
from conversations.llm.tools import MAX_RESULT_CHARS
from conversations.models import Attachment, Message
from conversations.validation import MAX_CONTENT, clean_text

MAX_MESSAGES = 100_000
MAX_CALLS = 1_000
MAX_NAME = 100
MAX_RESULT = MAX_RESULT_CHARS + 1_000
"""The most characters of a tool's result that are stored; a longer one is cut, with a note."""
ROLES = tuple(Message.Role.values)
STATUSES = tuple(
    str(status) for status in (Message.Status.COMPLETE, Message.Status.STOPPED, Message.Status.INTERRUPTED)
)

FINISH_REASONS = ("", *Message.FinishReason.values)


class Reader:
    """Reads the messages of one file in order, and keeps its calls and which of them are answered.

    A result belongs to the latest call of its id: real transcripts use the same id again and again. `with_files` and
    `with_outcomes` are for our own export: files and pastes, and outcomes of calls and replies; in other files these
    words may mean something else.
    """

    def __init__(self, *, with_files: bool = False, with_outcomes: bool = False) -> None:
        self._with_files, self._with_outcomes = with_files, with_outcomes
        self._unfinished: dict[int, ImportedResult] = {}
        self._pixels = 0
        self.results: dict[int, ImportedResult] = {}
        self._calls: dict[str, int] = {}
        self._call_numbers = count()
        self._ids: set[str] = set()

    def read(self, raw: object) -> Iterator[ImportedMessage]:
        """The messages that become rows. A tool's result for an earlier call goes to `results` instead."""
        for index, entry in enumerate(read_list("messages", raw, limit=MAX_MESSAGES)):
            place = f"messages[{index}]"
            message = read_object(place, entry)
            role = read_choice(f"{place}.role", message.get("role"), ROLES)
            if not (role == Message.Role.TOOL and self._answers(place, message)):
                yield self._line(place, role, message)
        self.results |= {number: note for number, note in self._unfinished.items() if number not in self.results}

    def _line(self, place: str, role: str, message: dict[str, Any]) -> ImportedMessage:
        files = self._files(f"{place}.attachments", message.get("attachments"), role) if self._with_files else ()
        content = _content(place, message, limit=MAX_CONTENT + room_of(files))
        words = checked_words(f"{place}.attachments", content, files)
        return ImportedMessage(
            role=role,
            content=content,
            files=files,
            pastes=read_pastes(f"{place}.pastes", message.get("pastes"), words) if self._with_files else (),
            created_at=read_date(f"{place}.created_at", message.get("created_at")),
            name=read_text(f"{place}.name", message.get("name"), limit=MAX_NAME),
            calls=self._read_calls(place, role, message),
            is_protected=read_flag(f"{place}.is_protected", message.get("is_protected")),
            status=read_choice(f"{place}.status", message.get("status", "complete"), STATUSES),
            finish_reason=self._finish_reason(place, role, message),
            model=read_text(f"{place}.model", message.get("model"), limit=200),
            id=self._id(place, message.get("id")),
            is_kept=read_flag(f"{place}.is_kept", message.get("is_kept")),
            is_elided=read_flag(f"{place}.is_elided", message.get("is_elided")),
            excerpt=read_number(f"{place}.excerpt", message.get("excerpt") or 0, high=LONGEST_EXCERPT),
            figures=self._figures(place, role, message),
        )

    def _finish_reason(self, place: str, role: str, message: dict[str, Any]) -> str:
        """The finish reason of a reply in our own export; "" in other files, where the word may mean something else."""
        if not self._with_outcomes or role != Message.Role.ASSISTANT:
            return ""
        return read_choice(f"{place}.finish_reason", message.get("finish_reason", ""), FINISH_REASONS)

    def _figures(self, place: str, role: str, message: dict[str, Any]) -> dict[str, Any]:
        """The figures and thoughts of a reply in our own export; none in other files."""
        is_ours = self._with_outcomes and role == Message.Role.ASSISTANT
        if not is_ours:
            return {}
        thoughts = read_text(f"{place}.thoughts", message.get("thoughts"), limit=MAX_THOUGHT_CHARS + len(CUT))
        return read_figures(f"{place}.usage", message.get("usage")) | ({"thoughts": thoughts} if thoughts else {})

    def _files(self, place: str, raw: object, role: str) -> tuple[Attachment, ...]:
        files = read_files(place, raw, role)
        self._pixels += pixels_of(files)
        require_pixels(place, self._pixels)
        return files

    def _answers(self, place: str, message: dict[str, Any]) -> bool:
        call_id = read_text(f"{place}.tool_call_id", message.get("tool_call_id"), limit=MAX_CALL_TEXT)
        if call_id not in self._calls:
            return False
        number = self._calls[call_id]
        if number in self.results:
            raise fault(f"{place}.tool_call_id", f"a second result of the call {call_id!r}.")
        self._id(place, message.get("id"))
        date = read_date(f"{place}.created_at", message.get("created_at"))
        longest = MAX_RESULT if self._with_outcomes else MAX_CONTENT
        self.results[number] = ImportedResult(_content(place, message, limit=longest), date)
        return True

    def _read_calls(self, place: str, role: str, message: dict[str, Any]) -> tuple[ImportedCall, ...]:
        raw = message.get("tool_calls")
        if not raw:
            return ()
        if role != Message.Role.ASSISTANT:
            raise fault(f"{place}.tool_calls", "only an assistant message makes calls.")
        calls = [
            read_call(
                f"{place}.tool_calls[{index}]", call, number=next(self._call_numbers), with_outcome=self._with_outcomes
            )
            for index, call in enumerate(read_list(f"{place}.tool_calls", raw, limit=MAX_CALLS))
        ]
        ids = [call.call_id for call in calls]
        if twice := next((call_id for call_id in ids if ids.count(call_id) > 1), None):
            raise fault(f"{place}.tool_calls", f"the call id {twice!r} appears twice.")
        self._calls |= {call.call_id: call.number for call in calls}
        self._unfinished |= {call.number: note for call in calls if (note := cut_off(call))}
        return tuple(calls)

    def _id(self, place: str, raw: object) -> str | None:
        if raw is None:
            return None
        message_id = clean_text(f"{place}.id", raw, limit=MAX_CALL_TEXT)
        if message_id in self._ids:
            raise fault(f"{place}.id", f"the message id {message_id!r} appears twice.")
        self._ids.add(message_id)
        return message_id


def _content(place: str, message: dict[str, Any], *, limit: int = MAX_CONTENT) -> str:
    """A message's text. Null is for calls without a word, as in OpenAI's API; a missing field is a fault."""
    if "content" not in message:
        raise fault(f"{place}.content", "is missing.")
    return read_text(f"{place}.content", message["content"], limit=limit)
