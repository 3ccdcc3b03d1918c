from __future__ import annotations

import pytest

from compression.core.ledger.find import find_entries
from compression.core.ledger.own_words import own_sentences
from compression.core.ledger.topics import topic_of
from compression.core.ledger.withdrawals import Rule, WithdrawnRule, rule_meant
from tests.core.ledger.withdrawal_cases import (
    KEEPING,
    MORE_KEEPING,
    MORE_RULES,
    MORE_WITHDRAWALS,
    OTHERS,
    PAIRS,
    RULES,
    WITHDRAWALS,
)


def meant(text: str, rules: tuple[str, ...]) -> list[WithdrawnRule]:
    known = [Rule(rule, topic_of(rule)) for rule in rules]
    return [found for sentence in own_sentences(text) if (found := rule_meant(sentence, known))]


def test_withdrawals_end_their_rule_and_no_other() -> None:
    missed = []
    for rule, withdrawal in WITHDRAWALS:
        for place in range(len(OTHERS) + 1):
            rules = (*OTHERS[:place], rule, *OTHERS[place:])
            found = meant(withdrawal, rules)
            assert all(one.place == place for one in found if one.is_sure), (withdrawal, found)
            if not any(one.is_sure for one in found):
                missed.append(withdrawal)
                break
    assert len(WITHDRAWALS) == 68 and len(missed) <= 3, missed


def test_rules_of_other_languages_are_taken_back_or_replaced() -> None:
    kept = []
    for rule, later in PAIRS:
        ended = any(one.is_sure and one.place == len(OTHERS) for one in meant(later, (*OTHERS, rule)))
        sure = [entry.topic for entry in find_entries(later) if entry.kind == "rule" and entry.is_sure]
        if not ended and not any(topic.replaces(topic_of(rule)) for topic in sure):
            kept.append((rule, later))
    assert kept == []


@pytest.mark.parametrize(("rule", "withdrawal"), MORE_WITHDRAWALS)
def test_a_rule_is_taken_back_in_many_words(rule: str, withdrawal: str) -> None:
    found = meant(withdrawal, (*OTHERS, rule))
    assert found and {one.place for one in found} == {len(OTHERS)}


def test_sentences_with_the_words_of_withdrawals_take_nothing_back() -> None:
    found = {text: meant(text, MORE_RULES) for text in MORE_KEEPING}
    assert not [text for text, ends in found.items() if any(one.is_sure for one in ends)]
    asked = [text for text, ends in found.items() if ends]
    assert len(asked) <= 5, asked


def test_other_sentences_take_nothing_back() -> None:
    assert len(KEEPING) >= 200
    found = {text: meant(text, RULES) for text in KEEPING}
    assert not [text for text, ends in found.items() if any(one.is_sure for one in ends)]
    asked = [text for text, ends in found.items() if ends]
    assert len(asked) <= 2, asked


@pytest.mark.parametrize(
    "text",
    ["> Forget the STATUS line.", '"Forget the STATUS line." is what he said', "```\nForget the STATUS line.\n```"],
)
def test_quoted_words_take_nothing_back(text: str) -> None:
    assert not meant(text, RULES)


def test_two_rules_that_fit_alike_are_asked_about() -> None:
    rules = ("End every answer with the word STATUS in red.", "Begin every answer with the word STATUS in blue.")
    assert meant("Forget the word STATUS.", rules) == [WithdrawnRule(1, False)]
