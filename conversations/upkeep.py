"""What a server does beside serving: it takes up what an earlier one left behind, and keeps the database small."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection
from django.utils import timezone

from compression.models import Compaction, KeptSummary
from conversations import replies
from conversations.lease import ABANDONED
from conversations.llm.profiles import sync_profiles

logger = logging.getLogger(__name__)

EVERY_SECONDS = 30
PATIENCE_MS = 50
PURGED = (Compaction.Status.FAILED, Compaction.Status.SKIPPED, Compaction.Status.DISCARDED)


def begin() -> None:
    """Before the only server of a database listens: nothing that is marked as running can still be."""
    sync_profiles()
    replies.abandon()
    Compaction.objects.filter(status__in=Compaction.ACTIVE).update(
        status=Compaction.Status.FAILED, error=ABANDONED, finished_at=timezone.now()
    )


async def run() -> None:
    """For as long as the server lives."""
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        try:
            await sync_to_async(_once)()
        except Exception:
            logger.exception("upkeep failed")


def _once() -> None:
    before = timezone.now() - timedelta(days=settings.COMPACTION_LOG_DAYS)
    Compaction.objects.filter(created_at__lt=before, status__in=PURGED).delete()
    KeptSummary.objects.filter(created_at__lt=before).delete()
    if connection.vendor == "sqlite":
        checkpoint_wal()


def checkpoint_wal() -> None:
    """Move the write-ahead log into the database: this form of it waits until no write is open.

    It holds writers up while someone reads an older state, as a backup does, so it gives up soon and comes again.
    """
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        usual = cursor.fetchone()[0]
        cursor.execute(f"PRAGMA busy_timeout = {PATIENCE_MS}")
        try:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {usual}")
