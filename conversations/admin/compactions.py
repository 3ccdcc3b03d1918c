"""Administration pages of compactions, checkpoints and snapshots, read-only."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from compression.models import Checkpoint, Compaction, Snapshot
from conversations.admin.base import ConversationRowsAdmin, ReadOnlyAdmin, linked
from conversations.compaction.progress import eta_seconds
from conversations.memory.citations import citations_of, citations_of_checkpoint
from conversations.memory.facts_kept import facts_kept_of
from conversations.models import Message
from conversations.templatetags.chat import duration, stage, statements

SOURCES_SHOWN = 500


@admin.register(Compaction)
class CompactionAdmin(ConversationRowsAdmin, ReadOnlyAdmin):
    """A compaction, with its summary beside the source messages."""

    list_display = [
        "created_at", "of", "flow", "trigger", "status", "progress", "summariser", "messages_condensed", "before",
        "after", "reduction_percent", "facts", "duration_ms",
    ]  # fmt: skip
    readonly_fields = ["of", "progress", "facts_now", "statements"]
    list_select_related = ["conversation__parent"]
    list_filter = ["flow", "trigger", "status", ("summariser", admin.AllValuesFieldListFilter), "created_at"]
    search_fields = ["conversation__title", "conversation__parent__title", "summary_preview", "error"]
    exclude = [
        "lease_token",
        "lease_expires_at",
        "first_message",
        "last_message",
        "summary_preview",
        "stage",
        "percent",
        "parts",
        "parts_done",
    ]

    @admin.display(description=_("conversation of"), ordering="conversation")
    def of(self, row: Compaction) -> str:
        """A link to the conversation; for an executor's compaction, to the agent's conversation."""
        return linked(row.conversation.parent or row.conversation)

    @admin.display(description=_("progress"))
    def progress(self, row: Compaction) -> str:
        """The stage, progress and estimated time left of a running compaction; "" for any other."""
        if not row.is_active:
            return ""
        eta = eta_seconds(row)
        figures = {"part": min(row.parts_done + 1, row.parts), "parts": row.parts}
        part = gettext("part %(part)s of %(parts)s") % figures if row.parts > 1 else ""
        parts = [
            stage(row.stage),
            part,
            f"{row.percent} %",
            gettext("about %(time)s left") % {"time": duration(eta)} if eta else "",
        ]
        return ", ".join(part for part in parts if part)

    @admin.display(description=_("tokens before"))
    def before(self, row: Compaction) -> int | None:
        return row.before

    @admin.display(description=_("tokens after"))
    def after(self, row: Compaction) -> int | None:
        return row.after

    @admin.display(description=_("facts kept"))
    def facts(self, row: Compaction) -> str:
        """The facts of its messages that the next request had once it was compacted; "" where none were found."""
        return _part(row.facts_kept, row.facts_found) if row.facts_found else ""

    @admin.display(description=_("facts kept now"))
    def facts_now(self, row: Compaction) -> str:
        """The facts of its messages that the next request has now."""
        counted = facts_kept_of(row.conversation, [row]).get(row.pk)
        return _part(counted.now, counted.found) if counted else ""

    @admin.display(description=_("statements"))
    def statements(self, row: Compaction) -> str:
        """The statements of its summary, and those of them that no message supports."""
        return statements(citations_of([row]).get(row.pk))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        running = Compaction.objects.filter(status__in=Compaction.ACTIVE).exists()
        return super().changelist_view(request, (extra_context or {}) | {"running": running})

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
        sources = sources_of(obj).prefetch_related("tool_calls")
        context |= {
            "checkpoints": obj.checkpoints.order_by("-number")[:1],
            "sources": sources[:SOURCES_SHOWN],
            "source_count": sources.count(),
            "running": obj.is_active,
        }
        return super().render_change_form(request, context, add, change, form_url, obj)


def _part(kept: int, found: int) -> str:
    return gettext("%(kept)s of %(found)s") % {"kept": kept, "found": found}


def sources_of(row: Compaction) -> QuerySet[Message]:
    """The messages that the compaction's summary covers, from the first to the last."""
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
class CheckpointAdmin(ConversationRowsAdmin, ReadOnlyAdmin):
    list_display = ["created_at", "conversation", "number", "level", "token_count", "original_tokens", "active"]
    list_select_related = ["conversation"]
    list_filter = ["active", "provisional", "level", "created_at"]
    search_fields = ["conversation__title", "summary"]
    readonly_fields = ["statements"]

    @admin.display(description=_("statements"))
    def statements(self, row: Checkpoint) -> str:
        """The statements of the summary, and those of them that no message supports."""
        return statements(citations_of_checkpoint(row))


@admin.register(Snapshot)
class SnapshotAdmin(ConversationRowsAdmin, ReadOnlyAdmin):
    list_display = ["created_at", "conversation", "purpose", "compressed_tokens", "compressed_at"]
    list_select_related = ["conversation"]
    list_filter = ["purpose", "created_at"]
    search_fields = ["conversation__title"]
