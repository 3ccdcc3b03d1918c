"""What a person told the model to always or never do: found in what they write, edited by them, always in force."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from compression.core.rules import LONGEST, find_rules
from compression.core.tokens import count_tokens
from compression.core.values import Window
from conversations import provenance, usage
from conversations.errors import Invalid
from conversations.llm.known import UNKNOWN_WINDOW
from conversations.models import Conversation, Message
from conversations.transcript import HISTORY
from conversations.validation import clean_text

MOST = 50
MOST_OF_WINDOW = 1 / 4
"""Of the window, for all rules: they are in every request."""
WINDOW_SHARE = 1 / 16
"""Of the window, for rules that are found: a pasted style guide must not crowd out the conversation."""


def clean_rules(field: str, value: object) -> list[str]:
    """Distinct rules, in order. Raises Invalid, naming the one that cannot be."""
    if not isinstance(value, list):
        raise Invalid(f"{field}: must be a list.", field=field)
    if len(value) > MOST:
        raise Invalid(f"{field}: at most {MOST} rules, not {len(value)}.", field=field, limit=MOST)
    texts = [clean_text(f"{field}[{number}]", rule, limit=LONGEST) for number, rule in enumerate(value)]
    return list(dict.fromkeys(" ".join(text.split()) for text in texts))


def checked(conversation: Conversation, rules: list[str]) -> list[str]:
    """The rules, if there is room for them in the window of the conversation's model. Raises Invalid."""
    cleaned = clean_rules("rules", rules)
    model = conversation.model
    window = model.usable_window.size if model else UNKNOWN_WINDOW
    tokens, most = sum(count_tokens(rule) for rule in cleaned), int(MOST_OF_WINDOW * window)
    if tokens > most and len(cleaned) >= len(conversation.rules):
        raise Invalid(
            f"rules: together they take {tokens:,} tokens, {tokens - most:,} more than the {most:,} that the model's "
            f"window of {window:,} has for them.",
            field="rules",
            limit=most,
            overage=tokens - most,
        )
    return cleaned


def set_rules(conversation: Conversation, rules: list[str]) -> None:
    """Put these rules in force, and no others. Raises Invalid."""
    conversation.rules = checked(conversation, rules)
    conversation.save(update_fields=["rules"])
    usage.tell(conversation.pk)


def detect(conversation_id: UUID, text: str, window: Window) -> None:
    """Take up the rules in what a person typed; in the transaction that stores it, under the conversation's lock."""
    found = find_rules(text)
    if not found:
        return
    rows = Conversation.objects.filter(pk=conversation_id)
    before = rows.values_list("rules", flat=True).get()
    rules = with_found(before, found, window)
    if rules != before:
        rows.update(rules=rules)
        transaction.on_commit(partial(usage.tell, conversation_id))


def forget(conversation_id: UUID, unsaid: Iterable[str]) -> None:
    """Let go of the rules that were typed in these texts, and nowhere else in the history."""
    rows = Conversation.objects.filter(pk=conversation_id)
    before = rows.values_list("rules", flat=True).get()
    found = {rule.casefold() for text in unsaid for rule in find_rules(text)} if before else set()
    said = Message.objects.filter(HISTORY, conversation_id=conversation_id, role=Message.Role.USER)
    gone = {rule for rule in before if rule.casefold() in found and not _is_typed(rule, said)}
    if gone:
        rows.update(rules=[rule for rule in before if rule not in gone])


def _is_typed(rule: str, said: QuerySet[Message]) -> bool:
    rows = said.filter(content__holds=rule).only("role", "content", "origin")
    return any(rule.casefold() in provenance.typed(row).casefold() for row in rows)


def with_found(rules: Sequence[str], found: Iterable[str], window: Window) -> list[str]:
    """The rules, and those of `found` that there is room for."""
    together = list(rules)
    room = WINDOW_SHARE * window.size - sum(count_tokens(rule) for rule in together)
    known = {rule.casefold() for rule in together}
    for rule in found:
        room -= count_tokens(rule)
        if rule.casefold() not in known and room >= 0 and len(together) < MOST:
            together.append(rule)
            known.add(rule.casefold())
    return together
