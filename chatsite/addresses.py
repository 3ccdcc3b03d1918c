"""Finds a visitor's address, and the name of a person whom a proxy signed in, behind the site's own proxies."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address

from django.conf import settings

FORWARDED = b"x-forwarded-for"


def believe_proxy(scope: dict[str, object]) -> None:
    """Replace a proxy's address in the scope by the visitor's, if FORWARDED_ALLOW_IPS names the proxy.

    `proxy_user` in the scope is the name in TRUSTED_USER_HEADER: "" without one, None if the request is of no proxy.
    """
    peer = scope.get("client")
    scope["proxy_user"] = None
    if isinstance(peer, list | tuple) and peer:
        if settings.TRUSTED_USER_HEADER and _is_ours(str(peer[0])):
            scope["proxy_user"] = user_in(scope["headers"])  # type: ignore[arg-type]
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


def user_in(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The name in TRUSTED_USER_HEADER; "" if it is missing or there are several: a visitor may have sent one too."""
    header = settings.TRUSTED_USER_HEADER.lower().encode()
    names = [value.decode("utf-8", "replace").strip() for name, value in headers if name == header]
    return names[0] if len(names) == 1 else ""


def _is_ours(address: str) -> bool:
    return _is_address(address) and any(ip_address(address) in network for network in settings.FORWARDED_ALLOW_IPS)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
