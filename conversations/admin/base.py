"""Shared parts of the administration pages: read-only admins, links to conversations, summaries of deletions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from conversations.models import Conversation, Message
from conversations.runtime import audit

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


class ConversationRowsAdmin(admin.ModelAdmin):
    """Pages of conversations and of their rows; the audit log has who looked at another person's."""

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        found: Any = super().get_object(request, object_id, from_field)
        if found is not None:
            conversation = found if isinstance(found, Conversation) else found.conversation
            if conversation.owner_id != request.user.pk:
                audit.note(audit.Action.LOOKED_AT, request.user, f"conversation {conversation.pk}")
        return found


class ReadOnlyAdmin(admin.ModelAdmin):
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
