"""Public links of conversations: made, found by their address, and ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from compression.history import BEGINNING
from conversations.access import CHATS
from conversations.errors import Conflict, Invalid
from conversations.messages.history import history
from conversations.models import Attachment, Conversation, Link, Message
from conversations.runtime import audit

ENDS: dict[str, tuple[str, timedelta | None]] = {
    "day": (gettext_noop("In a day"), timedelta(days=1)),
    "week": (gettext_noop("In 7 days"), timedelta(days=7)),
    "month": (gettext_noop("In 30 days"), timedelta(days=30)),
    "never": (gettext_noop("When I say so"), None),
}
"""The choices of when a link ends, with their labels; None: never by itself."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The owner's choices for a link."""

    extent: str = Link.Extent.ALL
    has_files: bool = False
    has_thoughts: bool = False
    has_name: bool = True
    ends: str = "week"


def chosen(given: Mapping[str, Any]) -> Choices:
    """The choices in a form. Raises Invalid, naming the field."""
    extent, ends = given.get("extent", Link.Extent.ALL), given.get("ends", "week")
    if extent not in Link.Extent.values:
        raise Invalid(f"extent: must be one of {', '.join(Link.Extent.values)}.", field="extent")
    if ends not in ENDS:
        raise Invalid(f"ends: must be one of {', '.join(ENDS)}.", field="ends")
    return Choices(extent, "files" in given, "thoughts" in given, "my_name" in given, ends)


def unsaved(conversation: Conversation, choices: Choices) -> Link:
    """The link that these choices make now, not stored. Raises Conflict for a chat without an answer."""
    shown = history(conversation).filter(_is_shown()).order_by("created_at")
    answer = shown.filter(role=Message.Role.ASSISTANT).last()
    if answer is None:
        raise Conflict(_("There is no answer to share yet."), code="nothing_to_share")
    first = shown.first()
    if choices.extent == Link.Extent.ANSWER:
        asked = shown.filter(role=Message.Role.USER, created_at__lt=answer.created_at)
        first = asked.last() or answer
    lasts = ENDS[choices.ends][1]
    return Link(
        conversation=conversation,
        extent=choices.extent,
        since=first.created_at if first else answer.created_at,
        up_to=answer.created_at,
        has_files=choices.has_files,
        has_thoughts=choices.has_thoughts,
        has_name=choices.has_name,
        ends_at=timezone.now() + lasts if lasts else None,
    )


def whole(conversation: Conversation) -> Link:
    """An unsaved link to all messages of a conversation up to now, as the people of its project read them."""
    times = history(conversation).filter(_is_shown()).order_by("created_at").values_list("created_at", flat=True)
    return Link(conversation=conversation, since=BEGINNING, up_to=times.last() or conversation.updated_at)


def make(conversation: Conversation, choices: Choices) -> Link:
    """Store a link in place of an earlier one, whose address ends. Raises Conflict; NotFound where links are off."""
    require_allowed()
    link = unsaved(conversation, choices)
    fields = {one.name: getattr(link, one.name) for one in Link._meta.fields if one.name not in ("id", "conversation")}
    made = Link.objects.update_or_create(conversation=conversation, defaults=fields)[0]
    audit.note(audit.Action.SHARED, conversation.owner, f"conversation {conversation.pk}")
    return made


def require_allowed() -> None:
    """Raise Http404 where the operator allows no links."""
    if not settings.PUBLIC_LINKS:
        raise Http404("Public links are off here.")


def link_of(conversation: Conversation) -> Link | None:
    """The conversation's link, if it has one that has not ended."""
    return _live().filter(conversation=conversation).first()


def end(conversation: Conversation) -> None:
    """End the conversation's link; its address leads nowhere from now on."""
    if Link.objects.filter(conversation=conversation).delete()[0]:
        audit.note(audit.Action.SHARE_ENDED, conversation.owner, f"conversation {conversation.pk}")


def found(token: str) -> Link:
    """The link with this token, its conversation and its owner. Raises Http404, also where it has ended."""
    require_allowed()
    rows = _live().select_related("conversation__owner")
    try:
        return rows.get(
            token=token,
            conversation__trashed_at=None,
            conversation__kind__in=CHATS,
            conversation__owner__is_active=True,
        )
    except Link.DoesNotExist:
        raise Http404("This link has ended.") from None


def count_opening(link: Link) -> None:
    Link.objects.filter(pk=link.pk).update(opened=F("opened") + 1, opened_at=timezone.now())


def messages_of(link: Link) -> QuerySet[Message]:
    """The messages that a link shows, in order: those that stood there when it was made."""
    stood = Q(replaced_by=None) | Q(replaced_by__created_at__gt=link.created_at)
    rows = Message.objects.filter(
        stood, _is_shown(), conversation=link.conversation_id, created_at__gte=link.since, created_at__lte=link.up_to
    )
    return rows.order_by("created_at")


def file_of(link: Link, attachment_id: Any) -> Attachment:
    """A file of a message that the link shows. Raises Http404, also where the link shows no files."""
    shown = messages_of(link).values("pk")
    rows = Attachment.objects.select_related("message").filter(message__in=shown, pk=attachment_id)
    row = rows.first() if link.has_files else None
    if row is None:
        raise Http404("No such file.")
    return row


def _live() -> QuerySet[Link]:
    return Link.objects.filter(Q(ends_at=None) | Q(ends_at__gt=timezone.now()))


def _is_shown() -> Q:
    """Messages of people and models: no system message, no reply that is still written or that only calls tools."""
    roles = (Message.Role.USER, Message.Role.ASSISTANT)
    has_words = ~Q(content="") | Q(role=Message.Role.USER)
    return Q(role__in=roles) & has_words & ~Q(status=Message.Status.STREAMING)
