"""The page that describes the API, and docs/api.md, which says the same in a file."""

from __future__ import annotations

import re
import subprocess
from typing import Any

import pytest
from django.test import Client

from tests.conversations.api_client import refused
from tests.conversations.conforming import schema
from tests.journeys.site import ROOT

pytestmark = pytest.mark.once


def routes() -> list[tuple[str, str, str]]:
    return [
        (method.upper(), path, operation["summary"])
        for path, methods in schema()["paths"].items()
        for method, operation in methods.items()
    ]


def test_the_page_is_for_anybody_and_has_every_route_and_shape(db: None, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        response = Client().get("/api/docs")
    page = response.content.decode()
    assert response.status_code == 200
    for method, path, summary in routes():
        assert f">{method}</b> <code>{path}</code>" in page, (method, path)
        assert summary in page
    for name in schema()["components"]["schemas"]:
        assert page.count(f'id="shape-{name}"') == 1
    assert "curl http://testserver/api/conversations" in page


def test_every_link_within_the_page_leads_somewhere(db: None) -> None:
    page = Client().get("/api/docs").content.decode()
    ids = re.findall(r'id="([^"]+)"', page)
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


def test_the_page_needs_nothing_from_elsewhere_and_no_script(db: None) -> None:
    response = Client().get("/api/docs")
    page = response.content.decode()
    assert "<script" not in page and "<style" not in page and " style=" not in page
    assert all(re.match(r"/static/|/manifest\.json$", one) for one in re.findall(r'<link[^>]* href="([^"]+)"', page))
    assert "default-src 'self'" in response["Content-Security-Policy"]


def test_nothing_can_be_posted_to_it(db: None) -> None:
    refused(Client().post("/api/docs"), 405, "method_not_allowed")


def test_the_file_lists_the_same_routes() -> None:
    """Where this fails, the lines that `routes` gives are those that the table should have."""
    listed = re.findall(r"^\| `(\w+)` \| `([^`]+)` \| ([^|]+) \|$", told(), re.MULTILINE)
    assert sorted(listed) == sorted(routes())


def test_the_file_has_an_example_of_every_route_and_of_nothing_else() -> None:
    shown = re.findall(r"^api ([A-Z]+) [\"']?([^\s\"']+)", told(), re.MULTILINE)
    shown += [("POST", address) for address in re.findall(r'^curl .*[$]SITE/api/([^"]+)".* -F ', told(), re.MULTILINE)]
    found = {operation_of(method, address.partition("?")[0]) for method, address in shown}
    assert found == {(method, path) for method, path, _ in routes()}


@pytest.mark.parametrize(
    ("body", "sent"), [("", []), ("'{\"a\": 1}'", ["-HContent-Type:application/json", '-d{"a": 1}'])]
)
def test_the_files_function_calls_nothing_json_where_there_is_no_body(body: str, sent: list[str]) -> None:
    helper = re.search(r"^api\(\) {.*?^}$", told(), re.MULTILINE | re.DOTALL)
    assert helper
    script = f"""curl() {{ printf '%s\\n' "$@"; }}\n{helper[0]}\napi POST things {body}"""
    asked = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout.splitlines()
    assert asked[asked.index("Authorization: Bearer ") + 1 :] == sent


def operation_of(method: str, address: str) -> tuple[str, str]:
    """The route that an example asks: its variables stand for any id."""
    for wanted, path, _ in routes():
        pattern = re.sub(r"{\w+}", r"(?:[$]\\w+|[0-9]+)", path.removeprefix("/api/"))
        if wanted == method and re.fullmatch(pattern, address):
            return method, path
    return method, address


def told() -> str:
    return (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
