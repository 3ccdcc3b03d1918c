"""A conversation's settings: checks, changes and announcements, for pages and programs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypedDict, Unpack

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.utils.translation import gettext as _

from conversations.context.policy import checked_policy
from conversations.context.system_prompt import clean_system_prompt
from conversations.errors import Conflict, Invalid, NotFound
from conversations.instructions import ledger
from conversations.instructions.rules import checked as checked_rules
from conversations.llm.profiles import chat_profiles, default_profile, is_open_to, named
from conversations.memory import message_index
from conversations.models import Conversation, Message, ModelProfile, Project
from conversations.models.conversation import MAX_TITLE_CHARS
from conversations.models.model_profile import Effort
from conversations.projects import may_write
from conversations.requests import usage
from conversations.runtime.event_types import EventType
from conversations.runtime.events import publish
from conversations.validation import clean_text, one_line


def profile_of(conversation: Conversation) -> ModelProfile | None:
    """The profile of the next request: the conversation's own, or the default one if its person may not use that."""
    own = conversation.model
    return own if own and is_open_to(own, conversation.owner_id) else default_profile(conversation.owner_id)


def chosen_profile(user: AbstractBaseUser, profile_id: str) -> ModelProfile:
    """The profile that a person's form names. Raises Invalid."""
    is_id = profile_id.isascii() and profile_id.isdecimal()
    profile = chat_profiles(user.pk).filter(pk=profile_id).first() if is_id else None
    if profile is None:
        raise Invalid(_("model: there is no such model any more. Choose another."), field="model")
    return profile


def named_profile(user: AbstractBaseUser, name: str | None) -> ModelProfile | None:
    """The profile of this name that a person may use; None without a name. Raises Invalid."""
    if name is None:
        return None
    profile = named(clean_text("model", name, limit=100), chat_profiles(user.pk))
    if profile is None:
        raise Invalid(_("model: there is no model called %(name)s.") % {"name": name}, field="model")
    return profile


class Changes(TypedDict, total=False):
    """The fields of a conversation that a person may change."""

    title: str
    model: ModelProfile | None
    effort: str | None
    project: Project | None
    shares_memory: bool
    mode: str
    system_prompt: str
    policy: dict[str, Any]
    rules: list[str]
    uses_tools: bool
    pinned: bool
    archived: bool


CHECKS: dict[str, Callable[[Conversation, Any], Any]] = {
    "title": lambda _, title: clean_title(title),
    "effort": lambda _, effort: clean_effort(effort),
    "project": lambda conversation, project: _own_project(conversation, project),
    "mode": lambda _, mode: clean_mode(mode),
    "system_prompt": lambda _, text: clean_system_prompt(text),
    "policy": lambda conversation, values: checked_policy(values, person_id=conversation.owner_id),
}
"""The checks of the fields that may be set, beside rules. Forms and schemas check the others."""
IN_REQUESTS = {"model", "effort", "project", "shares_memory", "mode", "system_prompt", "policy", "rules", "uses_tools"}
"""These change the next request, mostly how full the window is with it; pages show that with the meter."""


def change(conversation: Conversation, **changes: Unpack[Changes]) -> None:
    """Apply these settings, all or none, and publish the change.

    A policy and rules replace all that were set before. Nothing is compacted here: where the history does not fit
    another model's window, the next turn makes room first. Raises Invalid, and Conflict where the model is changed
    while it writes a reply.
    """
    fields = _cleaned(conversation, changes)
    with transaction.atomic():
        if "model" in fields and fields["model"] != conversation.model:
            list(Conversation.objects.select_for_update().filter(pk=conversation.pk).values_list("pk"))
            _require_no_reply(conversation)
        if fields.keys() & {"model", "policy"}:
            fields["undone_at"] = None  # after an undo, another model or policy is the owner's choice of how to go on
        if "system_prompt" in fields:
            fields["proposed_system_prompt"] = ""  # any change by the owner answers the proposal of an imported file
        is_moved = "project" in fields and fields["project"] != conversation.project
        for name, value in fields.items():
            setattr(conversation, name, value)
        if "rules" in fields:
            ledger.set_rules(conversation.pk, conversation.rules)
        conversation.save(update_fields=fields)  # these alone: a compaction may be writing the others
        if is_moved:
            message_index.note(conversation.pk)
        if "title" in fields:
            transaction.on_commit(partial(publish, conversation.pk, EventType.TITLE_UPDATED, title=fields["title"]))
        if fields.keys() & IN_REQUESTS:
            transaction.on_commit(partial(usage.publish_usage, conversation.pk))


def add_rule(conversation: Conversation, text: str) -> None:
    """Put another rule in force, in place of those about the same subject. Raises Invalid."""
    with transaction.atomic():
        change(conversation, rules=[*conversation.rules, text])
        ledger.supersede_others(conversation, text)


def check(conversation: Conversation, **changes: Unpack[Changes]) -> None:
    """Raise what `change` would raise for these settings now. Nothing is changed."""
    fields = _cleaned(conversation, changes)
    if "model" in fields and fields["model"] != conversation.model:
        _require_no_reply(conversation)


def _cleaned(conversation: Conversation, changes: Changes) -> dict[str, Any]:
    """The settings as they are stored. Raises Invalid."""
    fields = {name: CHECKS[name](conversation, value) if name in CHECKS else value for name, value in changes.items()}
    if "rules" in changes:  # as the model reads them that answers from now on
        model = changes.get("model", conversation.model)
        fields["rules"] = checked_rules(conversation, changes["rules"], model=model)
    return fields


def clean_title(title: object, *, allow_blank: bool = True) -> str:
    """The title on one line; an empty one is made from the first message. Raises Invalid."""
    return one_line(clean_text("title", title, limit=MAX_TITLE_CHARS, allow_blank=allow_blank))


def clean_mode(mode: object) -> str:
    """The mode, unchanged. Raises Invalid, naming the modes."""
    if mode not in Conversation.Mode.values:
        raise Invalid(f"mode: must be one of {', '.join(Conversation.Mode.values)}.", field="mode")
    return str(mode)


def clean_effort(effort: object) -> str:
    """How hard the model thinks; "" and None leave it to the model's profile. Raises Invalid, naming the efforts."""
    if effort in (None, ""):
        return ""
    if effort not in Effort.values:
        raise Invalid(f"effort: must be one of {', '.join(Effort.values)}, or empty.", field="effort")
    return str(effort)


def _own_project(conversation: Conversation, project: Project | None) -> Project | None:
    """The project, unchanged. Raises NotFound for another person's in which the conversation's owner may not write."""
    if project is not None and not may_write(conversation.owner_id, project):
        raise NotFound(_("No such project."))
    return project


def _require_no_reply(conversation: Conversation) -> None:
    last = Message.objects.filter(conversation=conversation).order_by("-created_at")
    if last.values_list("status", flat=True).first() == Message.Status.STREAMING:
        raise Conflict(
            _("A reply is still being written: stop it, or wait for it, then switch the model."), code="reply_running"
        )
