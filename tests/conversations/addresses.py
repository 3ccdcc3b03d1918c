"""Every page and every address of the API, with the ids of things that there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.urls.converters import IntConverter
from django.utils import timezone

from compression.models import Compaction
from conversations.models import ApiKey, Conversation, LedgerEntry, Link, Project, SavedPrompt
from tests.conversations.chat import fill
from tests.conversations.conforming import schema


def belongings(conversation: Conversation) -> dict[str, Any]:
    """Make things of the conversation's owner, and return their ids by the names that addresses have for them."""
    fill(conversation, 6)
    owner = conversation.owner
    message = conversation.messages.order_by("created_at").first()
    assert message is not None
    project = Project.objects.create(owner=owner, name="Lunar")
    entry = LedgerEntry.objects.create(
        conversation=conversation, text="Answer in French.", state="noted", chosen_state="noted"
    )
    compaction = Compaction.objects.create(conversation=conversation, status="succeeded")
    key, _ = ApiKey.make(owner, "backup")
    prompt = SavedPrompt.objects.create(owner=owner, name="Translate", text="Into German:")
    ended = timezone.now() - timedelta(days=1)
    Link.objects.create(conversation=conversation, token="t" * 22, since=ended, up_to=ended, ends_at=ended)
    return {
        **{"pk": conversation.pk, "conversation_id": conversation.pk, "message_id": message.pk},
        **{"project_id": project.pk, "entry_id": entry.pk, "compaction_id": compaction.pk, "task_id": compaction.pk},
        **{"key_id": key.pk, "prompt_id": prompt.pk, "token": "t" * 22, "language": "de", "username": owner.username},
        "user_id": owner.pk,
    }


def named(patterns: list[URLPattern | URLResolver]) -> Iterator[URLPattern]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            if pattern.namespace is None:
                yield from named(pattern.url_patterns)
        elif pattern.name and not pattern.name.startswith("api-"):
            yield pattern


def pages(things: dict[str, Any]) -> dict[str, str]:
    """The addresses of all pages, by their names, with the ids of things that there are."""
    found = {}
    for pattern in named(get_resolver().url_patterns):
        kinds = pattern.pattern.converters.items()
        ids = {name: things.get(name, 1 if isinstance(kind, IntConverter) else uuid4()) for name, kind in kinds}
        if pattern.name == "mfa_remove_webauthn":
            ids = {"pk": 1}
        found[str(pattern.name)] = reverse(str(pattern.name), kwargs=ids)
    return found


def operations(things: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The methods and addresses of the API."""
    for path, methods in schema()["paths"].items():
        asked = path.format_map(defaultdict(uuid4, {"number": 1, **things}))
        yield from ((method, asked) for method in methods if method != "parameters")
