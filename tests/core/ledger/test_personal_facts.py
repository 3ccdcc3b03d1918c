"""Facts that people state about themselves: found in nine languages, but not in questions, stories and quotations."""

from __future__ import annotations

import pytest

from compression.core.ledger.personal_facts import MAX_FACTS, MAX_READ_CHARS, facts_about_oneself
from tests.core.ledger import fact_cases
from tests.growth import growth, repeated

STATED = (
    "My name is Ana.",
    "I live in Lisbon and work remotely.",
    "I'm allergic to nuts.",
    "I'm a senior backend developer.",
    "I have two kids.",
    "I speak French and German.",
    "My native language is Polish.",
    "I don't eat meat.",
    "Ich heiße Jörg.",
    "Ich wohne in Köln.",
    "Ich bin Vegetarier.",
    "Meine Frau heißt Ute.",
    "Ich habe zwei Kinder.",
    "Je m'appelle Zoé.",
    "J'habite à Lyon.",
    "Je suis végétarienne.",
    "J'ai deux enfants.",
    "Me llamo Inés.",
    "Vivo en Sevilla.",
    "Soy vegetariano.",
    "Tengo dos hijos.",
    "Mi chiamo Ada.",
    "Abito a Torino.",
    "Meu nome é Rui.",
    "Moro em Recife.",
    "Меня зовут Ира.",
    "Я живу в Казани.",
    "我叫小明。",
    "我住在上海。",
    "我对花生过敏。",
    "東京に住んでいます。",
    "私の名前は健です。",
)
NOT_STATED = (
    "Do I live in Lisbon?",
    "If I live in Lisbon, what do I pay?",
    "Imagine I live in Rome.",
    "I used to live in Berlin.",
    "I would live in Rome.",
    'She said: "I live in Rome".',
    "Write a story: my name is Bob.",
    "I'm a bit confused.",
    "I have one question.",
    "My function works as expected.",
    "I work on it later.",
    "> I live in Rome.",
    "Wenn ich in Köln wohne, was dann?",
    "Je parle de ce projet.",
    "Hablo con el equipo mañana.",
    "我在想这个问题。",
)


@pytest.mark.parametrize("text", STATED)
def test_a_stated_fact_is_found_whole(text: str) -> None:
    (found,) = facts_about_oneself(f"Hello there. {text}")
    assert (found.kind, found.text, found.is_sure) == ("fact", text, False)


def test_lasting_facts_are_found_in_the_words_that_people_use() -> None:
    assert [sentence for sentence in fact_cases.STATED if not facts_about_oneself(sentence)] == []
    assert [sentence for sentence in fact_cases.NOT_STATED if facts_about_oneself(sentence)] == []


@pytest.mark.parametrize(
    "sentence", ["I'm Ana.", "I just moved to Berlin.", "Ich bin nach Berlin gezogen.", "我搬到上海了。"]
)
def test_a_name_or_a_home_replaces_the_one_before(sentence: str) -> None:
    (fact,) = facts_about_oneself(sentence)
    assert fact.topic.name in ("own name", "own home")


@pytest.mark.parametrize("text", NOT_STATED)
def test_what_is_not_stated_is_no_fact(text: str) -> None:
    assert facts_about_oneself(text) == ()


def test_a_person_has_one_name_and_one_home_and_several_other_facts() -> None:
    first, second = (facts_about_oneself(text)[0].topic for text in ("I live in Lisbon.", "Ich wohne in Köln."))
    assert second.replaces(first)
    nuts, work = (facts_about_oneself(text)[0].topic for text in ("I'm allergic to nuts.", "I work at a bank."))
    assert not work.replaces(nuts)
    many = " ".join(f"I'm allergic to thing {number}." for number in range(MAX_FACTS + 3))
    assert len(facts_about_oneself(many)) == MAX_FACTS


@pytest.mark.parametrize("part", ["I live in ", "my name is ", "I'm a x ", "ich bin ", "я ", "我是", "tengo una "])
def test_reading_takes_linear_time(part: str) -> None:
    assert growth(facts_about_oneself, repeated(part), largest=MAX_READ_CHARS).is_linear
