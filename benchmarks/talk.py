"""A long invented conversation in short turns: `turns(n)` gives (question, reply) n times, the same at every run.

It goes from one piece of work to the next, asks back now and then, and has as many names, numbers and paths as real
work: a turn has about 100 tokens, between those of LoCoMo (70) and of BEAM (1,200).
"""

from __future__ import annotations

import random
from collections.abc import Iterator

WORKS = (
    "ledger", "harbour", "mirror", "lantern", "quarry", "meadow", "falcon", "anchor", "cobalt", "willow", "summit",
    "garnet", "beacon", "thistle", "marble", "orchid", "canyon", "juniper", "pepper", "saffron",
)  # fmt: skip
PEOPLE = ("Dana", "Ravi", "Mirja", "Tomas", "Aiko", "Bruno", "Selin", "Noor", "Petra", "Luca")
QUESTIONS = (
    "What is left to do for {work}-{number} before {person} takes it over on the {day}th?",
    "How large is the table of {work}-{number} by now, and who asked for the copy in {place}?",
    "Can you check whether the limit of {small} retries is still right for {work}-{number}?",
    "{person} says that {work}-{number} was slow last night. Where would you begin to look?",
    "And what did we settle for the port? I think that {person} wanted another one.",
    "Please write down that {work}-{number} is not restarted before {day}:00, whatever happens.",
    "Is it worth {large} euros a month, or do we take the smaller one?",
    "Good. And which file was that in?",
)
BACK = "Some time ago we talked about {work}-{number}: which path did {person} ask for then?"
SENTENCES = (
    "The copy of {work}-{number} lies in {place}, and {person} has checked it against the {large} rows of last week.",
    "It listens on port {port} since the {day}th.",
    "I would begin with the queue: it held {large} entries at {day}:30, and only {small} of them were new.",
    "{person} is on call until the {day}th, so nothing has to be decided before then.",
    "The limit stays at {small}, because every further attempt took {large} ms without any success.",
    "Two things are open: the checksum of {place}, and whether {person} needs to be asked first.",
    "The setting is in {place}, line {small}; a change there takes effect at the next start.",
    "That took {small} minutes in the rehearsal, from the first refused write to the first accepted one.",
)
REPLY_SENTENCES = (1, 2, 2, 3, 3, 4)
STAYS = 12
"""Turns of one piece of work, about."""
BACK_EVERY = 15
"""One question in so many is about what was said long ago."""


def turns(count: int, *, seed: int = 5) -> Iterator[tuple[str, str]]:
    chance = random.Random(seed)
    work, number = chance.choice(WORKS), chance.randint(10, 99)
    past = [(work, number)]
    for _ in range(count):
        if chance.random() < 1 / STAYS:
            work, number = chance.choice(WORKS), chance.randint(10, 99)
            past.append((work, number))
        if chance.random() < 1 / BACK_EVERY:
            earlier = chance.choice(past)
            question = _filled(BACK, chance, *earlier)
        else:
            question = _filled(chance.choice(QUESTIONS), chance, work, number)
        said = chance.sample(SENTENCES, chance.choice(REPLY_SENTENCES))
        yield question, " ".join(_filled(sentence, chance, work, number) for sentence in said)


def _filled(text: str, chance: random.Random, work: str, number: int) -> str:
    return text.format(
        work=work,
        number=number,
        person=chance.choice(PEOPLE),
        place=f"/srv/{chance.choice(WORKS)}/{chance.choice(WORKS)}-{chance.randint(1, 900)}.tar",
        port=chance.randint(1_024, 65_000),
        day=chance.randint(1, 23),
        small=chance.randint(2, 90),
        large=chance.randint(1_000, 90_000),
    )
