"""Spans of requests to models and of compactions, for OpenTelemetry. They hold no words of prompts and answers.

Names: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from django.conf import settings

from conversations.llm.errors import ModelError
from conversations.llm.port import Delta

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer


def is_on() -> bool:
    return bool(settings.OTEL_EXPORTER_OTLP_ENDPOINT)


async def traced(
    deltas: AsyncGenerator[Delta], *, provider: str, model: str, host: str, most: int | None
) -> AsyncGenerator[Delta]:
    """The deltas of one request to a model, with a span from the request to its end by either side."""
    known: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "server.address": host,
        **({"gen_ai.request.max_tokens": most} if most else {}),
    }
    # The span is not the current one: a generator may be closed in another context than that which began it.
    span = _tracer().start_span(f"chat {model}", kind=_client(), attributes=known)
    try:
        async with aclosing(deltas):
            async for delta in deltas:
                if delta.finish_reason is not None or delta.spent is not None:
                    span.set_attributes(_outcome(delta))
                yield delta
    except ModelError as fault:
        _failed(span, fault.kind)
        raise
    finally:
        span.end()


@contextmanager
def compaction(trigger: str) -> Iterator[None]:
    """A span of a compaction, around those of its requests; none where no endpoint is set."""
    if not is_on():
        yield
        return
    known = {"chatsite.compaction.trigger": trigger}
    with _tracer().start_as_current_span("compaction", attributes=known, record_exception=False) as span:
        try:
            yield
        except BaseException as fault:
            _failed(span, type(fault).__name__)
            raise


def _outcome(delta: Delta) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if delta.finish_reason is not None:
        found["gen_ai.response.finish_reasons"] = [delta.finish_reason]
    if delta.spent is not None:
        found["gen_ai.usage.input_tokens"] = delta.spent.prompt
        found["gen_ai.usage.output_tokens"] = delta.spent.completion
        found["gen_ai.usage.cache_read.input_tokens"] = delta.spent.cached
    return found


def _failed(span: Span, kind: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))


def _client() -> Any:
    from opentelemetry.trace import SpanKind

    return SpanKind.CLIENT


@cache
def _tracer() -> Tracer:
    """The tracer of this process; made at its first span, as its thread does not survive a fork.

    The exporter reads the other variables of OpenTelemetry: headers, sampling, the name of the service.
    """
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    name = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "chatsite"}
    traces = TracerProvider(resource=Resource.create(name))
    traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return traces.get_tracer("chatsite")
