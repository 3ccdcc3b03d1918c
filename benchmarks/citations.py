"""How rightly statements are marked as not found: `python -m benchmarks.citations`.

True paraphrases are the answers to the questions of real chats (`../shared/data`), which people and models wrote after
reading them; none of them should be marked. False statements are the same answers with one name, number, date or
quotation of another chat in place of their own; all of them should be marked.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from compression.core.citations.check import unfound_in, unsupported
from compression.core.citations.claims import claims_in
from compression.core.citations.hard_facts import HardFact, hard_facts
from compression.core.extractive.summariser import extract
from compression.core.tokens import count_tokens
from compression.core.values import Turn
from tests.core.conversations import SHARED, real

UNANSWERED = ("abstention", "contradiction_resolution", 5)
"""Kinds of questions whose answers say that there is none, or two."""
KINDS = {
    "name": "name",
    "number": "number",
    "date": "date",
    "quoted": "quotation",
    "identifier": "identifier",
    "path": "path",
}
BUDGETS = (200, 500, 1_500, 4_000)


def chats(*kinds: str) -> list[str]:
    return [f"{kind}/{path.name}" for kind in kinds for path in sorted((SHARED / kind).glob("*.json"))]


def answers(name: str) -> Iterator[str]:
    """The answers of a chat as statements of a summary."""
    for question in json.loads((SHARED / name).read_text())["qa"]:
        is_answered = not {question.get("kind"), question.get("category")}.intersection(UNANSWERED)
        if question.get("answer") and is_answered:
            yield f"- {' '.join(str(question['answer']).split())}"


def altered(answer: str, foreign: Sequence[HardFact], said: str, dice: random.Random) -> tuple[str, str] | None:
    """The answer with one of its facts replaced by a foreign one of its kind, and that kind; None if it has none.

    What stands in `said`, which is in lower case, is not foreign.
    """
    own = [fact for claim in claims_in(answer) for fact in hard_facts(claim.text)]
    dice.shuffle(own)
    for fact in own:
        others = [one for one in foreign if one.kind == fact.kind and one.text.casefold() not in said]
        if others:
            return answer.replace(fact.text, dice.choice(others).text), fact.kind
    return None


def facts_of(turns: Sequence[Turn]) -> list[HardFact]:
    text = extract(turns, earlier="", max_tokens=4_000, count=count_tokens)
    return [fact for claim in claims_in(text) for fact in hard_facts(claim.text)]


def marked_in(statements: Sequence[str], turns: Sequence[Turn]) -> list[int]:
    """The numbers of the statements, each on a line of one summary, that are marked."""
    summary = "\n".join(statements)
    marked = unsupported(claims_in(summary), unfound_in(summary, turns))
    places = [claims_in(summary)[number].start for number in marked]
    return sorted({summary.count("\n", 0, place) for place in places})


def main() -> None:
    dice = random.Random(1)
    turns = {name: real(name) for name in chats("beam", "locomo", "swe")}
    facts = {name: facts_of(turns[name]) for name in turns}
    print("chat                      true  marked   false  marked   selected sentences  marked    seconds")
    totals: Counter[str] = Counter()
    for name in turns:
        began = time.process_time()
        true = [one for one in answers(name) if claims_in(one)]
        marked = len(marked_in(true, turns[name]))
        near = [other for other in turns if other.partition("/")[0] == name.partition("/")[0] and other != name]
        said = " ".join(" ".join(turn.content for turn in turns[name]).split()).casefold()
        false = [found for one in true if (found := altered(one, facts[dice.choice(near)], said, dice))]
        seen = [false[number][1] for number in marked_in([text for text, _ in false], turns[name])]
        texts = [extract(turns[name], earlier="", max_tokens=tokens, count=count_tokens) for tokens in BUDGETS]
        selected = sum(len(claims_in(text)) for text in texts)
        wrong = sum(len(unsupported(claims_in(text), unfound_in(text, turns[name]))) for text in texts)
        totals += Counter({"true": len(true), "marked": marked, "selected": selected, "wrong": wrong})
        totals += Counter(kind for _, kind in false) + Counter(f"{kind} marked" for kind in seen)
        spent = time.process_time() - began
        print(f"{name:<24}{len(true):>6}{marked:>8}{len(false):>8}{len(seen):>8}{selected:>21}{wrong:>8}{spent:>11.1f}")
    print(f"true paraphrases marked: {totals['marked']} of {totals['true']}")
    print(f"selected sentences marked: {totals['wrong']} of {totals['selected']}")
    for kind, words in KINDS.items():
        if totals[kind]:
            print(f"statements with a false {words} marked: {totals[f'{kind} marked']} of {totals[kind]}")


if __name__ == "__main__":
    main()
