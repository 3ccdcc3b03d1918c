"""What a person does in a conversation: send, stop, retry, compact, undo, protect."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_POST
from django_htmx.http import reswap, retarget, trigger_client_event

from compression.core.values import Steering
from conversations import bubbles, cancelling, compaction, fragments, pastes, protection, slash, turn, usage
from conversations.access import TO_READ, get_conversation
from conversations.errors import Conflict
from conversations.models import Conversation
from conversations.views.guard import Request, member
from conversations.views.parse import id_of, ids_of

NOTHING: dict[str, list[Any]] = {part: [] for part in bubbles.PARTS}


@member
@require_POST
def send(request: Request, pk: UUID) -> HttpResponse:
    """The question's bubble and the reply's; or, for a command, the beginning of a compression or the help."""
    conversation = get_conversation(request.user, pk)
    shown, chosen = request.POST.get("content", "").replace("\r\n", "\n"), ids_of(request.POST, "attachments")
    written = pastes.read(request.POST["parts"]) if "parts" in request.POST else pastes.Written(shown)
    if slash.is_help(shown):
        return reswap(retarget(render(request, "conversations/_help.html"), "#reader"), "innerHTML")
    if compaction.command(shown) is not None:  # a paste is no command, but may be a part of its instructions
        return _compact(conversation, compaction.command(written.content) or "")
    slash.require_text(shown)
    begun = turn.begin(
        conversation,
        content=written.content,
        client_id=request.POST.get("client_id") or None,
        attachments=chosen,
        pastes=written.pastes,
    )
    if not begun.replayed:
        bubbles.know(begun.reply, **NOTHING)
        bubbles.know(begun.question, **({"tool_calls": []} if chosen or written.pastes else NOTHING))
    sent = [fragments.message(conversation, row) for row in (begun.question, begun.reply)]
    return HttpResponse(sent + [fragments.gone_from_composer(id) for id in chosen])


@member
@require_POST
def stop(request: Request, pk: UUID) -> HttpResponse:
    turn.stop(get_conversation(request.user, pk))
    return HttpResponse(status=204)


@member
@require_POST
def retry(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    conversation = get_conversation(request.user, pk)
    return HttpResponse(fragments.message(conversation, turn.retry(conversation, message_id)))


@member
@require_POST
def compact(request: Request, pk: UUID) -> HttpResponse:
    """All of it, or up to a message."""
    instructions, up_to = request.POST.get("instructions", ""), id_of(request.POST, "up_to")
    return _compact(get_conversation(request.user, pk), instructions, up_to=up_to)


@member
@require_POST
def cancel(request: Request, pk: UUID, compaction_id: UUID) -> HttpResponse:
    """How it ended: cancelled, or as it had ended before."""
    conversation = get_conversation(request.user, pk, kinds=TO_READ)
    row = get_object_or_404(conversation.compactions, pk=compaction_id)
    with suppress(Conflict):
        cancelling.cancel(row)
    return trigger_client_event(HttpResponse(fragments.status(conversation, finished=row)), "converge")


@member
@require_POST
def later(request: Request, pk: UUID) -> HttpResponse:
    """It is not said again that the conversation will be folded soon, until it was."""
    conversation = get_conversation(request.user, pk)
    conversation.postponed_at_version = conversation.compression_version
    conversation.save(update_fields=["postponed_at_version"])
    usage.tell(conversation.pk)
    return HttpResponse(fragments.meter(conversation))


@member
@require_POST
def undo(request: Request, pk: UUID, compaction_id: UUID) -> HttpResponse:
    """Open pages are told by their sockets; this one asks for itself too, in case its own is down."""
    compaction.undo(get_conversation(request.user, pk), compaction_id)
    return trigger_client_event(HttpResponse(status=204), "converge")


@member
@require_POST
def protect(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """Protect a message (`on` given), or no longer."""
    protection.protect(get_conversation(request.user, pk), message_id, on="on" in request.POST)
    return trigger_client_event(HttpResponse(status=204), "converge")


def _compact(conversation: Conversation, instructions: str, *, up_to: UUID | None = None) -> HttpResponse:
    steering = Steering(instructions=instructions, quality="standard", up_to=str(up_to) if up_to else None)
    compaction.request(conversation, trigger="manual", steering=steering)
    response = HttpResponse(fragments.status(conversation))
    return reswap(retarget(response, "#compression-status"), "innerHTML")
