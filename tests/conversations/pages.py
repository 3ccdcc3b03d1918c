"""The site as a browser asks it, without the browser."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser
from django.test import Client
from django.urls import reverse

from conversations.models import Conversation

BACKEND = "django.contrib.auth.backends.ModelBackend"


def one_line(html: str) -> str:
    """Markup with its line breaks as spaces: where a sentence is broken is no matter of a page's text."""
    return " ".join(html.split())


class Pages:
    """A person's pages; `htmx=True` asks as htmx does."""

    def __init__(self, user: AbstractBaseUser | None = None) -> None:
        self.client = Client()
        if user:
            self.client.force_login(user, backend=BACKEND)

    def get(self, name: str, *ids: UUID, htmx: bool = False, **query: str) -> Any:
        return self.client.get(reverse(name, args=ids), query, headers=_headers(htmx))

    def asks_for_itself(self, conversation: UUID, message: UUID) -> Any:
        """What a bubble whose reply is pending does from time to time."""
        headers = _headers(True) | {"HX-Trigger": f"message-{message}"}
        return self.client.get(reverse("message", args=[conversation, message]), headers=headers)

    def post(self, name: str, /, *ids: UUID, htmx: bool = True, at: Conversation | None = None, **form: Any) -> Any:
        return self.client.post(reverse(name, args=ids), form, headers=_headers(htmx, at))


class Elements(HTMLParser):
    """The elements of a page as (tag, attributes), in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def with_attribute(self, name: str) -> list[dict[str, str]]:
        return [attributes for _, attributes in self.found if name in attributes]

    def by_id(self, id: str) -> dict[str, str]:
        (only,) = [attributes for _, attributes in self.found if attributes.get("id") == id]
        return only

    def named(self, name: str) -> dict[str, str]:
        (only,) = [attributes for _, attributes in self.found if attributes.get("name") == name]
        return only


def elements(response: Any) -> Elements:
    return Elements(response.content.decode())


def _headers(htmx: bool, at: Conversation | None = None) -> dict[str, str]:
    here = reverse("chat", args=[at.pk]) if at else "/"
    return {"HX-Request": "true", "HX-Current-URL": f"http://testserver{here}"} if htmx else {}
