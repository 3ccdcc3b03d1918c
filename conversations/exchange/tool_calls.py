"""Tool calls in a file: as in OpenAI's API, and in our own form with their outcome."""

from __future__ import annotations

from typing import Any

from conversations.exchange.document import ImportedCall, ImportedResult
from conversations.exchange.fields import read_choice, read_number, read_object, read_text
from conversations.messages.tool_calls import CUT_OFF
from conversations.models import ToolCall
from conversations.validation import clean_text

MAX_CALL_TEXT = 200
MAX_ERROR_CHARS = 10_000
STATUSES = tuple(ToolCall.Status.values)


def call_json(call: ToolCall) -> dict[str, Any]:
    how = {"status": call.status, "error": call.error, "duration_ms": call.duration_ms}
    called = {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    return called | {key: value for key, value in how.items() if value not in ("", None)}


def read_call(place: str, raw: object, *, number: int, with_outcome: bool) -> ImportedCall:
    """A tool call; one that had not ended has failed. Raises Invalid."""
    entry = read_object(place, raw)
    function = read_object(f"{place}.function", entry.get("function"))
    call = ImportedCall(
        number,
        clean_text(f"{place}.id", entry.get("id"), limit=MAX_CALL_TEXT),
        clean_text(f"{place}.function.name", function.get("name"), limit=MAX_CALL_TEXT),
        read_text(f"{place}.function.arguments", function.get("arguments")),
    )
    return _with_outcome(place, call, entry) if with_outcome else call


def _with_outcome(place: str, call: ImportedCall, entry: dict[str, Any]) -> ImportedCall:
    status = read_choice(f"{place}.status", entry.get("status", ToolCall.Status.DONE), STATUSES)
    error = read_text(f"{place}.error", entry.get("error"), limit=MAX_ERROR_CHARS)
    took = entry.get("duration_ms")
    if status in ToolCall.UNFINISHED:
        status, error = ToolCall.Status.FAILED, CUT_OFF
    return ImportedCall(
        call.number,
        call.call_id,
        call.name,
        call.arguments,
        status,
        error,
        None if took is None else read_number(f"{place}.duration_ms", took),
    )


def cut_off(call: ImportedCall) -> ImportedResult | None:
    """The result that the model gets for a call that had not ended; None for any other call."""
    return ImportedResult(f"Error: {call.error}", None) if call.error == CUT_OFF else None
