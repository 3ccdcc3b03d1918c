"""Which model answers a conversation, and under which instructions of its owner's own."""

from __future__ import annotations

from django.db import transaction

from conversations import room, transcript, usage
from conversations.errors import Conflict, Invalid
from conversations.llm.profiles import chat_profiles, default_profile
from conversations.models import Conversation, Message, ModelProfile
from conversations.own_prompt import clean_system_prompt


def profile_of(conversation: Conversation) -> ModelProfile | None:
    """The model of the next request: the conversation's own, or the default one where it is gone or disabled."""
    own = conversation.model
    return own if own and own.enabled else default_profile()


def chosen(profile_id: str) -> ModelProfile:
    """The model that a form names. Raises Invalid."""
    found = chat_profiles().filter(pk=profile_id).first() if profile_id.isascii() and profile_id.isdecimal() else None
    if found is None:
        raise Invalid("model: there is no such model any more. Choose another.", field="model")
    return found


def switch(conversation: Conversation, profile: ModelProfile | None) -> None:
    """Have the next requests go to another model. Raises Conflict while a reply is written: it is the old one's.

    Nothing is compressed here: where the history does not fit the new window, the next turn makes room first.
    """
    if conversation.model == profile:
        return
    with transaction.atomic():
        list(Conversation.objects.select_for_update().filter(pk=conversation.pk).values_list("pk"))
        last = Message.objects.filter(conversation=conversation).order_by("-created_at")
        if last.values_list("status", flat=True).first() == Message.Status.STREAMING:
            raise Conflict(
                "A reply is still being written: stop it, or wait for it, then switch the model.", code="reply_running"
            )
        conversation.model = profile
        conversation.save(update_fields=["model"])
    usage.tell(conversation.pk)


def set_system_prompt(conversation: Conversation, text: str) -> None:
    """Raises Invalid."""
    conversation.system_prompt = clean_system_prompt(text)
    conversation.save(update_fields=["system_prompt"])
    usage.tell(conversation.pk)


def outlook(conversation: Conversation) -> str:
    """What the model's window means for the conversation as it is, in words; "" where there is no model."""
    loaded = transcript.load(conversation.pk)
    used = usage.measured(loaded)
    if used is None:
        return ""
    window = f"Its window is {used.window.size:,} tokens"
    if used.system > used.window.budget:
        return f"{window}, and the system prompt alone takes {used.system:,}: nothing fits beside it."
    if room.is_full(loaded):
        return f"{window}: this conversation folds at the next turn."
    return f"{window}, of which {used.total:,} are in use."
