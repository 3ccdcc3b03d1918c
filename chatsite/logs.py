"""Configures the log: lines for people or JSON for programs. Neither contains text of a conversation."""

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
"""The fields that a line may have beside its message; Django's own lines have whole requests, queries included."""

requests = logging.getLogger("chatsite.requests")

Send = Callable[[dict[str, Any]], Awaitable[None]]


def config(how: str) -> dict[str, Any]:
    """The configuration of `logging` for the LOG_FORMAT `how`; as JSON, each request and compaction has a line."""
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
            # A wrong Host header is the sender's fault and answered with an error.
            "django.security.DisallowedHost": {"level": "CRITICAL"},
            # A form with too many fields or files is the sender's fault too.
            "django.security.TooManyFieldsSent": {"level": "CRITICAL"},
            "django.security.TooManyFilesSent": {"level": "CRITICAL"},
            "chatsite": {"level": level},
            "conversations": {"level": level},
            "axes": {"level": "ERROR"},
            # The library logs unreadable messages of tool servers, which the caller reports already.
            "mcp": {"level": "CRITICAL"},
            # These log a traceback each second while Redis is away; `conversations.runtime.relay` reports it once.
            "channels_redis": {"level": "CRITICAL"},
            "django_redis": {"level": "CRITICAL"},
            # It logs people's search queries.
            "uvicorn.access": as_others | {"level": "WARNING"},
            "uvicorn": as_others,
        },
    }


def traceback_of(error: BaseException | None) -> str:
    """The traceback of an exception without its message, which may quote somebody's text or a key."""
    parts: list[str] = []
    while error is not None:
        frames = "".join(format_tb(error.__traceback__))
        kind = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
        parts.append(f"Traceback (most recent call last):\n{frames}{kind}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n\nwhich came of:\n\n".join(parts)


class KindsOfFaults(logging.Filter):
    """Shortens asyncio's messages to the kind of fault: they quote arguments of tasks, which may be private.

    Lines about requests that were refused have no traceback: the sender's fault would fill the log.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name == "asyncio":
            record.msg, record.args = re.split(r"[\n(<]", record.getMessage())[0].strip(), ()
        if record.name == "django.request" and record.levelno < logging.ERROR:
            record.exc_info = None
        return True


class LineFormatter(logging.Formatter):
    """Formats a line for people."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name}: {message}", style="{")

    def formatException(self, ei: tuple[Any, BaseException | None, TracebackType | None]) -> str:
        return traceback_of(ei[1])


def json_formatter() -> logging.Formatter:
    """The formatter for JSON; structlog (7 MB) is only imported here."""
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
def request_logging(scope: dict[str, Any], send: Send) -> Iterator[Send]:
    """`send` with the request's id added to the response.

    Lines logged within the `with` block have the id too; at its end, the request itself is logged.
    """
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
            fields = {"method": scope["method"], "path": scope["path"], "status": status, "ms": ms}
            requests.info("request", extra=fields)
