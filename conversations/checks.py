"""Checks the settings at the start, which fails with the name of a setting that cannot work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.utils import parseaddr
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
DOCUMENTS = ("text", "pass")
ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/]+")
DAY = 86_400
MOST = 1_000_000_000
"""More than any site needs of requests, turns, megabytes or dollars, and few enough for each database."""
RANGES: dict[str, tuple[float, float]] = {
    "WEB_CONCURRENCY": (1, 1_000),
    "OPENAI_CONTEXT_WINDOW": (1_024, 100_000_000),  # less has no room for a system prompt, a message and a reply
    "MODEL_TIMEOUT_SECONDS": (0.1, DAY),
    "GATEWAY_PING_SECONDS": (0.1, DAY),
    "GATEWAY_RETRIES": (0, 100),
    "SHADOW_SHARE": (0, 1),
    "LEASE_SECONDS": (2, DAY),
    "STOP_GRACE_SECONDS": (0, DAY),
    "AUDIT_DAYS": (1, 36_500),
    "MAX_TURNS": (1, MOST),
    "MAX_TURNS_PER_USER": (1, MOST),
    "STORAGE_PER_USER_MB": (0, MOST),
    "MONTHLY_TOKENS_PER_USER": (0, 1_000_000 * MOST),
    "MONTHLY_USD_PER_USER": (0, MOST),
    "MAX_COMPACTIONS_PER_USER": (1, MOST),
    "MAX_REQUESTS": (2, MOST),
    "API_REQUESTS_PER_MINUTE": (1, MOST),
    "MAX_CALLS_PER_USER": (1, MOST),
    "MAX_SOCKETS_PER_USER": (1, MOST),
    "HEAD_SECONDS": (1, DAY),
    "BODY_SECONDS": (1, DAY),
    "UNREAD_SECONDS": (1, DAY),
}
"""The least and the greatest value of each setting that is a number."""


@register
def check_settings(**_: Any) -> list[CheckMessage]:
    return [Error(text, id="conversations.E001") for text in _faults()]


def _faults() -> Iterator[str]:
    if len(settings.SECRET_KEY) < SHORTEST_KEY or settings.SECRET_KEY.startswith("django-insecure-"):
        yield f"SECRET_KEY must have at least {SHORTEST_KEY} characters, and be a secret."
    for name, (least, most) in RANGES.items():
        value = getattr(settings, name)
        if value is not None and not least <= value <= most:
            yield f"{name} must be from {least:,} to {most:,}, not {value}."
    for service in settings.SIGN_IN_SERVICES:
        address = "MICROSOFT_TENANT" if service.prefix == "MICROSOFT" else f"{service.prefix}_URL"
        if not (_is_address(service.url) and service.client_id and service.secret):
            names = f"{service.prefix}_CLIENT_ID, {service.prefix}_CLIENT_SECRET and {address}"
            yield f"Sign-in by {service.name} needs {names}; addresses begin with https:// or http://."
        if service.is_of_all_tenants:
            yield f"{address} must name the tenant of one organisation, by its id or its domain."
    if settings.TRUSTED_USER_HEADER and not _trusts_few():
        yield "TRUSTED_USER_HEADER needs FORWARDED_ALLOW_IPS with the addresses of the proxy alone, not *."
    if settings.MAILERS and not re.fullmatch(r"[^@\s]+@[^@\s]+", parseaddr(settings.EMAIL_FROM)[1]):
        yield "EMAIL_FROM must be an address, such as chat@example.org."
    if settings.SIGN_UP not in SIGN_UPS:
        yield f"SIGN_UP must be one of {', '.join(SIGN_UPS)}."
    if settings.LOG_FORMAT not in LOG_FORMATS:
        yield f"LOG_FORMAT must be one of {', '.join(LOG_FORMATS)}."
    if settings.GATEWAY_IMAGE_URLS not in IMAGE_URLS:
        yield f"GATEWAY_IMAGE_URLS must be one of {', '.join(IMAGE_URLS)}."
    if settings.GATEWAY_DOCUMENTS not in DOCUMENTS:
        yield f"GATEWAY_DOCUMENTS must be one of {', '.join(DOCUMENTS)}."
    for origin in settings.GATEWAY_CORS_ORIGINS:
        if origin not in ("*", "null") and not ORIGIN.fullmatch(origin):
            yield f"GATEWAY_CORS_ORIGINS: {origin!r} must be an origin, such as https://app.example.org, or *."
    for entry in settings.GATEWAY_PASS_THROUGH:
        if not all(part.strip() for part in entry.partition("=")):
            yield f"GATEWAY_PASS_THROUGH: {entry!r} must be a name and a model of this site, with = between."
    for entry in settings.GATEWAY_MODELS:
        if not all(part.strip() for part in entry.partition("=")):
            yield f"GATEWAY_MODELS: {entry!r} must be a name and a model of this site, with = between."
    if settings.GATEWAY_UNKNOWN_OPTIONS not in ("drop", "refuse"):
        yield "GATEWAY_UNKNOWN_OPTIONS must be drop or refuse."
    if settings.METRICS_TOKEN and len(settings.METRICS_TOKEN) < SHORTEST_TOKEN:
        yield f"METRICS_TOKEN must have at least {SHORTEST_TOKEN} characters."
    yield from _faults_of_many()
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OTEL_EXPORTER_OTLP_ENDPOINT"):
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
