"""A site's upkeep beside serving: takes up work that others left behind, and keeps the database small.

It runs in the process that serves; with workers, their clock asks for it (`chatsite.celery`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import timedelta
from importlib import import_module

from allauth.usersessions.models import UserSession
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import InterfaceError, OperationalError, close_old_connections
from django.utils import timezone

from compression.ids import first_id
from compression.models import Compaction, KeptSummary
from conversations.llm import profiles
from conversations.llm.windows import windows
from conversations.memory import message_index
from conversations.models import Attachment, AuditEntry, Errand, Folding, GatewayCall, HeldResponse
from conversations.runtime import database, queue
from conversations.turns import conversations, recovery

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 5
"""Seconds between two searches for work whose worker is gone."""
BEHIND_SECONDS = 0.5
"""Seconds until the next round while messages wait to be indexed, as after a large import."""
TIDY_SECONDS = 30
CALLS_KEPT = timedelta(days=400)
"""Figures of the gateway's calls and of site requests are kept this long: a year can be compared with the one before.
"""
FOLDINGS_KEPT = timedelta(hours=1)
"""Locks whose holder died are kept this long."""
UNSENT_KEPT = timedelta(days=1)
"""Files of a message that nobody sent are kept this long."""
PURGED = tuple(Compaction.Status[name] for name in ("FAILED", "SKIPPED", "DISCARDED", "CANCELLED"))


def begin(*, alone: bool) -> None:
    """Prepare the database before a server listens. `alone`: no other process works in it, even if rows say so."""
    profiles.sync_profiles()
    if alone:
        recovery.disown_all()


async def run() -> None:
    """Keep the site up as long as the server lives."""
    tidied = time.monotonic()
    queue.keep(asyncio.create_task(windows.ask_all(profiles.enabled())))
    while True:
        is_behind = False
        try:
            is_behind = await sync_to_async(_sweep)()
            if time.monotonic() - tidied >= TIDY_SECONDS:
                tidied = time.monotonic()
                await sync_to_async(tidy)()
        except (OperationalError, InterfaceError) as error:
            logger.error("upkeep: the database cannot be used (%s)", type(error).__name__)
        except Exception:
            logger.exception("upkeep failed")
        await asyncio.sleep(BEHIND_SECONDS if is_behind else SWEEP_SECONDS)


def _sweep() -> bool:
    """Recover work whose worker is gone, and index messages; returns whether some still wait to be indexed."""
    close_old_connections()
    recovery.sweep()
    return message_index.keep_up()


def tidy() -> None:
    """Delete rows that are kept for a limited time only."""
    before = timezone.now() - timedelta(days=settings.COMPACTION_LOG_DAYS)
    Compaction.objects.filter(created_at__lt=before, status__in=PURGED).delete()
    KeptSummary.objects.filter(created_at__lt=before).delete()
    for figures in (GatewayCall, Errand):
        figures._default_manager.filter(pk__lt=first_id(timezone.now() - CALLS_KEPT)).delete()
    Folding.objects.filter(expires_at__lt=timezone.now() - FOLDINGS_KEPT).delete()
    HeldResponse.objects.filter(used_at__lt=timezone.now() - HeldResponse.KEPT).delete()
    AuditEntry.objects.filter(pk__lt=first_id(timezone.now() - timedelta(days=settings.AUDIT_DAYS))).delete()
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    UserSession.objects.exclude(session_key__in=Session.objects.values("session_key")).delete()
    Attachment.objects.filter(message=None, created_at__lt=timezone.now() - UNSENT_KEPT).delete()
    conversations.purge()
    message_index.heal()
    database.checkpoint_wal()
