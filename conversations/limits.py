"""Limits how much of the site one person or address may use at once, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from ipaddress import IPv6Address, IPv6Network, ip_address
from time import time

from django.conf import settings
from django.core.cache import cache
from django.db.models import Count, Q
from django.utils.translation import gettext as _

from compression.models import Compaction
from conversations.errors import TooMany
from conversations.models import Message, User
from conversations.runtime import database
from conversations.runtime.bounded_cache import BoundedCache

MINUTE, HOUR = 60, 3_600
MAILS_AN_HOUR = 5
"""Mails that one address gets, by requests of any person."""
GUESSES_A_MINUTE = 30
"""The most attempts of one address with invalid keys and sessions."""
SIGN_INS_A_MINUTE = 30
"""The most attempts of one address with wrong passwords, or a wrong token for the first account, for any names."""
RIGHT_KEPT = 10_000
_right: BoundedCache[str, None] = BoundedCache(RIGHT_KEPT)
"""The digests of recently used valid keys."""

RETRY_SECONDS = 5

_sockets: Counter[int] = Counter()
"""The open sockets of this process, by user id."""
_calls: Counter[int] = Counter()


def require_turn(owner_id: int) -> None:
    """Raises TooMany if this person, or the whole site, has as many running replies as allowed.

    Called in the transaction that stores the reply. The person's limit is exact; the site's may be exceeded by a few
    replies that begin at the same moment.
    """
    database.lock_rows(User.objects.filter(pk=owner_id))  # a person's turns are counted one after the other
    own = Count("pk", filter=Q(conversation__owner_id=owner_id))
    found = Message.objects.streaming().order_by().aggregate(own=own, all=Count("pk"))
    if found["own"] >= settings.MAX_TURNS_PER_USER:
        raise TooMany(
            _(
                "%(number)s of your replies are being written; at most %(most)s may be at once. Wait for one, or "
                "stop it."
            )
            % {"number": found["own"], "most": settings.MAX_TURNS_PER_USER},
            retry_after=RETRY_SECONDS,
        )
    if found["all"] >= settings.MAX_TURNS:
        raise TooMany(
            _("This site writes as many replies as it can at once. Try again soon."), retry_after=RETRY_SECONDS
        )


def require_compaction(owner_id: int) -> None:
    """Raises TooMany if this person has as many running compactions as allowed."""
    running = Compaction.objects.filter(status__in=Compaction.ACTIVE, conversation__owner_id=owner_id).count()
    if running >= settings.MAX_COMPACTIONS_PER_USER:
        raise TooMany(
            _("%(number)s of your conversations are being compacted; at most %(most)s may be at once.")
            % {"number": running, "most": settings.MAX_COMPACTIONS_PER_USER},
            retry_after=RETRY_SECONDS,
        )


@contextmanager
def one_more_call(user_id: int) -> Iterator[None]:
    """Count a gateway call of this process while the block runs. Raises TooMany."""
    if _calls[user_id] >= settings.MAX_CALLS_PER_USER:
        raise TooMany(
            _("%(number)s of your calls are being answered; at most %(most)s may be at once.")
            % {"number": _calls[user_id], "most": settings.MAX_CALLS_PER_USER},
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
    """Count a socket of this process while the block runs; yields whether the person may open another one."""
    may = _sockets[user_id] < settings.MAX_SOCKETS_PER_USER
    _sockets[user_id] += may
    try:
        yield may
    finally:
        _sockets[user_id] -= may
        if not _sockets[user_id]:
            del _sockets[user_id]


def require_rate(user_id: int) -> None:
    """Count one request of this person, by any way. Raises TooMany beyond API_REQUESTS_PER_MINUTE."""
    most = settings.API_REQUESTS_PER_MINUTE
    if _count(f"requests:{user_id}") > most:
        raise _too_many(f"At most {most:,} requests a minute.")


def require_guesses(address: str, *, digest: str = "") -> None:
    """Raises TooMany if this address has sent too many wrong keys; called before a key is looked up.

    A recently valid key, known by its `digest`, passes all the same: a person who guesses keys behind a proxy must not
    lock out the owners of valid keys behind the same proxy.
    """
    if (cache.get(_period(f"guesses:{_source(address)}")) or 0) < GUESSES_A_MINUTE:
        return
    if digest not in _right:
        raise _too_many("Too many wrong keys came from this address.")


def require_sign_ins(address: str) -> None:
    """Raises TooMany if this address has failed to sign in too often; called before a password is hashed."""
    if (cache.get(_period(f"sign-ins:{_source(address)}")) or 0) >= SIGN_INS_A_MINUTE:
        raise _too_many("Too many attempts to sign in came from this address.")


def note_sign_in(address: str) -> None:
    """Count a failed attempt of this address to sign in."""
    _count(f"sign-ins:{_source(address)}")


def note_right(digest: str) -> None:
    """Remember, in this process, that the key with this digest is valid."""
    _right.put(digest, None)


def note_guess(address: str) -> None:
    """Count a wrong key from this address."""
    _count(f"guesses:{_source(address)}")


def one_more_mail(address: str) -> bool:
    """Count a mail to this address; False if MAILS_AN_HOUR went there already."""
    digest = sha256(address.lower().encode()).hexdigest()
    return _count(f"mails:{digest}", within=HOUR) <= MAILS_AN_HOUR


def _count(name: str, *, within: int = MINUTE) -> int:
    """Count one more in this minute, or another span of seconds; returns the count, 0 if the cache is unreachable."""
    key = _period(name, within)
    try:
        return cache.incr(key) or 0
    except ValueError:
        cache.add(key, 1, timeout=2 * within)
        return 1


def _period(name: str, within: int = MINUTE) -> str:
    return f"throttle:{name}:{int(time()) // within}"


def _source(address: str) -> str:
    """The address; for IPv6, its /64 network, as one customer usually has all 2^64 addresses of it."""
    try:
        found = ip_address(address)
    except ValueError:
        return "unknown"
    return str(IPv6Network((found, 64), strict=False)) if isinstance(found, IPv6Address) else address


def _too_many(why: str) -> TooMany:
    wait = MINUTE - int(time()) % MINUTE
    return TooMany(_("%(why)s Try again in %(wait)s s.") % {"why": why, "wait": wait}, retry_after=wait)
