"""Canaries: a mark in every secret, looked for in all that the site shows, logs, stores and hands out."""

from __future__ import annotations

import gzip
import logging
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib import admin
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatsite.mail_server import mailers
from chatsite.sign_in_services import Service, providers
from conversations.models import ApiKey, Conversation, Invitation, Message, ModelProfile, ToolServer, User
from conversations.models.encrypted import encrypt
from conversations.ops import invitations
from tests.conversations.addresses import belongings, operations, pages
from tests.conversations.chat import Chat
from tests.conversations.page import mail_urls
from tests.conversations.pages import BACKEND

pytestmark = pytest.mark.once

SETTINGS = ("SECRET_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "METRICS_TOKEN")
KINDS = ("model", "header", "environment", "totp", "recovery", "mail", "service")
WORDS = "Where is the key of the lighthouse?"
ENDLESS = "/events"
"""The end of an address whose answer goes on for as long as somebody listens; the chat's page says the same."""


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def planted(owner: User, settings: Any) -> dict[str, str]:
    """The site's secrets, by their kinds: each is put where the site keeps it."""
    marks = {name: f"{name.lower().replace('_', '')}canary0123456789abcdef0123456789" for name in SETTINGS}
    for name, mark in marks.items():
        setattr(settings, name, mark)
    marks |= {kind: f"{kind}canary0123456789abcdef" for kind in KINDS}
    settings.ROOT_URLCONF = mail_urls.__name__
    settings.MAILERS = mailers(f"smtps://chatsite:{marks['mail']}@127.0.0.1:1")
    service = Service("github", "GitHub", "http://127.0.0.1:1", "client", marks["service"], "GITHUB")
    settings.SOCIALACCOUNT_PROVIDERS = providers([service])
    ModelProfile.objects.update(api_key=marks["model"])
    for name, server in (
        ("remote", {"url": "http://127.0.0.1:1/mcp", "headers": f"Authorization: Bearer {marks['header']}"}),
        ("local", {"command": "true", "environment": f"TOKEN={marks['environment']}"}),
    ):
        ToolServer.objects.create(name=name, **server)
    Authenticator.objects.create(user=owner, type="totp", data={"secret": encrypt(marks["totp"])})
    Authenticator.objects.create(
        user=owner, type="recovery_codes", data={"seed": encrypt(marks["recovery"]), "used_mask": 0}
    )
    marks["password"] = "passwordcanary 0123456789"
    owner.set_password(marks["password"])
    owner.is_staff = owner.is_superuser = True
    owner.save()
    _, marks["key"] = ApiKey.make(owner, "program")
    marks["invitation"] = invitations.new_token()
    week = timezone.now() + timedelta(days=7)
    Invitation.objects.create(digest=invitations.digest_of(marks["invitation"]), made_by_id=owner.pk, ends_at=week)
    return marks


async def collected(chunks: AsyncIterator[bytes]) -> list[bytes]:
    return [chunk async for chunk in chunks]


def text_of(answer: Any) -> str:
    chunks = answer.streaming_content if answer.streaming else [answer.content]
    body = b"".join(async_to_sync(collected)(chunks) if isinstance(chunks, AsyncIterator) else chunks)
    return f"{dict(answer.headers)} {body.decode(errors='replace')}"


def of_pages(client: Client, addresses: dict[str, str]) -> dict[str, str]:
    return {f"page {name}": text_of(client.get(address)) for name, address in addresses.items() if name != "logout"}


def of_the_administration(client: Client) -> dict[str, str]:
    """The list, the form for a new row, and the form and the history of the first row, of every model."""
    found = {}
    for model, registered in admin.site._registry.items():
        first = model._base_manager.first()
        for name, ids in (("changelist", []), ("add", []), *((n, [first and first.pk]) for n in ("change", "history"))):
            if ids != [None]:
                address = reverse(f"admin:{registered.opts.app_label}_{registered.opts.model_name}_{name}", args=ids)
                found[f"admin {registered.opts.model_name} {name}"] = text_of(client.get(address))
    return found


def of_the_api(program: Client, things: dict[str, Any]) -> dict[str, str]:
    asked = [address for method, address in operations(things) if method == "get" and not address.endswith(ENDLESS)]
    return {f"api {address}": text_of(program.get(address)) for address in asked}


def of_files(folder: Path) -> dict[str, str]:
    """A backup, the audit log's export, and every row of the database."""
    call_command("backup", str(folder / "site.backup"))
    call_command("audit", stdout=(audit := StringIO()))
    return {
        "backup": gzip.decompress((folder / "site.backup").read_bytes()).decode(),
        "audit": audit.getvalue(),
        **of_tables(),
    }


def of_tables() -> dict[str, str]:
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if table != "django_session":  # its key is the session's own name
                cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
                found[f"table {table}"] = "\n".join(map(repr, cursor.fetchall()))
    return found


def disguises(secret: str) -> Iterator[str]:
    """The secret as it stands, and in the encodings that hide it from a reader but not from a program."""
    raw = secret.encode()
    yield secret
    yield raw.hex()
    for shift in range(3):  # its place in the encoded text decides which characters stand for it
        yield b64encode(b"-" * shift + raw).decode()[4:-4]


def leaks(found: dict[str, str], marks: dict[str, str]) -> list[tuple[str, str]]:
    """The places that show a mark, each with the mark's kind."""
    return [
        (place, kind)
        for place, text in found.items()
        for kind, mark in marks.items()
        if any(one in text for one in disguises(mark))
    ]


async def test_no_secret_is_shown_logged_stored_in_the_open_or_handed_out(
    chat: Chat, settings: Any, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    owner = await sync_to_async(lambda: chat.conversation.owner)()
    marks = await sync_to_async(planted)(owner, settings)
    chat.llm.enqueue(status=401, message=f"Incorrect API key provided: {marks['model']}")
    failed = await chat.say(WORDS)
    assert failed.status == "failed"
    assert chat.llm.last_request.headers["authorization"] == f"Bearer {marks['model']}"

    def looked_at() -> dict[str, str]:
        client, program = Client(), Client(headers={"Authorization": f"Bearer {marks['key']}"})
        client.force_login(owner, backend=BACKEND)
        things = belongings(chat.conversation)
        found = of_pages(client, pages(things)) | of_the_administration(client) | of_the_api(program, things)
        found |= {"wrong password": text_of(Client().post("/accounts/login/", {"username": "alice", "password": "no"}))}
        return found | of_files(tmp_path) | {"log": caplog.text}

    found = await sync_to_async(looked_at)()
    assert len(found) > 250 and len(found["log"]) > 1_000
    assert WORDS in found["page chat"] and WORDS in found["admin conversation change"] and WORDS in found["backup"]
    assert not [place for place in ("log", "audit", "page metrics") if WORDS in found[place]]
    assert leaks(found, marks) == []
    assert leaks({"a": f"..{b64encode(b'abcd' + marks['totp'].encode()).decode()}"}, marks) == [("a", "totp")]


@pytest.mark.django_db
def test_another_person_is_shown_no_word_of_a_chat(conversation: Conversation) -> None:
    """Pages and lists of their own, and a search for the words; `test_strangers` tries addresses with another's ids."""
    conversation.title = WORDS
    conversation.save()
    things = belongings(conversation)
    Message.objects.filter(conversation=conversation).update(content=WORDS)
    mallory = User.objects.create_user("mallory")
    _, key = ApiKey.make(mallory, "program")
    client, program = Client(), Client(headers={"Authorization": f"Bearer {key}"})
    client.force_login(mallory, backend=BACKEND)
    found = of_pages(client, pages(things)) | of_the_api(program, things)
    found["search"] = text_of(client.get(reverse("search"), {"q": "lighthouse"}))
    found["api search"] = text_of(program.get("/api/conversations", {"q": "lighthouse"}))
    assert [place for place, text in found.items() if WORDS in text] == []
    client.force_login(conversation.owner, backend=BACKEND)
    assert WORDS in text_of(client.get(reverse("search"), {"q": "lighthouse"}))
