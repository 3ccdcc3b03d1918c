"""Whose address a request comes from, where a proxy asks for everybody."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address

from django.conf import settings

FORWARDED = b"x-forwarded-for"


def believe_proxy(scope: dict[str, object]) -> None:
    """Put the visitor's address in the place of the proxy's, where FORWARDED_ALLOW_IPS names the proxy."""
    peer = scope.get("client")
    if isinstance(peer, list | tuple) and peer:
        address = address_of(str(peer[0]), scope["headers"])  # type: ignore[arg-type]
        if address != peer[0]:
            scope["client"] = (address, 0)


def address_of(peer: str, headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The last of X-Forwarded-For that is no proxy of ours; what stands before it anybody may have written."""
    if not settings.FORWARDED_ALLOW_IPS or not _is_ours(peer):
        return peer
    told = b",".join(value for name, value in headers if name == FORWARDED).decode("latin1")
    for address in reversed([part.strip() for part in told.split(",") if part.strip()]):
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
