"""How much of the site one person may have at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, IPv6Network, ip_address
from time import time

from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db.models import Count, Q

from compression.models import Compaction
from conversations.errors import TooMany
from conversations.models import Message
from conversations.runtime import database
from conversations.runtime.bounded import BoundedCache

MINUTE = 60
GUESSES_A_MINUTE = 30
"""Of one address, with keys and sessions that are not valid."""
SIGN_INS_A_MINUTE = 30
"""Of one address, with wrong passwords or a wrong token for the first account, whatever the names."""
RIGHT_KEPT = 10_000
_right: BoundedCache[str, None] = BoundedCache(RIGHT_KEPT)
"""Digests of keys."""

RETRY_SECONDS = 5

_sockets: Counter[int] = Counter()
"""Of this process, by their users."""
_calls: Counter[int] = Counter()


def require_turn(owner_id: int) -> None:
    """In the transaction that stores the reply. Raises TooMany where this person, or everyone together, has as many
    replies in the making as may be; the first is exact, the second may be passed by a few at one moment.
    """
    database.lock_rows(User.objects.filter(pk=owner_id))  # one's own turns are counted one after the other
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
            f"{running} of your conversations are being compacted; at most {settings.MAX_COMPACTIONS_PER_USER} may "
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


def require_rate(user_id: int) -> None:
    """Count one request of this person, by whatever way it came. Raises TooMany beyond API_REQUESTS_PER_MINUTE."""
    most = settings.API_REQUESTS_PER_MINUTE
    if _count(f"requests:{user_id}") > most:
        raise _too_many(f"At most {most:,} requests a minute.")


def require_guesses(address: str, *, digest: str = "") -> None:
    """Before a key is looked up. Raises TooMany where this address has sent too many that were wrong.

    A key that was right lately, by its `digest`, is looked up all the same: whoever guesses beside its owner, behind
    one proxy, must not lock them out.
    """
    if (cache.get(_minute(f"guesses:{_source(address)}")) or 0) < GUESSES_A_MINUTE:
        return
    if digest not in _right:
        raise _too_many("Too many wrong keys came from this address.")


def require_sign_ins(address: str) -> None:
    """Before a password is hashed. Raises TooMany where this address has failed to sign in too often."""
    if (cache.get(_minute(f"sign-ins:{_source(address)}")) or 0) >= SIGN_INS_A_MINUTE:
        raise _too_many("Too many attempts to sign in came from this address.")


def note_sign_in(address: str) -> None:
    """An attempt from this address was wrong."""
    _count(f"sign-ins:{_source(address)}")


def note_right(digest: str) -> None:
    """This key was right, in this process."""
    _right.put(digest, None)


def note_guess(address: str) -> None:
    """A key from this address was wrong."""
    _count(f"guesses:{_source(address)}")


def _count(name: str) -> int:
    """One more in this minute: how many that makes; 0 where the cache is away."""
    key = _minute(name)
    try:
        return cache.incr(key) or 0
    except ValueError:
        cache.add(key, 1, timeout=2 * MINUTE)
        return 1


def _minute(name: str) -> str:
    return f"throttle:{name}:{int(time()) // MINUTE}"


def _source(address: str) -> str:
    """The address, or of a version 6 one its network: whoever has one address there has 2^64."""
    try:
        found = ip_address(address)
    except ValueError:
        return "unknown"
    return str(IPv6Network((found, 64), strict=False)) if isinstance(found, IPv6Address) else address


def _too_many(why: str) -> TooMany:
    wait = MINUTE - int(time()) % MINUTE
    return TooMany(f"{why} Try again in {wait} s.", retry_after=wait)
