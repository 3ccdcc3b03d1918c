"""What the ledger finds in real conversations, and what it takes for more than it is: `python -m benchmarks.ledger`.

On BEAM's chats, the instructions and preferences that its questions ask for; on LoCoMo's, where two people talk and
nobody orders an assistant, every entry in force is a wrong one. BEAM's replies are full of advice: read as if
a person had typed them, they say how often advice passes for an order. Milliseconds are CPU of one message.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.conversations import DATA
from benchmarks.goals import end, note, sized
from compression.core.ledger.find import find_entries
from compression.core.ledger.values import DetectedEntry

MIN_SHARED_WORDS = 0.5
"""The share of a preference's words, as its question has them, by which an entry has the same words."""
MIN_NOTED_SHARE, MAX_WRONG_RATE = 0.95, 1.0
_WORD = re.compile(r"[\w'+.-]{4,}")


class Chat(NamedTuple):
    """The user messages of a conversation by their index, the replies to them, and its questions."""

    name: str
    said: dict[int, str]
    advised: Sequence[str]
    questions: Sequence[dict[str, Any]]


def main() -> None:
    beam, locomo = (sized(list(_chats(kind)), small=list(_chats(kind))[:1]) for kind in ("beam", "locomo"))
    instructions = [found for chat in beam for found in _instructions(chat)]
    preferences = [found for chat in beam for found in _preferences(chat, least=0)]
    in_its_words = [found for chat in beam for found in _preferences(chat, least=MIN_SHARED_WORDS)]
    literal = [found for chat in beam for found in _literal_preferences(chat)]
    print("| | | goal |\n| --- | --- | --- |")
    _share("BEAM's tested instructions in force", instructions, 1.0)
    _share("BEAM's tested preferences noted or in force", preferences, MIN_NOTED_SHARE)
    print(f"| the same, with half of the question's words | {sum(in_its_words)} of {len(in_its_words)} | |")
    _share('BEAM\'s messages that say "prefer", noted or in force', literal, MIN_NOTED_SHARE)
    for name, chats in (("BEAM", beam), ("LoCoMo", locomo)):
        messages = sum(len(chat.said) for chat in chats)
        wrong = [text for chat in chats for text in _wrong(chat)]
        rate = 1_000 * len(wrong) / messages
        told = note(rate <= MAX_WRONG_RATE, f"wrong ones in force, {name}: {rate:.1f} per 1,000 messages")
        row = f"| wrong ones in force per 1,000 of {messages:,} messages, {name}"
        print(f"{row} | {rate:.1f}{told} | {MAX_WRONG_RATE:.0f} |")
        for text in wrong:
            print(f"  {text}")
    advice = [text for chat in beam for text in chat.advised]
    wrong = [found.text for text in advice for found in find_entries(text) if found.is_sure]
    rate = 1_000 * len(wrong) / len(advice)
    print(f"| in force per 1,000 of {len(advice):,} replies of BEAM, read as if typed | {rate:.0f} | |")
    texts = [text for chat in (*beam, *locomo) for text in chat.said.values()]
    noted = [found for text in texts for found in find_entries(text) if not found.is_sure]
    print(f"| noted per 1,000 messages of both | {1_000 * len(noted) / len(texts):.0f} | |")
    print(f"| a message | {_milliseconds(texts):.2f} ms | |")
    end()


def _share(what: str, found: Sequence[bool], goal: float) -> None:
    share = sum(found) / len(found)
    told = note(share >= goal, f"{what}: {share:.1%}, not {goal:.0%}")
    print(f"| {what} | {sum(found)} of {len(found)}, {share:.1%}{told} | {goal:.0%} |")


def _instructions(chat: Chat) -> Iterator[bool]:
    """Whether each instruction that a question tests is in force."""
    in_force = {found.text for text in chat.said.values() for found in find_entries(text) if found.is_sure}
    for text in dict.fromkeys(asked["instruction_being_tested"] for asked in _tested(chat, "instruction")):
        yield text in in_force


def _preferences(chat: Chat, *, least: float) -> Iterator[bool]:
    """Whether a message that is a tested preference's evidence has a preference with this share of its words."""
    for asked in _tested(chat, "preference"):
        words = set(_WORD.findall(asked["preference_being_tested"].lower())) - {"prefer"}
        evidence = [found for at in asked["evidence"] for found in find_entries(chat.said.get(at, ""))]
        evidence = [found for found in evidence if found.is_sure or found.kind == "preference"]
        yield any(len(words & set(_WORD.findall(found.text.lower()))) >= least * len(words) for found in evidence)


def _literal_preferences(chat: Chat) -> Iterator[bool]:
    for text in chat.said.values():
        if re.search(r"\bI prefer\b", text):
            yield any("prefer" in found.text for found in find_entries(text))


def _tested(chat: Chat, kind: str) -> list[dict[str, Any]]:
    return [asked for asked in chat.questions if asked.get(f"{kind}_being_tested")]


def _wrong(chat: Chat) -> Iterator[str]:
    """The entries in force that are not the whole of their message, as an instruction is in BEAM."""
    for text in chat.said.values():
        found: tuple[DetectedEntry, ...] = find_entries(text)
        yield from (one.text for one in found if one.is_sure and (len(found) > 1 or one.text != _bare(text)))


def _bare(text: str) -> str:
    """A message without the marks that BEAM puts at its end."""
    return re.sub(r"\s*(?:->->.*)?\Z", "", text, flags=re.DOTALL)


def _milliseconds(texts: Sequence[str]) -> float:
    find_entries.cache_clear()
    begin = time.process_time()
    for text in texts:
        find_entries(text)
    return 1_000 * (time.process_time() - begin) / len(texts)


def _chats(kind: str) -> Iterator[Chat]:
    for file in sorted(Path(DATA / kind).glob("*.json")):
        source = json.loads(file.read_text())
        is_ours = {"beam": ("user",), "locomo": ("user", "assistant")}[kind]
        said = {at: one["content"] for at, one in enumerate(source["messages"]) if one["role"] in is_ours}
        advised = [one["content"] for at, one in enumerate(source["messages"]) if at not in said]
        yield Chat(file.stem, said, advised, source.get("qa", ()))


if __name__ == "__main__":
    main()
