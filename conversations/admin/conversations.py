"""The administrator's pages. The engine's rows are shown here as well: the actions on them need our verbs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import Count, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse

from compression.core.values import Steering
from compression.models import Checkpoint, Compaction, Snapshot
from conversations import compaction
from conversations.errors import Invalid, Refused
from conversations.models import ApiKey, Conversation, Message, ModelProfile
from conversations.validation import clean_policy

SOURCES_SHOWN = 500

type Deletion = tuple[list[str], dict[str, int], set[str], list[str]]


def deletion(objs: Iterable[Model], conversations: QuerySet[Conversation]) -> Deletion:
    """What goes along, as figures: ten thousand messages one by one tell nobody anything."""
    gone = {
        "conversations": conversations.count(),
        "messages": Message.objects.filter(conversation__in=conversations).count(),
    }
    return [str(obj) for obj in objs], gone, set(), []


class ReadOnlyAdmin(admin.ModelAdmin):
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ConversationForm(forms.ModelForm):
    def clean_policy(self) -> dict[str, Any]:
        policy = self.cleaned_data["policy"]
        try:
            return clean_policy("policy", {} if policy is None else policy)
        except Invalid as fault:
            raise ValidationError(fault.message) from None


@admin.register(Conversation)
class ConversationAdmin(admin.ModelAdmin):
    form = ConversationForm
    list_display = ["__str__", "owner", "model", "message_count", "is_compressed", "updated_at"]
    list_select_related = ["owner", "model"]
    list_filter = [("compressed_at", admin.EmptyFieldListFilter), "kind", "mode", "archived", "model", "updated_at"]
    search_fields = ["title", "owner__username"]
    ordering = ["-updated_at"]
    list_per_page = 50
    actions = ["compact_now", "undo_last"]
    fields = [
        "title", "owner", "model", "mode", "system_prompt", "policy", "pinned", "archived", "compressed_context",
        "compressed_tokens", "compressed_at", "verbatim_ids", "compression_version", "created_at", "updated_at",
    ]  # fmt: skip
    readonly_fields = [
        "owner", "compressed_context", "compressed_tokens", "compressed_at", "verbatim_ids", "compression_version",
        "created_at", "updated_at",
    ]  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        rows = Message.objects.filter(conversation=OuterRef("pk")).order_by().values("conversation")
        count = Subquery(rows.annotate(count=Count("pk")).values("count"))
        return super().get_queryset(request).annotate(message_count=Coalesce(count, 0))

    @admin.display(description="messages", ordering="message_count")
    def message_count(self, conversation: Any) -> int:
        return int(conversation.message_count)

    @admin.display(description="compressed", boolean=True, ordering="compressed_at")
    def is_compressed(self, conversation: Conversation) -> bool:
        return conversation.is_compressed

    @admin.action(description="Compact now", permissions=["change"])
    def compact_now(self, request: HttpRequest, conversations: QuerySet[Conversation]) -> None:
        compact = partial(compaction.request, trigger=Compaction.Trigger.MANUAL, steering=Steering(quality="standard"))
        self._each(request, conversations, "is being compressed.", compact)

    @admin.action(description="Undo the last compaction", permissions=["change"])
    def undo_last(self, request: HttpRequest, conversations: QuerySet[Conversation]) -> None:
        self._each(request, conversations, "is as it was before its last compaction.", compaction.rollback)

    def _each(
        self, request: HttpRequest, rows: QuerySet[Conversation], done: str, act: Callable[[Conversation], Any]
    ) -> None:
        for row in rows:
            try:
                act(row)
            except Refused as refusal:
                self.message_user(request, f"{row}: {refusal.message}", messages.ERROR)
            else:
                self.message_user(request, f"{row} {done}", messages.SUCCESS)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Conversation, form: forms.ModelForm, change: bool) -> None:
        # What was edited alone: a compaction may have written the rest since the page was opened.
        obj.save(update_fields=form.changed_data)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Deletion:
        return deletion(objs, Conversation.objects.filter(pk__in=[obj.pk for obj in objs]))


@admin.register(Compaction)
class CompactionAdmin(ReadOnlyAdmin):
    """One run, its summary beside the messages that it was written from."""

    list_display = [
        "created_at", "conversation", "trigger", "status", "summariser", "messages_condensed", "pre_tokens",
        "post_tokens", "reduction_percent", "duration_ms",
    ]  # fmt: skip
    list_select_related = ["conversation"]
    list_filter = ["trigger", "status", ("summariser", admin.AllValuesFieldListFilter), "created_at"]
    search_fields = ["conversation__title", "summary_preview", "error"]
    exclude = ["lease_token", "lease_expires_at", "first_message", "last_message", "summary_preview"]

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Compaction | None = None,
    ) -> HttpResponse:
        assert obj is not None
        sources = sources_of(obj)
        context |= {
            "checkpoints": obj.checkpoints.order_by("-number")[:1],
            "sources": sources[:SOURCES_SHOWN],
            "source_count": sources.count(),
        }
        return super().render_change_form(request, context, add, change, form_url, obj)


def sources_of(row: Compaction) -> QuerySet[Message]:
    """The messages from the first to the last one that the summary covers."""
    if row.first_message is None or row.last_message is None:
        return Message.objects.none()
    date = Message.objects.values("created_at")
    return Message.objects.filter(
        conversation=row.conversation_id,
        replaced_by=None,
        created_at__gte=Subquery(date.filter(pk=row.first_message)),
        created_at__lte=Subquery(date.filter(pk=row.last_message)),
    )


@admin.register(Checkpoint)
class CheckpointAdmin(ReadOnlyAdmin):
    list_display = ["created_at", "conversation", "number", "level", "token_count", "original_tokens", "active"]
    list_select_related = ["conversation"]
    list_filter = ["active", "provisional", "level", "created_at"]
    search_fields = ["conversation__title", "summary"]


@admin.register(Snapshot)
class SnapshotAdmin(ReadOnlyAdmin):
    list_display = ["created_at", "conversation", "purpose", "compressed_tokens", "compressed_at"]
    list_select_related = ["conversation"]
    list_filter = ["purpose", "created_at"]
    search_fields = ["conversation__title"]


class ModelProfileForm(forms.ModelForm):
    """The key goes in and never comes out."""

    api_key = forms.CharField(
        label="API key",
        required=False,
        max_length=1_000,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Kept encrypted and never shown. Left empty, the key stays as it is.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["api_key"] = ""

    def clean_api_key(self) -> str:
        return self.cleaned_data["api_key"] or str(self.instance.api_key)


@admin.register(ModelProfile)
class ModelProfileAdmin(admin.ModelAdmin):
    form = ModelProfileForm
    list_display = ["name", "provider", "model_id", "window", "role", "enabled", "from_environment"]
    list_filter = ["provider", "role", "enabled"]
    readonly_fields = ["from_environment", "token_correction"]


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
