"""Questions about the real chats: what each needs from the past, the ability that it tests, and keys that are wrong."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measures import content

CATEGORIES = {1: "several places", 2: "times", 3: "open domain", 4: "one place", 5: "adversarial"}
"""LoCoMo's categories by the numbers of its file: 282, 321, 96, 841 and 446 questions of its ten chats."""
ABOUT_THE_REPLY = re.compile(r"contradictory|which (?:statement|one|is)|clarif", re.IGNORECASE)
"""Rubric lines that ask something of the reply which no message of the chat could say."""
_ASKED = re.compile(r"^(?:the )?(?:LLM )?response should [^:]{0,40}:\s*", re.IGNORECASE)
WRONG_KEYS = Path(__file__).with_name("locomo_wrong_keys.txt")


class Question(NamedTuple):
    """A question, and what the past must tell for its answer.

    `nuggets` are the parts of a right answer, each as the content words that the question does not have: BEAM's rubric,
    or the instruction or preference that the reply must follow; LoCoMo's answer. Empty where nothing of the past
    answers (abstention). `answer` are the words of the whole answer, empty where the file has none. `evidence` are
    places of messages.
    """

    text: str
    ability: str
    answer: frozenset[str]
    nuggets: tuple[frozenset[str], ...]
    rubric: tuple[str, ...]
    evidence: tuple[int, ...]


def questions_of(chat: dict[str, Any]) -> list[Question]:
    """The chat's questions, without those whose answer a public audit found wrong (`locomo_wrong_keys.txt`)."""
    wrong = wrong_keys()
    return [question_of(row) for row in chat["qa"] if digest(row["question"]) not in wrong]


def question_of(row: dict[str, Any]) -> Question:
    asked = content(row["question"])
    answer = str(row["answer"])
    rubric = [_ASKED.sub("", line) for line in row.get("rubric", ())] or [answer]
    kept_to = row.get("instruction_being_tested") or row.get("preference_being_tested")
    told = [kept_to] if kept_to else [line for line in rubric if not ABOUT_THE_REPLY.search(line)]
    if row.get("kind") == "abstention":
        told = []
    category = row.get("category")
    return Question(
        text=row["question"],
        ability=str(row.get("kind") or CATEGORIES.get(category, category)).replace("_", " "),
        answer=content(answer) - asked,
        nuggets=tuple(filter(None, (content(line) - asked for line in told))),
        rubric=tuple(rubric),
        evidence=tuple(row.get("evidence") or ()),
    )


def wrong_keys() -> frozenset[str]:
    lines = WRONG_KEYS.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


def digest(question: str) -> str:
    return sha256(question.encode()).hexdigest()[:10]


def share(wanted: frozenset[str], there: frozenset[str]) -> float:
    """The share of the wanted words that are there."""
    return len(wanted & there) / len(wanted)


def nuggets_told(question: Question, there: frozenset[str]) -> float:
    """The mean share of the words of each nugget that are there."""
    return sum(share(nugget, there) for nugget in question.nuggets) / len(question.nuggets)
