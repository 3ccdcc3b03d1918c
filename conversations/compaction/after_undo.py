"""Choices after an undo: nothing is compacted by itself until the owner chooses how to go on."""

from __future__ import annotations

from itertools import accumulate, pairwise
from uuid import UUID

from django.utils.translation import gettext as _

from compression.models import Compaction
from conversations.context.transcript import HISTORY
from conversations.errors import Conflict
from conversations.models import Conversation, Message

TOO_LONG = (
    "You undid its compaction, so it is not compacted by itself. Compact it, or choose a model with a larger window."
)


def resume(conversation_id: UUID) -> None:
    """Let automatic compactions run again: the owner has chosen how to go on."""
    Conversation.objects.filter(pk=conversation_id, undone_at__isnull=False).update(undone_at=None)


def older_half(conversation: Conversation) -> UUID:
    """The id of the message up to which a compaction covers at most half of the tokens that the undone one covered.

    The next message is a person's. Raises Conflict if there is no shorter run of messages.
    """
    undone = conversation.compactions.filter(status=Compaction.Status.UNDONE).order_by("-created_at").first()
    last = conversation.messages.filter(pk__in=[undone.last_message]).first() if undone else None
    if last is None:
        raise Conflict(_("No compaction was undone here."), code="nothing_undone")
    rows = conversation.messages.filter(HISTORY, created_at__lte=last.created_at).order_by("created_at")
    if conversation.compressed_at:  # an earlier compaction is still in force
        rows = rows.filter(created_at__gt=conversation.compressed_at)
    covered = list(rows.values_list("pk", "role", "token_count"))
    sums = list(accumulate(tokens for _, _, tokens in covered))
    ends = [
        (total, message[0])
        for total, (message, following) in zip(sums, pairwise(covered), strict=False)
        if following[1] == Message.Role.USER
    ]
    if not ends:
        raise Conflict(
            _("The undone compaction covered one turn: nothing smaller can be compacted."), code="nothing_less"
        )
    return next((id for total, id in reversed(ends) if total <= sums[-1] / 2), ends[0][1])
