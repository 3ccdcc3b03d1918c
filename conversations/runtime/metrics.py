"""The site's Prometheus metrics. Labels name models, triggers and reasons, never persons.

docs/metrics.md explains each metric. The library appends `_total` to a counter's name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics

if TYPE_CHECKING:
    from compression.models import Compaction

disable_created_metrics()  # they would add an unused series to each metric

WAIT_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300)
"""Seconds that people and compactions wait for models."""
TOOL_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
"""Seconds of a tool call: a calculator takes almost none, an executor as long as a whole conversation."""
OVERHEAD_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 1)
"""Seconds that the gateway adds to a call."""

compactions = Counter("compaction_count", "Compactions that have ended.", ["trigger", "status"])
compaction_seconds = Histogram(
    "compaction_latency_seconds", "From the claim of a compaction to its end.", ["trigger"], buckets=WAIT_BUCKETS
)
compaction_reduction = Gauge(
    "compaction_reduction_percent",
    "How much smaller the last compaction made the next request.",
    multiprocess_mode="mostrecent",
)
compaction_saved = Counter("compaction_tokens_saved", "Tokens before compactions less those after.")
turns = Counter("turn_count", "Replies that have ended.", ["model", "status"])
turn_seconds = Histogram(
    "turn_latency_seconds", "From the question to the end of its reply.", ["model"], buckets=WAIT_BUCKETS
)
first_token_seconds = Histogram(
    "first_token_seconds", "From the question to the first words of its reply.", ["model"], buckets=WAIT_BUCKETS
)
provider_errors = Counter(
    "provider_error_count", "Requests to model providers that failed, attempts included.", ["model", "reason"]
)
sockets = Gauge("open_sockets", "Pages that hear events, by WebSocket.", multiprocess_mode="livesum")
streams = Gauge("open_streams", "Programs that hear events, by server-sent events.", multiprocess_mode="livesum")
gateway_calls = Counter("gateway_call_count", "Calls of the gateway.", ["model", "status", "checkpoint"])
gateway_seconds = Histogram(
    "gateway_overhead_seconds",
    "What the gateway adds to a call, all but the model and compactions.",
    buckets=OVERHEAD_BUCKETS,
)
gateway_saved = Counter("gateway_tokens_saved", "Tokens that callers sent less those that were forwarded.")
tool_calls = Counter("tool_call_count", "Calls of tools that have ended.", ["tool", "outcome"])
tool_seconds = Histogram("tool_call_seconds", "What calls of tools took.", ["tool"], buckets=TOOL_BUCKETS)


def compaction_ended(row: Compaction) -> None:
    """Count a compaction that has ended or is ready, as its row says."""
    compactions.labels(row.trigger, row.status).inc()
    is_put_in_force = row.trigger == row.Trigger.AHEAD and row.status == row.Status.SUCCEEDED
    if row.duration_ms is not None and not is_put_in_force:  # its duration was counted when it became ready
        compaction_seconds.labels(row.trigger).observe(row.duration_ms / 1000)
    if row.status == row.Status.SUCCEEDED and row.request_reduction_percent is not None:
        compaction_reduction.set(row.request_reduction_percent)
    if row.status == row.Status.SUCCEEDED and row.before is not None and row.after is not None:
        compaction_saved.inc(max(0, row.before - row.after))


def prepared_discarded(rows: int) -> None:
    """Count compactions made ahead of time that were abandoned or are no longer needed."""
    if rows:
        compactions.labels("ahead", "discarded").inc(rows)


def turn_ended(*, model: str, status: str, ms: int, first_token_ms: int | None) -> None:
    """Count a reply that has ended, with its times in milliseconds."""
    turns.labels(model, status).inc()
    turn_seconds.labels(model).observe(ms / 1000)
    if first_token_ms is not None:
        first_token_seconds.labels(model).observe(first_token_ms / 1000)


def provider_failed(model: str, reason: str) -> None:
    """Count a failed request to a provider; `reason` is the error's kind: rate_limited, key_refused, …"""
    provider_errors.labels(model, reason).inc()


def tool_called(tool: str, outcome: str, seconds: float) -> None:
    """Count a tool call that has ended; `outcome` is done or failed. `tool` is one of a bounded set of labels."""
    tool_calls.labels(tool, outcome).inc()
    tool_seconds.labels(tool).observe(seconds)
