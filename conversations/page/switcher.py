"""The rows of the list from which a person chooses a chat's model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext_lazy as _

from conversations.compaction import trigger
from conversations.context import transcript
from conversations.context.transcript import Loaded
from conversations.instructions.conversation_settings import profile_of
from conversations.llm.profiles import chat_profiles
from conversations.models import Conversation, ModelProfile
from conversations.models.model_profile import Effort
from conversations.preferences import preference_of
from conversations.requests.usage import usage_of

PROVIDERS = {"openai": "OpenAI", "anthropic": "Anthropic", "builtin": _("Built in")}
EFFORTS = (
    ("", _("Default")),
    (Effort.NONE.value, _("Off")),
    ("low", _("Low")),
    ("medium", _("Medium")),
    ("high", _("High")),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A model to choose. `compacts_first`: the chat is compacted before this model's first reply."""

    model: ModelProfile
    is_current: bool
    is_favourite: bool
    compacts_first: bool

    @property
    def server(self) -> str:
        """The name of the model's provider, or "Local"."""
        own = self.model.provider != ModelProfile.Provider.BUILTIN and self.model.is_local
        return str(_("Local") if own else PROVIDERS.get(self.model.provider, self.model.get_provider_display()))

    @property
    def abilities(self) -> tuple[str, ...]:
        """The model's abilities by which the list is filtered."""
        model = self.model
        found = {
            "sees": model.sees_images,
            "tools": model.calls_tools,
            "reasons": model.effort not in ("", Effort.NONE),
            "local": model.is_local,
        }
        return tuple(name for name, is_there in found.items() if is_there)

    @property
    def is_priced(self) -> bool:
        return self.model.price_input is not None and self.model.price_output is not None

    @property
    def is_free(self) -> bool:
        prices = (self.model.price_input, self.model.price_output)
        return prices == (Decimal(0), Decimal(0)) or (self.model.is_local and prices == (None, None))


def rows(conversation: Conversation, user: AbstractBaseUser) -> list[Row]:
    """The models that the chat can have, favourites first; a constant number of queries."""
    current, favourites = profile_of(conversation), favourites_of(user)
    loaded = transcript.load(conversation.pk)
    found = [
        Row(model, model == current, model.pk in favourites, model != current and _compacts_first(loaded, model))
        for model in chat_profiles(user.pk)
    ]
    return sorted(found, key=lambda row: not row.is_favourite)


def favourites_of(user: AbstractBaseUser) -> frozenset[int]:
    """The ids of a person's favourite models."""
    return frozenset(preference_of(user).favourite_models)


def _compacts_first(loaded: Loaded, model: ModelProfile) -> bool:
    at = replace(loaded, head=loaded.head.with_model(model))
    used = usage_of(at)
    due = trigger.compacts_at(at, used) if used else None
    return bool(used and (used.over_budget or (due and used.total >= due.tokens)))
