"""A person's rules: the texts of their ledger that are in force, part of every system prompt."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from compression.core.ledger.values import MAX_ENTRY_CHARS
from compression.core.tokens import count_tokens
from conversations.errors import Invalid
from conversations.llm.known_models import UNKNOWN_WINDOW
from conversations.models import Conversation, ModelProfile
from conversations.validation import clean_text

MAX_RULE_CHARS = MAX_ENTRY_CHARS
MAX_RULES = 50
MAX_WINDOW_SHARE = 1 / 4
"""The largest share of the window for all rules, which are part of every request."""
MAX_DETECTED_SHARE = 1 / 16
"""The share of the window up to which found rules are added, so that many rules cannot crowd out the conversation."""


def clean_rules(field: str, value: object) -> list[str]:
    """The distinct rules, in order. Raises Invalid, naming the invalid rule."""
    if not isinstance(value, list):
        raise Invalid(f"{field}: must be a list.", field=field)
    if len(value) > MAX_RULES:
        raise Invalid(
            _("%(field)s: at most %(most)s rules, not %(number)s.")
            % {"field": field, "most": MAX_RULES, "number": len(value)},
            field=field,
            limit=MAX_RULES,
        )
    texts = [clean_text(f"{field}[{number}]", rule, limit=MAX_RULE_CHARS) for number, rule in enumerate(value)]
    return list(dict.fromkeys(" ".join(text.split()) for text in texts))


def checked(conversation: Conversation, rules: list[str], *, model: ModelProfile | None) -> list[str]:
    """The cleaned rules. Raises Invalid if one is invalid or they are too large for the window of `model`."""
    cleaned = clean_rules("rules", rules)
    require_room(conversation, cleaned, model=model)
    return cleaned


def require_room(conversation: Conversation, rules: Sequence[str], *, model: ModelProfile | None) -> None:
    """Raises Invalid if the rules are too many, or too large for the window of `model`.

    Rules that are too large already may be fewer.
    """
    if len(rules) > MAX_RULES:
        raise Invalid(
            _("rules: at most %(most)s rules, not %(number)s.") % {"most": MAX_RULES, "number": len(rules)},
            field="rules",
            limit=MAX_RULES,
        )
    window = model.usable_window.size if model else UNKNOWN_WINDOW
    tokens, most = sum(count_tokens(rule) for rule in rules), int(MAX_WINDOW_SHARE * window)
    if tokens > most and len(rules) >= len(conversation.rules):
        raise Invalid(
            _(
                "rules: together they take %(tokens)s tokens, %(over)s more than the %(most)s that the model's window "
                "of %(window)s has for them."
            )
            % {
                "tokens": f"{tokens:,}",
                "over": f"{tokens - most:,}",
                "most": f"{most:,}",
                "window": f"{window:,}",
            },
            field="rules",
            limit=most,
            overage=tokens - most,
        )
