"""Checks access to conversations, for all callers: a person reaches their own; others do not exist for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser, AbstractUser, AnonymousUser
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from conversations.compiled_query import EXAMPLE_ID, Prepared, PreparedObjects
from conversations.errors import Conflict
from conversations.models import Conversation, ProjectMember, User
from conversations.runtime import audit, log_context

CHATS = (Conversation.Kind.CHAT, Conversation.Kind.AGENT)
IN_PROJECT = (*CHATS, Conversation.Kind.FILE)
"""Kinds that a project may have, and whose passages its chats get."""
TO_READ = (*CHATS, Conversation.Kind.GATEWAY, Conversation.Kind.EXECUTOR)
"""Kinds that a person can read. Only the gateway writes its conversations, and only a run writes its executor's."""

_PLACES: dict[str, tuple[Any, Any]] = {
    "owner": (User._meta.get_field("id"), -8),
    "conversation": (Conversation._meta.get_field("id"), EXAMPLE_ID),
}
"""The parameters of the compiled queries, with their examples."""


def takes_part(prefix: str = "") -> Q:
    """The condition that a conversation's owner has the project of the conversation, or may write in it.

    `prefix`: "parent__" for the project of an executor's agent.
    """
    writers = ProjectMember.objects.filter(
        project=OuterRef(f"{prefix}project_id"), user=OuterRef("owner_id"), role=ProjectMember.Role.WRITER
    )
    return Q(**{f"{prefix}project__owner": F("owner")}) | Q(Exists(writers))


def own_conversations(
    user: AbstractBaseUser | AnonymousUser, *, kinds: Sequence[str] = CHATS, trashed: bool = False
) -> QuerySet[Conversation]:
    """A person's conversations: without those in the trash, or these alone (`trashed`)."""
    return _of_owner(user.pk, kinds, trashed=trashed)


def _of_owner(owner_id: int | None, kinds: Sequence[str], *, trashed: bool = False) -> QuerySet[Conversation]:
    return Conversation.objects.filter(owner_id=owner_id, kind__in=kinds, trashed_at__isnull=not trashed)


def get_conversation(user: AbstractBaseUser | AnonymousUser, pk: UUID, *, kinds: Sequence[str] = CHATS) -> Conversation:
    """The conversation, with its model. Raises Http404 for one that is missing or another person's."""
    log_context.bind(conversation_id=str(pk))
    found = _one_of(tuple(kinds)).first(owner=user.pk, conversation=pk)
    if found is None:
        raise Http404("No such conversation.")
    return found


def is_own_chat(user: AbstractBaseUser | AnonymousUser, pk: UUID) -> bool:
    """Whether the conversation is a chat of this person, outside the trash."""
    return bool(_OWN_CHAT.rows(owner=user.pk, conversation=pk))


@cache
def _one_of(kinds: tuple[str, ...]) -> PreparedObjects[Conversation]:
    """The query of `get_conversation` for these kinds, compiled: every request of a chat runs it."""
    return PreparedObjects(
        lambda owner, conversation: _of_owner(owner, kinds).filter(pk=conversation),
        related=("model", "project"),
        **_PLACES,
    )


_OWN_CHAT = Prepared(
    lambda owner, conversation: _of_owner(owner, CHATS).filter(pk=conversation).values_list("pk"), **_PLACES
)
"""The query of `is_own_chat`, compiled: every socket that opens runs it."""


def trashed_conversation(user: AbstractBaseUser | AnonymousUser, pk: UUID) -> Conversation:
    """A person's conversation in the trash. Raises Http404."""
    return get_object_or_404(own_conversations(user, trashed=True), pk=pk)


def disposable_conversation(user: AbstractBaseUser | AnonymousUser, pk: UUID) -> Conversation:
    """A conversation that can be rolled back and deleted. Raises Conflict for an executor's, Http404 for others'."""
    conversation = get_conversation(user, pk, kinds=TO_READ)
    if conversation.kind == Conversation.Kind.EXECUTOR:
        raise Conflict(
            _("This conversation belongs to an executor: its messages come from the planner. You can read it."),
            code="read_only",
        )
    return conversation


def writable_conversation(user: AbstractBaseUser | AnonymousUser, pk: UUID) -> Conversation:
    """A conversation that can be written to. Raises Conflict for read-only kinds, Http404 for anybody else's."""
    conversation = disposable_conversation(user, pk)
    if conversation.kind not in CHATS:
        raise Conflict(
            _(
                "This conversation belongs to the gateway: its caller's next call decides its contents. "
                "You can read, roll back and delete it."
            ),
            code="read_only",
        )
    return conversation


def readable_conversation(user: AbstractBaseUser | AnonymousUser, pk: UUID) -> Conversation:
    """A conversation that can be read: a person's own; any, for administrators with the permission to view them.

    Raises Http404.
    """
    if isinstance(user, AbstractUser) and user.is_staff and user.has_perm("conversations.view_conversation"):
        conversation = get_object_or_404(Conversation.objects.select_related("model"), pk=pk)
        if conversation.owner_id != user.pk:
            audit.note(audit.Action.LOOKED_AT, user, f"conversation {pk}")
        return conversation
    return get_conversation(user, pk, kinds=TO_READ)
