"""The page of metrics for Prometheus; it requires a token, an administrator, or a program on the same machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from secrets import compare_digest

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import REGISTRY, Metric
from prometheus_client.exposition import choose_encoder

from chatsite import multiprocess_metrics
from conversations.models.api_key import key_of
from conversations.ops import queue_depth

PROXIED = ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP")
"""Headers that only a proxy sends; a request with one of them does not come from this machine."""


class AllMetrics:
    """Collects the metrics of this process, or of all the machine's processes, and the depth of the queue."""

    def collect(self) -> Iterator[Metric]:
        yield from multiprocess_metrics.collect() if settings.METRICS_DIR else REGISTRY.collect()
        with suppress(DatabaseError, InterfaceError):  # without a database, the other metrics matter even more
            yield queue_depth.queue_depth()


@require_safe
def view(request: HttpRequest) -> HttpResponse:
    status = _status_for(request)
    if status != 200:
        return _refusal(status)
    encode, kind = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(AllMetrics()), content_type=kind, headers={"Cache-Control": "no-store"})


def _status_for(request: HttpRequest) -> int:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        if settings.METRICS_TOKEN and compare_digest(token.encode(), settings.METRICS_TOKEN.encode()):
            return 200
    elif _is_local(request):
        return 200
    try:
        person = _owner(token) if token else request.user
        if person is None or not person.is_authenticated:
            return 401
        # On this machine no credentials are needed; a valid key does no harm, a wrong one is refused anyway.
        return 200 if getattr(person, "is_staff", False) or _is_local(request) else 403
    except (DatabaseError, InterfaceError):
        return 401


def _owner(key: str) -> AbstractBaseUser | None:
    api_key = key_of(key)
    return api_key.user if api_key else None


def _is_local(request: HttpRequest) -> bool:
    """Whether the request comes directly from a program on this machine, not through a proxy."""
    try:
        address = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    return address.is_loopback and not any(header in request.headers for header in PROXIED)


def _refusal(status: int) -> HttpResponse:
    messages = {
        401: "Metrics are for who sends METRICS_TOKEN or an administrator's key as a bearer token.\n",
        403: "Metrics are for administrators.\n",
    }
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return HttpResponse(messages[status], status=status, content_type="text/plain; charset=utf-8", headers=headers)
