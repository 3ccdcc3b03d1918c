"""What the log says, and how: a line for people, or JSON for programs. No text of a conversation is in either."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from traceback import format_tb
from types import TracebackType
from typing import Any
from uuid import uuid4

from conversations.runtime import log_context

REQUEST_ID = b"x-request-id"
_SANE = re.compile(rb"[A-Za-z0-9._-]{1,64}")
FIELDS = (
    *("request_id", "user_id", "conversation_id", "reply_id", "compaction_id", "method", "path", "status", "ms"),
    *("trigger", "strategy", "summariser", "before", "after", "facts_found", "facts_kept", "model", "prompt_tokens"),
    *("completion_tokens", "tool_server"),
)
"""What a line may say beside its words. Django's own lines carry whole requests, query and all."""

requests = logging.getLogger("chatsite.requests")

Send = Callable[[dict[str, Any]], Awaitable[None]]


def config(how: str) -> dict[str, Any]:
    """Of `logging`, for LOG_FORMAT `how`. In JSON there is a line for each request, and for each compaction."""
    is_json = how == "json"
    formatter = "chatsite.logs.json_formatter" if is_json else "chatsite.logs.LineFormatter"
    level = "INFO" if is_json else "WARNING"
    as_others: dict[str, Any] = {"handlers": [], "propagate": True}  # in place of handlers of its own
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"chosen": {"()": formatter}},
        "filters": {"kinds": {"()": "chatsite.logs.KindsOfFaults"}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "chosen", "filters": ["kinds"]}},
        "root": {"handlers": ["console"], "level": "WARNING"},
        "loggers": {
            # A wrong Host header is the sender's fault, and answered as such.
            "django.security.DisallowedHost": {"level": "CRITICAL"},
            # So is a form of too many fields, or files.
            "django.security.TooManyFieldsSent": {"level": "CRITICAL"},
            "django.security.TooManyFilesSent": {"level": "CRITICAL"},
            "chatsite": {"level": level},
            "conversations": {"level": level},
            "axes": {"level": "ERROR"},
            # It writes down what a server of tools sent that it cannot read: who called it is told.
            "mcp": {"level": "CRITICAL"},
            # It writes a traceback a second while Redis is away; `conversations.relay` says that it is, once.
            "channels_redis": {"level": "CRITICAL"},
            "django_redis": {"level": "CRITICAL"},
            # It writes down what people search for.
            "uvicorn.access": as_others | {"level": "WARNING"},
            "uvicorn": as_others,
        },
    }


def traceback_of(error: BaseException | None) -> str:
    """Where it came from, and of what kind it is. Not its words: they may quote what somebody wrote, or a key."""
    parts: list[str] = []
    while error is not None:
        frames = "".join(format_tb(error.__traceback__))
        kind = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
        parts.append(f"Traceback (most recent call last):\n{frames}{kind}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n\nwhich came of:\n\n".join(parts)


class KindsOfFaults(logging.Filter):
    """asyncio writes down what a task or a callback was given, and that can be anything: only what happened is kept."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name == "asyncio":
            record.msg, record.args = re.split(r"[\n(<]", record.getMessage())[0].strip(), ()
        return True


class LineFormatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name}: {message}", style="{")

    def formatException(self, ei: tuple[Any, BaseException | None, TracebackType | None]) -> str:
        return traceback_of(ei[1])


def json_formatter() -> logging.Formatter:
    """Only here is structlog loaded, 7 MB."""
    from structlog import processors, stdlib

    return stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            stdlib.add_log_level,
            stdlib.add_logger_name,
            processors.TimeStamper(fmt="iso", utc=True),
            lambda _, __, event: {**log_context.ids(), **event},
            stdlib.ExtraAdder(allow=FIELDS),
            _traced,
        ],
        processors=[
            stdlib.ProcessorFormatter.remove_processors_meta,
            processors.JSONRenderer(default=str, ensure_ascii=False),
        ],
    )


def _traced(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if info := event.pop("exc_info", None):
        event["exception"] = traceback_of(info[1])
    return event


@contextmanager
def of_request(scope: dict[str, Any], send: Send) -> Iterator[Send]:
    """`send` with the request's id on the answer; all that is logged meanwhile has it too, and at the end is a line."""
    given = dict(scope["headers"]).get(REQUEST_ID, b"")
    id = given if _SANE.fullmatch(given) else uuid4().hex.encode()
    began, status = time.perf_counter(), None

    async def marked(message: dict[str, Any]) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
            message = {**message, "headers": [*message.get("headers", ()), (REQUEST_ID, id)]}
        await send(message)

    with log_context.bound(request_id=id.decode()):
        try:
            yield marked
        finally:
            ms = round(1000 * (time.perf_counter() - began), 1)
            said = {"method": scope["method"], "path": scope["path"], "status": status, "ms": ms}
            requests.info("request", extra=said)
