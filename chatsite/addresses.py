"""Finds the address of a request's visitor behind the site's own proxies."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address

from django.conf import settings

FORWARDED = b"x-forwarded-for"


def believe_proxy(scope: dict[str, object]) -> None:
    """Replace a proxy's address in the scope by the visitor's, if FORWARDED_ALLOW_IPS names the proxy."""
    peer = scope.get("client")
    if isinstance(peer, list | tuple) and peer:
        address = address_of(str(peer[0]), scope["headers"])  # type: ignore[arg-type]
        if address != peer[0]:
            scope["client"] = (address, 0)


def address_of(peer: str, headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The last address in X-Forwarded-For that is no proxy of ours; earlier ones can be forged by anybody."""
    if not settings.FORWARDED_ALLOW_IPS or not _is_ours(peer):
        return peer
    forwarded = b",".join(value for name, value in headers if name == FORWARDED).decode("latin1")
    for address in reversed([part.strip() for part in forwarded.split(",") if part.strip()]):
        if not _is_address(address):
            return peer
        peer = address
        if not _is_ours(address):
            break
    return peer


def _is_ours(address: str) -> bool:
    return _is_address(address) and any(ip_address(address) in network for network in settings.FORWARDED_ALLOW_IPS)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
