"""What a tool was called with and gave, as a whole; and what an executor did at a task."""

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
def run(request: Request, pk: UUID, run_id: UUID) -> HttpResponse:
    """Its steps: a run that has ended is not in the page from the start."""
    conversation = get_conversation(request.user, pk)
    row = get_object_or_404(conversation.agent_runs, pk=run_id)
    return render(request, "conversations/_working.html", {"working": agent_view.run_view(row)})


@member
@never_cache
@require_GET
def call(request: Request, pk: UUID, message_id: UUID, number: int) -> HttpResponse:
    """All of a call, however long: its row's `number`."""
    conversation = get_conversation(request.user, pk, kinds=TO_READ)
    rows = ToolCall.objects.select_related("message").filter(message=message_id, message__conversation=conversation)
    found = get_object_or_404(rows, pk=number)
    context = {"call": found, "message": found.message, "whole": True}
    return render(request, "conversations/_told.html", context)
