"""Administration page of conversations: settings, context state, and actions that compact, undo or clear."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import mark_safe
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from compression.core.values import Steering
from compression.models import Compaction
from conversations.admin.base import ConversationRowsAdmin, Deletion, deletion, linked
from conversations.compaction import compaction, snapshots
from conversations.errors import Refused
from conversations.instructions import conversation_settings
from conversations.llm.profiles import chat_profiles
from conversations.models import AgentRun, Conversation, Message, ModelProfile
from conversations.requests import replay

RUNS_SHOWN = 50
ENTRIES_SHOWN = 50


class ConversationForm(forms.ModelForm):
    """A conversation's settings; the changed ones are checked as `conversation_settings.change` checks them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "model" in self.fields:
            offered = Q(pk__in=chat_profiles(self.instance.owner_id).values("pk")) | Q(pk=self.instance.model_id)
            self.fields["model"].queryset = ModelProfile.objects.filter(offered)  # type: ignore[attr-defined]

    def clean_rules(self) -> Any:
        return [] if self.cleaned_data["rules"] is None else self.cleaned_data["rules"]

    def clean_policy(self) -> Any:
        return {} if self.cleaned_data["policy"] is None else self.cleaned_data["policy"]

    def clean(self) -> None:
        """Check the changed fields alone: a stored policy may name a model that has been disabled since."""
        super().clean()
        edited = {name: self.cleaned_data[name] for name in self.changed_data if name in self.cleaned_data}
        try:
            conversation_settings.check(self.instance, **_changes(self.instance, edited))
        except Refused as refusal:
            place = str(refusal.detail.get("field", "")).partition(".")[0].partition("[")[0]
            self.add_error(place if place in self.fields else None, refusal.message)


def _changes(stored: Conversation, values: dict[str, Any]) -> conversation_settings.Changes:
    """The values that differ from the stored ones."""
    changed: Any = {name: value for name, value in values.items() if value != getattr(stored, name)}
    return changed


@admin.register(Conversation)
class ConversationAdmin(ConversationRowsAdmin):
    form = ConversationForm
    list_display = ["__str__", "kind", "owner", "model", "message_count", "is_compressed", "updated_at"]
    list_select_related = ["owner", "model"]
    list_filter = ["kind", ("compressed_at", admin.EmptyFieldListFilter), "mode", "archived", "model", "updated_at"]
    search_fields = ["title", "owner__username"]
    ordering = ["-updated_at"]
    list_per_page = 50
    actions = ["compact_now", "undo_last", "clear"]
    fields = [
        "title", "kind", "works_for", "owner", "model", "mode", "uses_tools", "system_prompt", "policy", "rules",
        "effort", "ledger", "goal_text", "pinned", "archived", "compressed_context", "compressed_tokens",
        "compressed_at", "verbatim_ids", "elided", "compression_version", "last_request", "runs", "created_at",
        "updated_at",
    ]  # fmt: skip
    readonly_fields = [
        "kind", "works_for", "owner", "ledger", "goal_text", "compressed_context", "compressed_tokens",
        "compressed_at", "verbatim_ids", "elided", "compression_version", "last_request", "runs", "created_at",
        "updated_at",
    ]  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        rows = Message.objects.filter(conversation=OuterRef("pk")).order_by().values("conversation")
        count = Subquery(rows.annotate(count=Count("pk")).values("count"))
        return super().get_queryset(request).annotate(message_count=Coalesce(count, 0))

    @admin.display(description=_("messages"), ordering="message_count")
    def message_count(self, conversation: Any) -> int:
        return int(conversation.message_count)

    @admin.display(description=_("what the model saw"))
    def last_request(self, conversation: Conversation) -> str:
        """A link to the latest recorded request, whose page links to all others."""
        reply = replay.noted_replies(conversation).order_by("-created_at").first()
        if reply is None:
            return "-"
        address = reverse("request", args=[conversation.pk, reply.pk])
        return format_html('<a href="{}">{}</a>', address, date_format(reply.created_at, "Y-m-d H:i"))

    @admin.display(description=_("ledger"))
    def ledger(self, conversation: Conversation) -> str:
        """The latest entries with their states, read-only; the field `rules` has those in force."""
        rows = conversation.ledger.filter(is_withdrawn=False)[:ENTRIES_SHOWN]
        lines = [(row.get_state_display(), row.get_kind_display(), f"{row.said_at:%Y-%m-%d}", row.text) for row in rows]
        return format_html_join(mark_safe("<br>"), "<b>{}</b> {}, {}: {}", lines) or "-"

    @admin.display(description=_("works for"))
    def works_for(self, conversation: Conversation) -> str:
        return linked(conversation.parent) if conversation.parent else "-"

    @admin.display(description=_("runs of its executors"))
    def runs(self, conversation: Conversation) -> str:
        """Links to the runs of an agent's executors, or to an executor's own run."""
        rows = AgentRun.objects.filter(Q(conversation=conversation) | Q(thread=conversation)).order_by("-created_at")
        pages = [(reverse("admin:conversations_agentrun_change", args=[run.pk]), run) for run in rows[:RUNS_SHOWN]]
        return format_html_join(mark_safe("<br>"), '<a href="{}">{}</a>', pages) or "-"

    @admin.display(description=_("compressed"), boolean=True, ordering="compressed_at")
    def is_compressed(self, conversation: Conversation) -> bool:
        return conversation.is_compressed

    @admin.action(description=_("Compact now"), permissions=["change"])
    def compact_now(self, request: HttpRequest, conversations: QuerySet[Conversation]) -> None:
        compact = partial(compaction.request, trigger=Compaction.Trigger.MANUAL, steering=Steering(quality="standard"))
        self._act_on_each(request, conversations, gettext_noop("%(chat)s is being compacted."), compact)

    @admin.action(description=_("Undo the last compaction"), permissions=["change"])
    def undo_last(self, request: HttpRequest, conversations: QuerySet[Conversation]) -> None:
        done = gettext_noop("%(chat)s is as it was before its last compaction.")
        self._act_on_each(request, conversations, done, compaction.rollback)

    @admin.action(description=_("Clear: send every message as it is"), permissions=["change"])
    def clear(self, request: HttpRequest, conversations: QuerySet[Conversation]) -> None:
        self._act_on_each(request, conversations, gettext_noop("%(chat)s is not compacted any more."), snapshots.clear)

    def _act_on_each(
        self, request: HttpRequest, rows: QuerySet[Conversation], done: str, act: Callable[[Conversation], Any]
    ) -> None:
        for row in rows:
            try:
                act(row)
            except Refused as refusal:
                self.message_user(request, f"{row}: {refusal.message}", messages.ERROR)
            else:
                self.message_user(request, gettext(done) % {"chat": row}, messages.SUCCESS)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Conversation, form: forms.ModelForm, change: bool) -> None:
        """Save the edited fields alone: a compaction may have changed the others since the page was opened."""
        stored = Conversation.objects.get(pk=obj.pk)
        conversation_settings.change(
            stored, **_changes(stored, {name: getattr(obj, name) for name in form.changed_data})
        )

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().changeform_view(request, *args, **kwargs)
        except Refused as refusal:  # a reply has begun since the form was checked
            self.message_user(request, refusal.message, messages.ERROR)
            return redirect(request.get_full_path())

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Deletion:
        chosen = [obj.pk for obj in objs]
        return deletion(objs, Conversation.objects.filter(Q(pk__in=chosen) | Q(parent__in=chosen)))
