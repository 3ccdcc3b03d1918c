"""How often one person may ask, and how often one address may guess at a key.

Both are counted by the minute, in the cache: one step a request, whoever asks and however much is stored. Where the
cache is away, nothing is refused.
"""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network, ip_address
from time import time

from django.conf import settings
from django.core.cache import cache

from conversations.errors import TooMany

MINUTE = 60
GUESSES_A_MINUTE = 30
"""Of one address, with keys and sessions that are not valid."""
SIGN_INS_A_MINUTE = 30
"""Of one address, with wrong passwords or a wrong token for the first account, whatever the names."""

RIGHT_KEPT = 10_000

_right: set[str] = set()
"""Digests of keys."""


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
    if len(_right) >= RIGHT_KEPT:
        _right.clear()
    _right.add(digest)


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
