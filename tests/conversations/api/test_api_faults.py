"""What fails before any route of the API is reached has the same shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.test import Client

from conversations.models import User
from tests.conversations.api_client import refused

ALL = "/api/conversations"


def broken(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    def middleware(request: HttpRequest) -> HttpResponseBase:
        raise RuntimeError("the database is away")

    return middleware


@pytest.mark.parametrize("path", [ALL, "/api/nothing", "/api/docs", "/api/openapi.json"])
def test_another_sites_name_is_400(db: None, path: str) -> None:
    response = Client(headers={"host": "evil.example"}).get(path)
    assert refused(response, 400, "invalid")["field"] == "Host"


def test_another_sites_name_is_a_page_for_a_browser(db: None) -> None:
    response = Client(headers={"host": "evil.example"}).get("/")
    assert response.status_code == 400
    assert response["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("place", [0, -1])
def test_what_breaks_before_a_route_is_reached_is_500(db: None, settings: Any, place: int) -> None:
    rest = settings.MIDDLEWARE
    settings.MIDDLEWARE = [f"{__name__}.broken", *rest] if place == 0 else [*rest, f"{__name__}.broken"]
    client = Client(raise_request_exception=False)
    response = client.get(ALL)
    refused(response, 500, "internal")
    assert b"database" not in response.content
    assert client.get("/")["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded", b"&".join(b"a%d=1" % number for number in range(2_000))),
        ("multipart/form-data; boundary=x", b"--x\r\nnonsense"),
        ("multipart/form-data", b"no boundary"),
    ],
)
def test_a_form_is_not_even_read_for_its_csrf_token(user: User, kind: str, body: bytes) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    for path in (ALL, f"{ALL}/import"):
        refused(client.generic("POST", path, body, content_type=kind), 415, "unsupported_media_type")
