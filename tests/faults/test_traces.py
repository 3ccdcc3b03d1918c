"""Spans of OpenTelemetry, as a collector gets them from a site that is a process of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.faults.serving import serving
from tests.servers import wait_until

pytestmark = pytest.mark.once


class Collector:
    """Keeps the requests of an exporter."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def spans(self) -> list[tuple[Any, dict[str, Any]]]:
        """Each span with its attributes."""
        found = []
        for body in self.bodies:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    found += [(span, {one.key: value_of(one.value) for one in span.attributes}) for span in scope.spans]
        return found

    def named(self) -> dict[str, tuple[Any, dict[str, Any]]]:
        return {span.name: (span, known) for span, known in self.spans()}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def value_of(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [value_of(one) for one in value.array_value.values] if kind == "array_value" else getattr(value, kind)


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.close()


def test_a_collector_gets_requests_and_compactions_and_no_word_of_them(tmp_path: Path, collector: Collector) -> None:
    traces = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "COMPRESSION_AHEAD": "off",
    }
    with serving(tmp_path, may_fail=True, **traces) as site:
        messages = f"/api/conversations/{site.id}/messages"
        site.llm.enqueue("The port is 5432.")
        site.ask("POST", messages, {"content": "Which port? " + "word " * 600})
        wait_until(collector.spans, what="a span")
        span, known = collector.spans()[0]
        assert span.name == "chat scripted" and span.kind == 3
        assert known["gen_ai.operation.name"] == "chat" and known["gen_ai.provider.name"] == "openai"
        assert known["gen_ai.response.finish_reasons"] == ["stop"] and known["gen_ai.usage.output_tokens"] > 0
        assert span.end_time_unix_nano > span.start_time_unix_nano and not span.status.code

        for _ in range(4):
            site.ask("POST", messages, {"content": "And the next one? " + "word " * 600})
        site.ask("POST", f"/api/context/{site.id}/compact", {})
        wait_until(lambda: "compaction" in collector.named(), what="the span of a compaction")
        whole, known = collector.named()["compaction"]
        assert known == {"chatsite.compaction.trigger": "api"}
        within = [span for span, _ in collector.spans() if span.parent_span_id == whole.span_id]
        assert within and all(span.name == "chat scripted" for span in within)

        site.llm.enqueue(status=403, message="secret words of the provider")
        assert site.ask("POST", messages, {"content": "Once more?"})["assistant_message"]["status"] == "failed"
        wait_until(lambda: any(span.status.code == 2 for span, _ in collector.spans()), what="a span that failed")
        assert [known["error.type"] for span, known in collector.spans() if span.status.code == 2]
    sent = b"".join(collector.bodies)
    secret = ("5432", "Which port", "secret words", site.key)
    assert b"chatsite" in sent and not [words for words in secret if words.encode() in sent]
