"""What an operator watches, as Prometheus counts it. Labels name models, triggers and reasons, and nobody."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

WAITS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300)
"""Seconds: what people, and summaries, wait for models."""

compactions = Counter("compaction_count", "Compactions that have ended.", ["trigger", "status"])
compaction_seconds = Histogram(
    "compaction_latency_seconds", "From the claim of a compaction to its end.", ["trigger"], buckets=WAITS
)
compaction_reduction = Gauge(
    "compaction_reduction_percent", "Of the last compaction that succeeded.", multiprocess_mode="mostrecent"
)
compaction_saved = Counter("compaction_tokens_saved", "Tokens before compactions less those after.")
turns = Counter("turn_count", "Replies that have ended.", ["model", "status"])
turn_seconds = Histogram("turn_latency_seconds", "From the question to the end of its reply.", ["model"], buckets=WAITS)
first_token_seconds = Histogram(
    "first_token_seconds", "From the question to the first words of its reply.", ["model"], buckets=WAITS
)
provider_errors = Counter("provider_error_count", "Faults of model providers.", ["model", "reason"])
sockets = Gauge("open_sockets", "Pages that hear events, by WebSocket.", multiprocess_mode="livesum")
streams = Gauge("open_streams", "Programs that hear events, by server-sent events.", multiprocess_mode="livesum")
gateway_calls = Counter("gateway_call_count", "Calls of the gateway.", ["model", "status", "checkpoint"])
gateway_seconds = Histogram(
    "gateway_overhead_seconds",
    "What the gateway adds to a call, all but the model and compactions.",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 1),
)
gateway_saved = Counter("gateway_tokens_saved", "Tokens that callers sent less those that were forwarded.")


def compaction_ended(*, trigger: str, status: str, ms: int | None, before: int | None, after: int | None) -> None:
    """A compaction's row has got its last status."""
    compactions.labels(trigger, status).inc()
    if ms is not None:
        compaction_seconds.labels(trigger).observe(ms / 1000)
    if status == "succeeded" and before and after is not None:
        compaction_reduction.set(round(100 * (1 - after / before), 1))
        compaction_saved.inc(max(0, before - after))


def turn_ended(*, model: str, status: str, ms: int, first_token_ms: int | None) -> None:
    turns.labels(model, status).inc()
    turn_seconds.labels(model).observe(ms / 1000)
    if first_token_ms is not None:
        first_token_seconds.labels(model).observe(first_token_ms / 1000)
