"""What is kept of the same chat in English, German and Chinese: `python -m benchmarks.languages`, no model.

A chat is invented for each seed: facts that a person tells between other talk, each asked for at the end. It is written
in three languages from the same table (`languages.toml`), lived in a small window as in `benchmarks.memory`, and a
question counts where its answer stands in the request word for word. German and Chinese may keep at most MOST_BEHIND
less than English.
"""

from __future__ import annotations

import asyncio
import os
import random
import tomllib
from datetime import datetime, timedelta
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from benchmarks import intervals, memory
from benchmarks.goals import end, note, sized
from benchmarks.site import site

LANGUAGES = ("English", "German", "Chinese")
SEEDS = sized((1, 2, 3), small=(1,))
ROUNDS = sized(160, small=24)
WINDOW = 4_096
MOST_BEHIND = 0.05
START = datetime.fromisoformat("2026-03-02T09:00:00+00:00")

TEXTS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""`facts`, each a statement and its question, `talk`, `replies` and the `values` of the facts, by language."""
MOST_TALK, MOST_REPLIES = 6, 8
"""Sentences of a message around its fact, and of a reply."""


class Told(NamedTuple):
    """A chat in one language: its messages, and (question, answer) of each fact in it."""

    messages: list[dict[str, Any]]
    asked: list[tuple[str, str]]


def main() -> None:
    shares: dict[str, list[float]] = {}
    with site(**({"DATABASE_URL": url} if (url := os.environ.get("DATABASE_URL")) else {})):
        from conversations.compaction import trigger

        for language in LANGUAGES:
            compactions = tokens = 0
            for seed in SEEDS:
                told = invented(seed, language)
                conversation, ends = memory.live({"messages": told.messages}, WINDOW, {})
                compactions += len(ends)
                with memory.asked(conversation, told.asked[0][0]):  # as a turn makes room for its question
                    asyncio.run(trigger.ensure_room(conversation.pk))
                for text, answer in told.asked:
                    found, used = kept(conversation, text, answer)
                    shares.setdefault(language, []).append(found)
                    tokens += used
            of = shares[language]
            print(
                f"{language}: {intervals.written(of)} of {len(of)} answers, {tokens // len(of):,} tokens a request, "
                f"{compactions} compactions in {WINDOW:,}", flush=True,
            )  # fmt: skip
    english = mean(shares["English"])
    for language in LANGUAGES[1:]:
        behind = english - mean(shares[language])
        print(f"{language} is {behind:.3f} behind English{note(behind <= MOST_BEHIND, f'{language}: {behind:.3f}')}")
    end()


def kept(conversation: Any, text: str, answer: str) -> tuple[float, int]:
    """Whether the answer stands in the request for the question, and the request's tokens."""
    from conversations.context import prompt
    from conversations.memory import recall
    from conversations.requests.usage import usage_of

    with memory.asked(conversation, text):
        loaded = recall.load_for_request(conversation.pk)
        used = usage_of(loaded)
        messages = prompt.assemble(loaded).messages[:-1]
    assert used is not None
    return float(answer in "\n".join(str(one["content"]) for one in messages)), used.total


def invented(seed: int, language: str) -> Told:
    """The chat of a seed in one language; in another language, the same facts at the same places."""
    chance = random.Random(seed)
    people = TEXTS["values"]["who"][language]
    pairs = [(fact, who) for fact in TEXTS["facts"] for who in people]
    chance.shuffle(pairs)
    gap = "" if language == "Chinese" else " "
    messages, asked = list[dict[str, Any]](), list[tuple[str, str]]()
    for number, (fact, who) in enumerate(pairs[:ROUNDS]):
        values = {name: chance.choice(of[language]) for name, of in TEXTS["values"].items()} | {
            "who": who,
            "number": str(chance.randrange(600, 2_400)),
            "clock": f"{chance.randrange(5, 23)}:{chance.randrange(10, 60)}",
            "code": f"{chance.choice('ABCDEFG')}{chance.randrange(1_000, 9_999)}-{chance.randrange(10, 99)}",
        }
        statement, question = fact[language]
        talk = [chance.choice(TEXTS["talk"][language]) for _ in range(MOST_TALK)]
        around = talk[: MOST_TALK // 2], talk[MOST_TALK // 2 :]
        messages.append(said(number, "user", gap.join([*around[0], statement.format(**values), *around[1]])))
        replies = [chance.choice(TEXTS["replies"][language]) for _ in range(MOST_REPLIES)]
        messages.append(said(number, "assistant", gap.join(replies)))
        told = next(name for name in values if name != "who" and f"{{{name}}}" in statement)
        asked.append((question.format(**values), values[told]))
    return Told(messages, asked)


def said(number: int, role: str, text: str) -> dict[str, Any]:
    at = START + timedelta(minutes=30 * number + (role == "assistant"))
    return {"role": role, "content": text, "created_at": at.isoformat()}


if __name__ == "__main__":
    main()
