"""Checks the settings at the start, which fails with the name of a setting that cannot work."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

SHORTEST_KEY = 32
SHORTEST_TOKEN = 16
LOG_FORMATS = ("line", "json")
SIGN_UPS = ("invited", "open")
IMAGE_URLS = ("never", "provider", "public")
BROKERS = ("redis", "rediss", "amqp", "amqps")
MINIMUMS = {
    "WEB_CONCURRENCY": 1,
    "LEASE_SECONDS": 2,
    "STOP_GRACE_SECONDS": 0,
    "AUDIT_DAYS": 1,
    "MAX_TURNS": 1,
    "MAX_TURNS_PER_USER": 1,
    "STORAGE_PER_USER_MB": 0,
    "MONTHLY_TOKENS_PER_USER": 0,
    "MONTHLY_USD_PER_USER": 0,
    "MAX_COMPACTIONS_PER_USER": 1,
    "MAX_REQUESTS": 2,
    "API_REQUESTS_PER_MINUTE": 1,
    "MAX_CALLS_PER_USER": 1,
    "MAX_SOCKETS_PER_USER": 1,
    "HEAD_SECONDS": 1,
    "BODY_SECONDS": 1,
    "UNREAD_SECONDS": 1,
}
"""The least values of settings that only have a lower bound."""
SMALLEST_WINDOW = 1_024
"""The least tokens of a window that holds a system prompt, a message and a reply."""


@register
def check_settings(**_: Any) -> list[CheckMessage]:
    return [Error(text, id="conversations.E001") for text in _faults()]


def _faults() -> Iterator[str]:
    if len(settings.SECRET_KEY) < SHORTEST_KEY or settings.SECRET_KEY.startswith("django-insecure-"):
        yield f"SECRET_KEY must have at least {SHORTEST_KEY} characters, and be a secret."
    window = settings.OPENAI_CONTEXT_WINDOW
    if window is not None and window < SMALLEST_WINDOW:
        yield f"OPENAI_CONTEXT_WINDOW must be at least {SMALLEST_WINDOW} tokens, not {window}."
    if not 0 < settings.MODEL_TIMEOUT_SECONDS < inf:
        yield "MODEL_TIMEOUT_SECONDS must be a number of seconds, more than 0."
    if not 0.1 <= settings.GATEWAY_PING_SECONDS < inf:
        yield "GATEWAY_PING_SECONDS must be a number of seconds, at least 0.1."
    if not 0 <= settings.SHADOW_SHARE <= 1:
        yield f"SHADOW_SHARE must be from 0 to 1, not {settings.SHADOW_SHARE}."
    for name, least in MINIMUMS.items():
        if not least <= getattr(settings, name) < inf:
            yield f"{name} must be at least {least}."
    for service in settings.SIGN_IN_SERVICES:
        address = "MICROSOFT_TENANT" if service.prefix == "MICROSOFT" else f"{service.prefix}_URL"
        if not (_is_address(service.url) and service.client_id and service.secret):
            names = f"{service.prefix}_CLIENT_ID, {service.prefix}_CLIENT_SECRET and {address}"
            yield f"Sign-in by {service.name} needs {names}; addresses begin with https:// or http://."
        if service.is_of_all_tenants:
            yield f"{address} must name the tenant of one organisation, by its id or its domain."
    if settings.TRUSTED_USER_HEADER and not _trusts_few():
        yield "TRUSTED_USER_HEADER needs FORWARDED_ALLOW_IPS with the addresses of the proxy alone, not *."
    if settings.SIGN_UP not in SIGN_UPS:
        yield f"SIGN_UP must be one of {', '.join(SIGN_UPS)}."
    if settings.LOG_FORMAT not in LOG_FORMATS:
        yield f"LOG_FORMAT must be one of {', '.join(LOG_FORMATS)}."
    if settings.GATEWAY_IMAGE_URLS not in IMAGE_URLS:
        yield f"GATEWAY_IMAGE_URLS must be one of {', '.join(IMAGE_URLS)}."
    for entry in settings.GATEWAY_MODELS:
        if not all(part.strip() for part in entry.partition("=")):
            yield f"GATEWAY_MODELS: {entry!r} must be a name and a model of this site, with = between."
    if settings.GATEWAY_UNKNOWN_OPTIONS not in ("drop", "refuse"):
        yield "GATEWAY_UNKNOWN_OPTIONS must be drop or refuse."
    if settings.METRICS_TOKEN and len(settings.METRICS_TOKEN) < SHORTEST_TOKEN:
        yield f"METRICS_TOKEN must have at least {SHORTEST_TOKEN} characters."
    yield from _faults_of_many()
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        if getattr(settings, name) and not _is_address(getattr(settings, name)):
            yield f"{name} must begin with http:// or https:// and name a host."


def _faults_of_many() -> Iterator[str]:
    """The faults in settings that several processes of one site need."""
    on_sqlite = settings.DATABASES["default"]["ENGINE"].endswith("sqlite3")
    if settings.REDIS_URL and not _is_address(settings.REDIS_URL, schemes=("redis", "rediss")):
        yield "REDIS_URL must look like redis://:password@host:6379/0."
    if settings.CELERY_BROKER_URL and not _is_address(settings.CELERY_BROKER_URL, schemes=BROKERS):
        yield "CELERY_BROKER_URL must look like redis://:password@host:6379/1 or amqp://user:password@host:5672//."
    for name, many in (("CELERY_BROKER_URL", settings.CELERY_BROKER_URL), ("WEB_CONCURRENCY", _several_servers())):
        if many and not settings.REDIS_URL:
            yield f"{name} needs REDIS_URL: processes do not hear of each other's events without it."
        if many and on_sqlite:
            yield f"{name} needs a PostgreSQL in DATABASE_URL: only one process may write to SQLite."


def _several_servers() -> bool:
    return bool(settings.WEB_CONCURRENCY > 1)


def _trusts_few() -> bool:
    """Whether FORWARDED_ALLOW_IPS names proxies, and not everybody."""
    networks = settings.FORWARDED_ALLOW_IPS
    return bool(networks) and all(network.prefixlen for network in networks)


def _is_address(url: str, *, schemes: tuple[str, ...] = ("http", "https")) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in schemes and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False
