"""Counts the work that waits and that runs, from the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Count, Q
from prometheus_client.core import GaugeMetricFamily

from conversations.models import Message

if TYPE_CHECKING:
    pass


def queue_depth() -> GaugeMetricFamily:
    """The metric of waiting and running work: one query for each kind, which reads those rows alone."""
    from compression.models import Compaction

    depth = GaugeMetricFamily("queue_depth", "Work that waits, by the rows.", labels=["work", "state"])
    waiting = {"reply": Q(lease_token=None), "compaction": Q(status=Compaction.Status.PENDING)}
    for work, rows in (("reply", Message.objects.streaming()), ("compaction", Compaction.objects.active())):
        found = rows.aggregate(all=Count("pk"), waiting=Count("pk", filter=waiting[work]))
        depth.add_metric([work, "waiting"], found["waiting"])
        depth.add_metric([work, "running"], found["all"] - found["waiting"])
    return depth
