"""Lets a person rewrite a summary: the text becomes a new checkpoint in place of an active one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from compression.core.citation_values import Citations, as_json
from compression.core.citations.check import marked
from compression.core.citations.marks import without_marks
from compression.core.context import render_context
from compression.core.errors import CompactionFailed
from compression.core.text.summary_forms import clean
from compression.core.text.summary_text import require_headings
from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD
from compression.core.values import Checkpoint as CheckpointValue
from compression.models import Checkpoint, Snapshot
from compression.records import active_checkpoints
from conversations.compaction import lease, snapshots
from conversations.context import transcript
from conversations.context.policy import policy_of
from conversations.context.transcript import Head
from conversations.errors import Conflict, Invalid
from conversations.memory.citations import citations_of_edit
from conversations.models import Conversation
from conversations.models.model_profile import DEFAULT_WINDOW
from conversations.runtime.event_types import EventType
from conversations.runtime.events import publish
from conversations.validation import clean_text

EDITED = "edited by hand"
"""Stands in place of a model's name in a checkpoint that a person wrote."""


def edit(conversation: Conversation, *, number: int, text: str) -> Checkpoint:
    """Put `text` in place of the active checkpoint `number`; a recovery snapshot keeps the previous state.

    Raises Invalid, naming the fault or the limit and the overage, and Conflict if the checkpoint is not active any
    more or a compaction runs.
    """
    summary = _cleaned(text)
    head = transcript.head_of(conversation.pk)
    if lease.is_blocked(conversation.pk):
        raise Conflict(
            _("This conversation is being compacted. Try again when that is done."), code="compaction_running"
        )
    values = active_checkpoints(conversation.pk)
    if number not in [value.number for value in values]:
        raise Conflict(_("This summary is no longer in force: a later compaction has replaced it."), code="not_active")
    before = next(value for value in values if value.number == number)
    summary, citations = _checked(conversation, before, summary, head)
    context = render_context(_with(values, number, summary))
    tokens = count_tokens(context) + MESSAGE_OVERHEAD
    _require_room(head, tokens)
    with transaction.atomic():
        _claim_version(head, context=context, tokens=tokens)
        snapshots.keep(head, Snapshot.Purpose.RECOVERY)
        row = _replaced(conversation, number, summary, citations)
        transaction.on_commit(partial(publish, conversation.pk, EventType.RESYNC))
    conversation.refresh_from_db()
    return row


def _cleaned(text: str) -> str:
    summary = without_marks(clean(clean_text("summary", text.replace("\r\n", "\n"))))
    try:
        require_headings(summary)
    except CompactionFailed as failure:
        raise Invalid(f"summary: {failure.reason}.", field="summary") from None
    return summary


def _checked(conversation: Conversation, before: CheckpointValue, summary: str, head: Head) -> tuple[str, Citations]:
    """The summary with the marks that it had, and the sources of its statements."""
    row = Checkpoint.objects.get(conversation=conversation, number=before.number)
    citations = citations_of_edit(summary, row, before=before)
    is_marked = policy_of(head).unsupported != "keep"
    return marked(summary, citations.unfound) if is_marked else summary, citations


def _with(values: Sequence[CheckpointValue], number: int, summary: str) -> list[CheckpointValue]:
    return [replace(value, summary=summary) if value.number == number else value for value in values]


def _require_room(head: Head, tokens: int) -> None:
    """Raises Invalid if all active summaries together would exceed the policy's budget for them."""
    window = head.window or DEFAULT_WINDOW
    limit = policy_of(head).context_budget(window) + MESSAGE_OVERHEAD
    if tokens > limit:
        overage = tokens - limit
        raise Invalid(
            _("summary: all summaries together take %(tokens)s tokens, %(overage)s over their limit of %(limit)s.")
            % {"tokens": f"{tokens:,}", "overage": f"{overage:,}", "limit": f"{limit:,}"},
            field="summary",
            limit=limit,
            overage=overage,
        )


def _claim_version(head: Head, *, context: str, tokens: int) -> None:
    """Write the new state if the state is still the one that was read. Raises Conflict otherwise."""
    changed = Conversation.objects.filter(pk=head.id, compression_version=head.version).update(
        compressed_context=context, compressed_tokens=tokens, compression_version=head.version + 1
    )
    if not changed or lease.is_blocked(head.id):
        raise Conflict(_("The conversation was changed meanwhile. Nothing was saved: try again."))


def _replaced(conversation: Conversation, number: int, summary: str, citations: Citations) -> Checkpoint:
    """Store the new checkpoint and deactivate the old one, which is kept; returns the new one."""
    rows = Checkpoint.objects.filter(conversation=conversation)
    row = rows.get(number=number, active=True)
    rows.filter(pk=row.pk).update(active=False)
    tokens = count_tokens(summary)
    fresh = {"summary": summary, "token_count": tokens, "birth_tokens": tokens, "age": 0, "model": EDITED}
    kept = ("compaction_id", "level", "original_tokens", "first_message", "last_message", "last_message_at", "facts")
    return rows.create(
        conversation=conversation,
        number=(rows.aggregate(last=Max("number"))["last"] or 0) + 1,
        stragglers=row.stragglers,
        digest=row.digest,
        citations=as_json(citations),
        **{name: getattr(row, name) for name in kept},
        **fresh,
    )
