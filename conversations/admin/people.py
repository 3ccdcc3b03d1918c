from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db.models import Model
from django.http import HttpRequest

from conversations.admin.base import Deletion, ReadOnlyAdmin, deletion
from conversations.models import ApiKey, Conversation


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    """Keys are made by their owners, and can be taken away here."""

    list_display = ["name", "user", "created_at", "last_used"]
    list_select_related = ["user"]
    search_fields = ["name", "user__username"]
    fields = ["name", "user", "created_at", "last_used"]

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return admin.ModelAdmin.has_delete_permission(self, request, obj)


admin.site.unregister(User)


@admin.register(User)
class PersonAdmin(UserAdmin):
    """With a person go their conversations, whose compactions nobody can delete one by one."""

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Deletion:
        return deletion(objs, Conversation.objects.filter(owner__in=[obj.pk for obj in objs]))
