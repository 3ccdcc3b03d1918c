"""Shared parts of the administration pages: read-only admins, links to conversations, summaries of deletions."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from conversations.models import Conversation, Message

type Deletion = tuple[list[str], dict[str, int], set[str], list[str]]


def deletion(objs: Iterable[Model], conversations: QuerySet[Conversation]) -> Deletion:
    """The objects to delete, and the numbers of conversations and messages that go with them, not a full list."""
    counts = {
        "conversations": conversations.count(),
        "messages": Message.objects.filter(conversation__in=conversations).count(),
    }
    return [str(obj) for obj in objs], counts, set(), []


def linked(conversation: Conversation) -> str:
    """A link to the conversation's administration page."""
    address = reverse("admin:conversations_conversation_change", args=[conversation.pk])
    return format_html('<a href="{}">{}</a>', address, conversation)


class ReadOnlyAdmin(admin.ModelAdmin):
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
