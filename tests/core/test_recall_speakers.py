"""Recall prefers the words of those whom a question is about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from compression.core.recall import recall
from compression.core.recall.recall import PastMessage
from compression.core.text.index_terms import index_terms

OWN = "The port of our staging database is 5433, we moved it in May."
ANSWER = "The port of a staging database is best kept out of the usual range, as with your database's 6021."


def first(question: str, *said: tuple[str, str, str]) -> str:
    """The text that ranks first for the question, of messages (role, name, text) that are no neighbours."""
    began = datetime(2026, 1, 1, tzinfo=UTC)
    past = [
        PastMessage(str(at), 10 * at, role, name, text, began + timedelta(minutes=at))
        for at, (role, name, text) in enumerate(said)
    ]
    weights = recall.query_of(question, [])
    counts = {term: sum(term in index_terms(text) for *_, text in said) for term in weights}
    ranked = recall.ranked_passages(past, weights, counts=counts, among=100, length=300, question=question)
    return ranked[0][1].text


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What was the port of my staging database?", OWN),
        ("Which port has the staging database?", OWN),
        ("What port did you propose for a staging database?", ANSWER),
        ("Can you tell me the port of the staging database?", OWN),
    ],
)
def test_what_a_person_said_comes_before_the_answer_unless_the_answer_is_asked_for(question: str, wanted: str) -> None:
    assert first(question, ("user", "", OWN), ("assistant", "", ANSWER)) == wanted


@pytest.mark.parametrize("asked", ["Ada", "Grace"])
def test_a_speaker_whom_the_question_names_comes_first(asked: str) -> None:
    said = {"Ada": "I painted a sunrise last year.", "Grace": "Your painted sunrise is lovely, mine was of a sunrise."}
    rows = [("user", "Ada", said["Ada"]), ("assistant", "Grace", said["Grace"])]
    assert first(f"When was the sunrise painted that {asked} spoke of?", *rows) == said[asked]


@pytest.mark.parametrize(
    "question",
    [
        "Welchen Port hast du für die Datenbank vorgeschlagen?",
        "Welchen Port haben Sie für die Datenbank vorgeschlagen?",
        "Quel port avez-vous proposé pour la base ?",
        "¿Qué puerto propuso usted para la base?",
        "Какой порт ты предложил для базы?",
        "你建议数据库用哪个端口",
    ],
)
def test_the_assistant_is_addressed_in_other_languages_too(question: str) -> None:
    speaks = recall.speakers_asked_about(question, ())
    assert not speaks("user", "")


@pytest.mark.parametrize(
    "question", ["Sag mir, welchen Port ich dir nannte.", "Sie läuft auf welchem Port?", "你告诉我的端口是什么"]
)
def test_the_own_words_of_who_asks_count_in_other_languages_too(question: str) -> None:
    speaks = recall.speakers_asked_about(question, ())
    assert speaks("user", "") and not speaks("assistant", "")
