"""No cache keeps what a signed-in person is sent: every page, fragment, answer, export and attachment says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from django.http.response import HttpResponseBase
from django.test import Client
from django.urls import URLPattern, URLResolver, reverse
from django.urls.converters import IntConverter

from compression.ids import uuid7
from conversations.models import ApiKey, Conversation, User
from conversations.urls import urlpatterns
from tests.conversations.chat import fill

pytestmark = pytest.mark.once


def is_private(response: HttpResponseBase) -> bool:
    said = {part.strip() for part in response.headers.get("Cache-Control", "").split(",")}
    return {"private", "no-store"} <= said


def flat(patterns: list[URLPattern | URLResolver]) -> Iterator[URLPattern]:
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            yield pattern
        else:
            yield from flat(pattern.url_patterns)


def addresses(conversation: Conversation) -> Iterator[str]:
    """Every address of the pages, with a conversation that is there and other ids that may not be."""
    message = conversation.messages.first()
    for pattern in flat(urlpatterns):
        given: dict[str, Any] = {"pk": conversation.pk, "message_id": message.pk if message else uuid7()}
        kinds = pattern.pattern.converters.items()
        ids = {name: 1 if isinstance(kind, IntConverter) else given.get(name, uuid7()) for name, kind in kinds}
        yield reverse(str(pattern.name), kwargs=ids)


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_every_page_and_fragment_is_private(
    client: Client, user: User, conversation: Conversation, headers: dict[str, str]
) -> None:
    fill(conversation, 4)
    client.force_login(user)
    loud = {path: client.get(path, headers=headers) for path in addresses(conversation)}
    assert [path for path, response in loud.items() if not is_private(response)] == [reverse("manifest")]
    assert sum(response.status_code == 200 for response in loud.values()) > 15, "they were really asked for"


def test_every_address_of_the_api_is_private(client: Client, user: User, conversation: Conversation) -> None:
    fill(conversation, 4)
    _, key = ApiKey.make(user, "tests")
    signed = {"Authorization": f"Bearer {key}"}
    document = client.get("/api/openapi.json", headers=signed).json()
    message = conversation.messages.first()
    assert message is not None
    seen = []
    for path, methods in document["paths"].items():
        if "get" not in methods or "events" in path:
            continue
        asked = path.replace("{conversation_id}", str(conversation.pk)).replace("{message_id}", str(message.pk))
        while "{" in asked:
            before, _, rest = asked.partition("{")
            asked = before + "1" + rest.partition("}")[2]
        response = client.get(asked, headers=signed)
        assert is_private(response), asked
        seen.append(response.status_code)
    assert seen.count(200) > 10
    for answer in (client.get("/api/conversations"), client.get("/v1/models"), client.get("/nowhere")):
        assert is_private(answer) and answer.status_code in (401, 404)


def test_an_export_and_a_page_of_the_admin_are_private(client: Client, user: User, conversation: Conversation) -> None:
    fill(conversation, 4)
    client.force_login(user)
    for form in ("json", "md"):
        response = client.get(reverse("export", args=[conversation.pk]), {"format": form})
        assert response.status_code == 200 and is_private(response)
    client.force_login(User.objects.create_superuser("root", password="correct horse battery"))
    for page in ("/admin/", "/admin/conversations/conversation/", "/admin/jsi18n/", "/admin/analytics/"):
        response = client.get(page)
        assert response.status_code == 200 and is_private(response), page


def test_static_files_keep_their_own(client: Client, transactional_db: None) -> None:
    with closing(client.get("/static/page.js")) as response:
        assert response.status_code == 200 and "max-age=" in response.headers["Cache-Control"]
        assert "no-store" not in response.headers["Cache-Control"]
