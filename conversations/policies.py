"""A conversation's own settings of compression: what they may be beside settings and models, and how they are set."""

from __future__ import annotations

from typing import Any

from compression import conf
from compression.core.extractive import Extractive
from conversations import usage
from conversations.errors import Invalid
from conversations.models import Conversation, ModelProfile
from conversations.validation import POLICY, clean_policy


def set_policy(conversation: Conversation, values: dict[str, Any]) -> None:
    """Put these settings in force, and no others: null stands for the site's own. Raises Invalid."""
    conversation.policy = checked_policy(values)
    conversation.save(update_fields=["policy"])
    usage.tell(conversation.pk)


def checked_policy(values: object, *, field: str = "policy") -> dict[str, Any]:
    """The settings without those that are null. Raises Invalid, naming the one that cannot hold here and now."""
    if isinstance(values, dict):
        values = {key: value for key, value in values.items() if value is not None or key not in POLICY}
    policy = clean_policy(field, values)
    _require_target(field, policy)
    _require_summariser(f"{field}.summariser", policy.get("summariser", ""))
    return policy


def _require_target(field: str, policy: dict[str, Any]) -> None:
    """A compaction that comes out where the next one is due would be followed by one at once."""
    resolved = conf.policy(policy)
    if "target_ratio" in policy and resolved.target_ratio >= resolved.full_at:
        place = f"{field}.target_ratio"
        raise Invalid(f"{place}: must be below the threshold, which is {resolved.full_at:g}.", field=place)


def _require_summariser(place: str, name: str) -> None:
    if name in ("", Extractive.name) or ModelProfile.objects.filter(name=name, enabled=True).exists():
        return
    raise Invalid(f"{place}: there is no model called {name!r}; {Extractive.name!r} is none.", field=place)
