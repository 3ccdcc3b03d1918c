"""The page of one compaction: its summary beside the source messages, its course, and its changes to the context."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import reswap, retarget

from compression.core.citations.marks import without_marks
from compression.models import Checkpoint, Compaction
from conversations.access import CHATS, TO_READ, get_conversation
from conversations.compaction import edit_summary as summaries
from conversations.errors import Refused
from conversations.memory.citations import citations_of_checkpoint
from conversations.memory.facts_kept import facts_kept_of
from conversations.messages.history import with_parts
from conversations.models import Conversation, Message
from conversations.page.bound_forms import refuse_in
from conversations.page.markup import citations
from conversations.page.markup.diff import Diff, diff
from conversations.page.setting_forms import SummaryForm
from conversations.page.views.guard import Request, member
from conversations.page.views.query_params import whole_number
from conversations.page.views.sidebar import sidebar

MAX_SOURCES = 1_000
"""The most messages shown beside a summary."""


@member
@never_cache
@require_GET
def compaction(request: Request, pk: UUID, compaction_id: UUID) -> HttpResponse:
    """The compaction's page; with `edit`, its summary is in a form. An executor's summary is read-only."""
    conversation = get_conversation(request.user, pk, kinds=TO_READ)
    row = get_object_or_404(conversation.compactions, pk=compaction_id)
    context = _compaction_context(conversation, row)
    if "edit" in request.GET and context["is_chat"]:
        _edit(context)
    if request.htmx:
        return render(request, "conversations/compactions/_compaction.html", context)
    listed = sidebar(request.user, current=conversation if context["is_chat"] else None)
    return render(request, "conversations/compactions/compaction.html", context | {"sidebar": listed})


@member
@never_cache
@require_GET
def changes(request: Request, pk: UUID, compaction_id: UUID) -> HttpResponse:
    """Only the changes that the compaction made to the model's context."""
    conversation = get_conversation(request.user, pk, kinds=TO_READ)
    row = get_object_or_404(conversation.compactions, pk=compaction_id)
    return render(
        request,
        "conversations/compactions/_changes.html",
        {"compaction": row, "diff": _context_diff(conversation, row)},
    )


@member
@require_POST
def edit_summary(request: Request, pk: UUID, compaction_id: UUID) -> HttpResponse:
    """Save the edited summary and show it; if it is refused, show the form with its text and the reason."""
    conversation = get_conversation(request.user, pk)
    row = get_object_or_404(conversation.compactions, pk=compaction_id)
    text = request.POST.get("summary", "")
    refusal = None
    try:
        # The checkpoint that the form was made from: another tab may have stored a newer version.
        checkpoint = get_object_or_404(_checkpoints_of(row), number=whole_number(request.POST, "number"))
        summaries.edit(conversation, number=checkpoint.number, text=text)
    except Refused as raised:
        refusal = raised
    context = _compaction_context(conversation, row)
    if refusal:
        _edit(context)
        refuse_in(context, "summary_form", request.POST, refusal)
    else:
        context["said"] = "Saved. The next request has the new summary."
    status = refusal.status if refusal else 200
    response = render(request, "conversations/compactions/_compaction.html", context, status=status)
    return reswap(retarget(response, f"#compaction-{row.pk}"), "outerHTML")


def _compaction_context(conversation: Conversation, row: Compaction) -> dict[str, Any]:
    checkpoint, sources = _checkpoints_of(row).first(), _sources(conversation, row)
    statements = citations_of_checkpoint(checkpoint) if checkpoint else None
    numbered = {str(message.pk): (number, _source_text(message)) for number, message in enumerate(sources, start=1)}
    return {
        "conversation": conversation,
        "is_chat": conversation.kind in CHATS,
        "compaction": row,
        "checkpoint": checkpoint,
        "summary": citations.rendered_for_person(checkpoint.summary, statements, numbered) if checkpoint else "",
        "statements": statements,
        "sources": sources,
        "left_out": _left_out(conversation, row),
        "diff": _context_diff(conversation, row),
        "facts": facts_kept_of(conversation, [row]).get(row.pk),
    }


def _edit(context: dict[str, Any]) -> None:
    """Put the summary, if there is one, into a form in the template context of a compaction."""
    checkpoint = context["checkpoint"]
    if checkpoint:
        context |= {"editing": True, "summary_form": partial(SummaryForm, without_marks(checkpoint.summary))}


def _context_diff(conversation: Conversation, row: Compaction) -> Diff | None:
    before, after = _contexts_around(conversation, row)
    return diff(before, after) if before != after else None


def _source_text(message: Message) -> str:
    """The message's text with its tool calls, for the title of the links to it."""
    return " ".join((message.content, *(f"{call.name} {call.arguments}" for call in message.tool_calls.all())))


def _checkpoints_of(row: Compaction) -> QuerySet[Checkpoint]:
    """The compaction's checkpoints: its own summary in its latest version, then older summaries that it shortened."""
    return row.checkpoints.order_by("-last_message_at", "-number")


def _contexts_around(conversation: Conversation, row: Compaction) -> tuple[str, str]:
    """The compressed context before and after the compaction: from the next snapshot, else from the conversation.

    Both are "" if the states are no longer known.
    """
    first = row.snapshots.order_by("created_at").first()
    if first is None:
        return "", ""
    later = conversation.snapshots.filter(created_at__gt=first.created_at).order_by("created_at")
    kept = [pk for pk, ids in later.values_list("pk", "compaction_ids") if str(row.pk) in ids][:1]
    following = later.filter(pk__in=kept).first()
    if following is None and row.status != Compaction.Status.SUCCEEDED:
        return "", ""
    return first.compressed_context or "", (following or conversation).compressed_context or ""


def _sources(conversation: Conversation, row: Compaction) -> list[Message]:
    """The messages of the covered range, in order."""
    ends = dict(
        conversation.messages.filter(pk__in=[row.first_message, row.last_message]).values_list("pk", "created_at")
    )
    if row.first_message not in ends or row.last_message not in ends:
        return []
    covered = conversation.messages.filter(
        replaced_by=None, created_at__gte=ends[row.first_message], created_at__lte=ends[row.last_message]
    )
    return list(with_parts(covered).order_by("created_at")[:MAX_SOURCES])


def _left_out(conversation: Conversation, row: Compaction) -> list[Message]:
    """The messages whose tool results the compaction left out of requests, in order."""
    ids = [pk for step in row.steps for pk in step.get("message_ids", ())]
    messages = conversation.messages.filter(pk__in=ids[:MAX_SOURCES]).order_by("created_at")
    return list(with_parts(messages))
