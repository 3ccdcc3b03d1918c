"""A person's saved prompts: texts that the composer offers behind a slash."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from conversations.errors import Invalid, NotFound
from conversations.models import SavedPrompt
from conversations.models.saved_prompt import MAX_NAME_CHARS, MAX_PROMPT_CHARS
from conversations.validation import clean_text, one_line

MOST = 200
"""The most prompts of a person."""


def prompts_of(user: AbstractBaseUser) -> QuerySet[SavedPrompt]:
    """The person's prompts by name."""
    return SavedPrompt.objects.filter(owner_id=user.pk)


def save(user: AbstractBaseUser, name: object, text: object, *, prompt_id: UUID | None = None) -> SavedPrompt:
    """Store a new prompt, or other words for the one with this id. Raises Invalid, naming the field, and NotFound."""
    fields = {
        "name": one_line(clean_text("prompt_name", name, limit=MAX_NAME_CHARS)),
        "text": clean_text("prompt_text", text, limit=MAX_PROMPT_CHARS),
    }
    try:
        with transaction.atomic():
            if prompt_id:
                if not prompts_of(user).filter(pk=prompt_id).update(**fields):
                    raise NotFound(_("This prompt no longer exists."))
                return prompts_of(user).get(pk=prompt_id)
            if prompts_of(user).count() >= MOST:
                raise Invalid(
                    _("prompt_name: at most %(most)s prompts are kept. Delete one first.") % {"most": MOST},
                    field="prompt_name",
                    limit=MOST,
                )
            return SavedPrompt.objects.create(owner_id=user.pk, **fields)
    except IntegrityError:
        raise Invalid(
            _("prompt_name: there is already a prompt called “%(name)s”.") % {"name": fields["name"]},
            field="prompt_name",
        ) from None


def delete(user: AbstractBaseUser, prompt_id: UUID) -> None:
    """Delete a prompt of the person, if it is there."""
    prompts_of(user).filter(pk=prompt_id).delete()
