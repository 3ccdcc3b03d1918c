"""How much of the site one person may have at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Count, Q

from compression.models import Compaction
from conversations.errors import TooMany
from conversations.models import Message

RETRY_SECONDS = 5

_sockets: Counter[int] = Counter()
"""Of this process, by their users."""
_calls: Counter[int] = Counter()


def require_turn(owner_id: int) -> None:
    """In the transaction that stores the reply. Raises TooMany where this person, or everyone together, has as many
    replies in the making as may be; the first is exact, the second may be passed by a few at one moment.
    """
    if connection.features.has_select_for_update:
        # One's own turns are counted one after the other. SQLite has one writer anyway.
        list(User.objects.select_for_update(no_key=True).filter(pk=owner_id).values_list("pk"))
    own = Count("pk", filter=Q(conversation__owner_id=owner_id))
    found = Message.objects.streaming().order_by().aggregate(own=own, all=Count("pk"))
    if found["own"] >= settings.MAX_TURNS_PER_USER:
        raise TooMany(
            f"{found['own']} of your replies are being written; at most {settings.MAX_TURNS_PER_USER} may be at once. "
            "Wait for one, or stop it.",
            retry_after=RETRY_SECONDS,
        )
    if found["all"] >= settings.MAX_TURNS:
        raise TooMany("This site is writing as many replies as it may. Try again soon.", retry_after=RETRY_SECONDS)


def require_compaction(owner_id: int) -> None:
    """Raises TooMany where this person has as many compactions under way as may be."""
    running = Compaction.objects.filter(status__in=Compaction.ACTIVE, conversation__owner_id=owner_id).count()
    if running >= settings.MAX_COMPACTIONS_PER_USER:
        raise TooMany(
            f"{running} of your conversations are being compressed; at most {settings.MAX_COMPACTIONS_PER_USER} may "
            "be at once.",
            retry_after=RETRY_SECONDS,
        )


@contextmanager
def one_more_call(user_id: int) -> Iterator[None]:
    """Of the gateway, in this process; counted while it lasts. Raises TooMany."""
    if _calls[user_id] >= settings.MAX_CALLS_PER_USER:
        raise TooMany(
            f"{_calls[user_id]} of your calls are being answered; at most {settings.MAX_CALLS_PER_USER} may be at "
            "once.",
            retry_after=RETRY_SECONDS,
        )
    _calls[user_id] += 1
    try:
        yield
    finally:
        _calls[user_id] -= 1
        if not _calls[user_id]:
            del _calls[user_id]


@contextmanager
def one_more_socket(user_id: int) -> Iterator[bool]:
    """Whether this person may have another one open in this process; counted while it is."""
    may = _sockets[user_id] < settings.MAX_SOCKETS_PER_USER
    _sockets[user_id] += may
    try:
        yield may
    finally:
        _sockets[user_id] -= may
        if not _sockets[user_id]:
            del _sockets[user_id]
