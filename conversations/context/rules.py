"""A person's rules (always …, never …): found in their messages, edited by them, part of every system prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from compression.core.rules import MAX_RULE_CHARS, find_rules
from compression.core.tokens import count_tokens
from compression.core.values import Window
from conversations.context import provenance, usage
from conversations.context.transcript import HISTORY
from conversations.errors import Invalid
from conversations.llm.known_models import UNKNOWN_WINDOW
from conversations.models import Conversation, Message, ModelProfile
from conversations.validation import clean_text

MAX_RULES = 50
MAX_WINDOW_SHARE = 1 / 4
"""The largest share of the window for all rules, which are part of every request."""
MAX_FOUND_SHARE = 1 / 16
"""The share of the window up to which found rules are added, so that many rules cannot crowd out the conversation."""


def clean_rules(field: str, value: object) -> list[str]:
    """The distinct rules, in order. Raises Invalid, naming the invalid rule."""
    if not isinstance(value, list):
        raise Invalid(f"{field}: must be a list.", field=field)
    if len(value) > MAX_RULES:
        raise Invalid(f"{field}: at most {MAX_RULES} rules, not {len(value)}.", field=field, limit=MAX_RULES)
    texts = [clean_text(f"{field}[{number}]", rule, limit=MAX_RULE_CHARS) for number, rule in enumerate(value)]
    return list(dict.fromkeys(" ".join(text.split()) for text in texts))


def checked(conversation: Conversation, rules: list[str], *, model: ModelProfile | None) -> list[str]:
    """The cleaned rules. Raises Invalid if one is invalid or they are too large for the window of `model`."""
    cleaned = clean_rules("rules", rules)
    window = model.usable_window.size if model else UNKNOWN_WINDOW
    tokens, most = sum(count_tokens(rule) for rule in cleaned), int(MAX_WINDOW_SHARE * window)
    if tokens > most and len(cleaned) >= len(conversation.rules):
        raise Invalid(
            f"rules: together they take {tokens:,} tokens, {tokens - most:,} more than the {most:,} that the model's "
            f"window of {window:,} has for them.",
            field="rules",
            limit=most,
            overage=tokens - most,
        )
    return cleaned


def detect(conversation_id: UUID, text: str, window: Window) -> None:
    """Add the rules in a person's typed text.

    Call it in the transaction that stores the text, under the conversation's lock.
    """
    found = find_rules(text)
    if not found:
        return
    rows = Conversation.objects.filter(pk=conversation_id)
    before = rows.values_list("rules", flat=True).get()
    rules = with_found(before, found, window)
    if rules != before:
        rows.update(rules=rules)
        transaction.on_commit(partial(usage.publish_usage, conversation_id))


def forget(conversation_id: UUID, unsaid: Iterable[str]) -> None:
    """Remove the rules that were typed in these texts and nowhere else in the history."""
    rows = Conversation.objects.filter(pk=conversation_id)
    before = rows.values_list("rules", flat=True).get()
    found = {rule.casefold() for text in unsaid for rule in find_rules(text)} if before else set()
    messages = Message.objects.filter(HISTORY, conversation_id=conversation_id, role=Message.Role.USER)
    removed = {rule for rule in before if rule.casefold() in found and not _is_typed(rule, messages)}
    if removed:
        rows.update(rules=[rule for rule in before if rule not in removed])


def _is_typed(rule: str, messages: QuerySet[Message]) -> bool:
    rows = messages.filter(content__holds=rule).only("role", "content", "origin")
    return any(rule.casefold() in provenance.typed_by_user(row).casefold() for row in rows)


def with_found(rules: Sequence[str], found: Iterable[str], window: Window) -> list[str]:
    """The rules, and those of `found` for which there is room."""
    together = list(rules)
    room = MAX_FOUND_SHARE * window.size - sum(count_tokens(rule) for rule in together)
    known = {rule.casefold() for rule in together}
    for rule in found:
        room -= count_tokens(rule)
        if rule.casefold() not in known and room >= 0 and len(together) < MAX_RULES:
            together.append(rule)
            known.add(rule.casefold())
    return together
