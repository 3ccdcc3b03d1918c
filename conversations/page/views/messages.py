"""The actions of a person in a conversation: send, stop, retry, compact, cancel, undo, protect."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_POST
from django_htmx.http import reswap, retarget, trigger_client_event

from compression.core.values import Steering
from conversations.access import TO_READ, get_conversation
from conversations.compaction import after_undo, compaction
from conversations.compaction import cancel as cancelling
from conversations.errors import Conflict
from conversations.messages import history, pastes, protection
from conversations.models import Conversation
from conversations.page import fragments
from conversations.page.views.guard import Request, member
from conversations.page.views.query_params import id_of, ids_of
from conversations.requests import usage
from conversations.turns import message_queue, slash_commands, stop, turn

FILES_DO_NOT_WAIT = gettext_noop(
    "A message with files cannot wait in the queue: send it when the reply is there. It stays in the box."
)
NO_PARTS: dict[str, list[Any]] = {part: [] for part in history.PARTS}


@member
@require_POST
def send_message(request: Request, pk: UUID) -> HttpResponse:
    """Send a message; the response is the question and the pending reply. Commands start a compaction or show help."""
    conversation = get_conversation(request.user, pk)
    shown, chosen = request.POST.get("content", "").replace("\r\n", "\n"), ids_of(request.POST, "attachments")
    written = pastes.parse_pastes(request.POST["parts"]) if "parts" in request.POST else pastes.JoinedText(shown)
    if slash_commands.is_help(shown):
        return reswap(retarget(render(request, "conversations/composer/_help.html"), "#reader"), "innerHTML")
    if compaction.command(shown) is not None:  # a paste cannot be a command, but may be part of its instructions
        return _request_compaction(conversation, compaction.command(written.content) or "")
    slash_commands.require_text(shown)
    pasted, client_id = pastes.parse_pasted(request.POST.get("pasted", "[]")), request.POST.get("client_id") or ""
    try:
        begun = turn.begin(
            conversation,
            content=written.content,
            client_id=client_id or None,
            attachments=chosen,
            pastes=written.pastes,
            pasted=pasted,
        )
    except Conflict as refusal:
        if refusal.code != "reply_running":
            raise
        if chosen:
            raise Conflict(_(FILES_DO_NOT_WAIT), code="reply_running") from None
        message_queue.add(
            conversation,
            content=written.content,
            shown=shown,
            client_id=client_id,
            pastes=written.pastes,
            pasted=pasted,
        )
        return _queue(conversation)
    if not begun.replayed:
        history.set_parts(begun.reply, **NO_PARTS)
        history.set_parts(begun.question, **({"tool_calls": []} if chosen or written.pastes else NO_PARTS))
    sent = [fragments.message(conversation, row) for row in (*begun.parts, begun.question, begun.reply)]
    return HttpResponse(sent + [fragments.gone_from_composer(id) for id in chosen])


def _queue(conversation: Conversation) -> HttpResponse:
    return reswap(retarget(HttpResponse(fragments.queue(conversation)), "#queue"), "outerHTML")


@member
@require_POST
def take_queued(request: Request, pk: UUID, queued_id: UUID) -> HttpResponse:
    """Remove a message from the queue. With `edit` the response has its text, which goes back into the box."""
    conversation = get_conversation(request.user, pk)
    row = message_queue.take(conversation, queued_id)
    taken = row.content if "edit" in request.POST else ""
    return HttpResponse(fragments.queue(conversation, taken=taken))


@member
@require_POST
def send_queued(request: Request, pk: UUID) -> HttpResponse:
    """Send the first message of the queue now, after a reply that was stopped or failed."""
    conversation = get_conversation(request.user, pk)
    begun = message_queue.send_next(conversation.pk, anyway=True)
    sent = [fragments.message(conversation, row) for row in (begun.question, begun.reply)] if begun else []
    added = fragments.by_itself("#thread", "".join(sent), swap="beforeend") if sent else ""
    return HttpResponse(fragments.queue(conversation) + added)


@member
@require_POST
def stop_reply(request: Request, pk: UUID) -> HttpResponse:
    stop.stop(get_conversation(request.user, pk))
    return HttpResponse(status=204)


@member
@require_POST
def retry(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    conversation = get_conversation(request.user, pk)
    return HttpResponse(fragments.message(conversation, turn.retry(conversation, message_id)))


@member
@require_POST
def compact(request: Request, pk: UUID) -> HttpResponse:
    """Compact the conversation, or its messages up to `up_to`; with `less`, the older half of what was undone."""
    conversation = get_conversation(request.user, pk)
    up_to = after_undo.older_half(conversation) if "less" in request.POST else id_of(request.POST, "up_to")
    return _request_compaction(conversation, request.POST.get("instructions", ""), up_to=up_to)


@member
@require_POST
def resume(request: Request, pk: UUID) -> HttpResponse:
    """Let automatic compactions run again after an undo."""
    conversation = get_conversation(request.user, pk)
    after_undo.resume(conversation.pk)
    conversation.refresh_from_db(fields=["undone_at"])
    usage.publish_usage(conversation.pk)
    return HttpResponse(fragments.meter(conversation))


@member
@require_POST
def cancel(request: Request, pk: UUID, compaction_id: UUID) -> HttpResponse:
    """Cancel a compaction; the response is its outcome, which may precede the cancellation."""
    conversation = get_conversation(request.user, pk, kinds=TO_READ)
    row = get_object_or_404(conversation.compactions, pk=compaction_id)
    with suppress(Conflict):
        cancelling.cancel(row)
    return trigger_client_event(HttpResponse(fragments.status(conversation, finished=row)), "converge")


@member
@require_POST
def later(request: Request, pk: UUID) -> HttpResponse:
    """Postpone the warning that compaction is near until after the next compaction."""
    conversation = get_conversation(request.user, pk)
    conversation.postponed_at_version = conversation.compression_version
    conversation.save(update_fields=["postponed_at_version"])
    usage.publish_usage(conversation.pk)
    return HttpResponse(fragments.meter(conversation))


@member
@require_POST
def undo(request: Request, pk: UUID, compaction_id: UUID) -> HttpResponse:
    """Undo a compaction. The page is made to fetch its changes, in case its socket is down."""
    compaction.undo(get_conversation(request.user, pk), compaction_id)
    return trigger_client_event(HttpResponse(status=204), "converge")


@member
@require_POST
def protect(request: Request, pk: UUID, message_id: UUID) -> HttpResponse:
    """Protect a message (`on` given), or end its protection."""
    protection.protect(get_conversation(request.user, pk), message_id, on="on" in request.POST)
    return trigger_client_event(HttpResponse(status=204), "converge")


def _request_compaction(conversation: Conversation, instructions: str, *, up_to: UUID | None = None) -> HttpResponse:
    steering = Steering(instructions=instructions, quality="standard", up_to=str(up_to) if up_to else None)
    row = compaction.request(conversation, trigger="manual", steering=steering)
    # One without work may have ended already: an empty status would wipe its outcome, which the socket has sent.
    response = HttpResponse(fragments.status(conversation, finished=row))
    return reswap(retarget(response, "#compression-status"), "innerHTML")
