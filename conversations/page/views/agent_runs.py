"""The fragments that show a tool call in full, and an executor's run with its steps."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from conversations.access import TO_READ, get_conversation
from conversations.models import ToolCall
from conversations.page import agent_view
from conversations.page.views.guard import Request, member


@member
@never_cache
@require_GET
def agent_run(request: Request, pk: UUID, run_id: UUID) -> HttpResponse:
    """The steps of a run. A page loads those of a finished run only when it is opened."""
    conversation = get_conversation(request.user, pk)
    row = get_object_or_404(conversation.agent_runs, pk=run_id)
    return render(request, "conversations/agents/_working.html", {"working": agent_view.run_view(row)})


@member
@never_cache
@require_GET
def call(request: Request, pk: UUID, message_id: UUID, number: int) -> HttpResponse:
    """A tool call in full; `number` is its row's id."""
    conversation = get_conversation(request.user, pk, kinds=TO_READ)
    rows = ToolCall.objects.select_related("message").filter(message=message_id, message__conversation=conversation)
    tool_call = get_object_or_404(rows, pk=number)
    context = {"call": tool_call, "message": tool_call.message, "whole": True}
    return render(request, "conversations/agents/_told.html", context)
