"""Whether the model of new conversations can be asked: not what it answers, which costs money, but that it is there."""

from __future__ import annotations

import socket
import time
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from conversations.llm import builtin
from conversations.llm.known_models import is_local
from conversations.llm.profiles import HOMES, NO_MODEL, default_profile
from conversations.models import ModelProfile

CONNECT_SECONDS = 2.0
KEPT_SECONDS = 15.0
"""How long what was found is believed."""

Address = tuple[str, int]
_found: dict[Address, tuple[float, bool]] = {}
"""When an address was tried, and whether it accepted a connection."""


def fault() -> str:
    """What is wrong with it, in words; "" where nothing is."""
    profile = default_profile()
    if profile is None:
        return NO_MODEL
    if profile.provider == ModelProfile.Provider.BUILTIN:
        return "" if builtin.is_available() else f"{profile.name}: its file or its engine is not on this machine"
    return "" if _accepts(address_of(profile)) else f"{profile.name}: its address cannot be reached"


def address_of(profile: ModelProfile) -> Address:
    """What is connected to when it is asked: its own address, or the proxy that leads there."""
    url = urlsplit(profile.base_url or HOMES[profile.provider])
    proxy = "" if is_local(profile.base_url) else getproxies().get(url.scheme, "")
    if proxy and not proxy_bypass(url.netloc):
        url = urlsplit(proxy if "//" in proxy else f"//{proxy}")
    return url.hostname or "", url.port or (443 if url.scheme == "https" else 80)


def _accepts(address: Address) -> bool:
    now = time.monotonic()
    known = _found.get(address)
    if known is None or now - known[0] > KEPT_SECONDS:
        _found.clear()
        known = _found[address] = now, _connects(address)
    return known[1]


def _connects(address: Address) -> bool:
    try:
        socket.create_connection(address, timeout=CONNECT_SECONDS).close()
    except (OSError, UnicodeError):  # a host that no name can be
        return False
    return True
