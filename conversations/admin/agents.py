"""Administration pages of agent runs: each executor's run with its steps and tool calls, read-only."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from conversations.admin.base import ConversationRowsAdmin, ReadOnlyAdmin, linked
from conversations.models import AgentRun, AgentStep

OPENING = 100
"""The most characters of a task in the list."""


class StepInline(admin.TabularInline):
    """The messages of planner and executor in a run, in order, with their tool calls."""

    model = AgentStep
    fields = ["number", "kind", "message_text", "calls", "tokens", "at"]
    readonly_fields = ["number", "kind", "message_text", "calls", "tokens", "at"]
    can_delete = False
    extra = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentStep]:
        return super().get_queryset(request).select_related("message").prefetch_related("message__tool_calls")

    @admin.display(description=_("text"))
    def message_text(self, step: AgentStep) -> str:
        return step.message.content

    @admin.display(description=_("tool calls"))
    def calls(self, step: AgentStep) -> str:
        rows = [(call, call.get_status_display(), call.error) for call in step.message.tool_calls.all()]
        return format_html_join(mark_safe("<br>"), "{}: {} {}", rows) or "-"

    @admin.display(description=_("tokens"))
    def tokens(self, step: AgentStep) -> int:
        return step.message.token_count

    @admin.display(description=_("written"))
    def at(self, step: AgentStep) -> object:
        return step.message.created_at

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(AgentRun)
class AgentRunAdmin(ConversationRowsAdmin, ReadOnlyAdmin):
    ordering = ["-created_at", "-id"]
    list_display = ["created_at", "begins", "of", "status", "turns", "finished_at"]
    list_select_related = ["conversation"]
    list_filter = ["status", "created_at"]
    search_fields = ["task", "conversation__title"]
    fields = ["of", "executor_conversation", "task", "status", "turns", "error", "created_at", "finished_at"]
    readonly_fields = ["of", "executor_conversation"]
    inlines = [StepInline]

    @admin.display(description=_("task"))
    def begins(self, run: AgentRun) -> str:
        return Truncator(run.task).chars(OPENING)

    @admin.display(description=_("agent's conversation"))
    def of(self, run: AgentRun) -> str:
        return linked(run.conversation)

    @admin.display(description=_("executor's conversation"))
    def executor_conversation(self, run: AgentRun) -> str:
        return linked(run.thread)
