"""Checks that the default model's server accepts connections, without a request that costs money."""

from __future__ import annotations

import socket
import time
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from conversations.llm.known_models import is_local
from conversations.llm.profiles import NO_MODEL, enabled, first_of
from conversations.llm.providers import builtin
from conversations.llm.providers.registry import PROVIDERS
from conversations.models import ModelProfile

CONNECT_SECONDS = 2.0
CACHE_SECONDS = 15.0
"""A result is reused for this long."""

Address = tuple[str, int]
_results: dict[Address, tuple[float, bool]] = {}
"""By address: the time of the last check, and whether it accepted a connection."""


def fault() -> str:
    """The reason, for people, why the default model cannot be reached; "" if it can."""
    profile = first_of(enabled().filter(role=ModelProfile.Role.CHAT))
    if profile is None:
        return NO_MODEL
    if profile.provider == ModelProfile.Provider.BUILTIN:
        return "" if builtin.is_available() else f"{profile.name}: its file or its engine is not on this machine"
    return "" if _accepts(address_of(profile)) else f"{profile.name}: its address cannot be reached"


def address_of(profile: ModelProfile) -> Address:
    """(host, port) that requests to a profile's model connect to: the server's, or the proxy's on the way to it."""
    url = urlsplit(profile.base_url or PROVIDERS[profile.provider].home)
    proxy = "" if is_local(profile.base_url) else getproxies().get(url.scheme, "")
    if proxy and not proxy_bypass(url.netloc):
        url = urlsplit(proxy if "//" in proxy else f"//{proxy}")
    return url.hostname or "", url.port or (443 if url.scheme == "https" else 80)


def _accepts(address: Address) -> bool:
    now = time.monotonic()
    known = _results.get(address)
    if known is None or now - known[0] > CACHE_SECONDS:
        _results.clear()
        known = _results[address] = now, _connects(address)
    return known[1]


def _connects(address: Address) -> bool:
    try:
        socket.create_connection(address, timeout=CONNECT_SECONDS).close()
    except (OSError, UnicodeError):  # UnicodeError: the host is no valid name
        return False
    return True
