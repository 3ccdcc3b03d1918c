"""What a request still tells of a long conversation: `python -m benchmarks.memory`, without any model.

Real chats are lived: their messages come one by one, and before each question of the person there is made room as in
every turn, by the extractive summariser. Then each of their questions is put as the next message, and the request that
would leave for the model is judged: the share of the answer's words, less the question's, that stand anywhere in it.
With recall and without, by kind of question and by the age of the message with the answer; with every strategy; and
beside others that live the same chats (`benchmarks.memory_peers`). Then what recall costs over many messages
(`benchmarks.recall_cost`).
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import curve, memory_peers, recall_cost
from benchmarks.goals import end, sized
from benchmarks.measures import content
from benchmarks.site import site

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CHATS = sized(
    {"beam": (8_192, 16_384, 32_768, 65_536), "locomo": (4_096, 8_192, 16_384)},
    small={"locomo": (8_192,)},
)
"""The windows that each set of chats is lived in."""
MOST = sized(100, small=1)
"""Chats of a set."""
QUESTIONS = sized(1_000, small=20)
"""The most questions that are put to a chat."""
STRATEGIES = sized(("rolling", "continuation", "truncate"), small=())
"""Strategies that are lived beside checkpoints, in the second window of each set."""
PRESETS = sized(("short",), small=())
"""Presets that are lived beside the usual policy, in the second window of each set."""
OLDEST = 4
"""Compactions after which an answer counts as old."""
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "memory.svg"


class Judged(NamedTuple):
    """One question: the share of its answer's words in the request, the request's tokens, and the kind of question.

    `age` is how many compactions ago the message with the answer was compacted; None: not known, 0: it is still sent.
    """

    share: float
    tokens: int
    kind: str
    age: int | None


def main() -> None:
    curves: dict[str, dict[str, list[tuple[float, float]]]] = {}
    with site(**({"DATABASE_URL": url} if (url := os.environ.get("DATABASE_URL")) else {})):
        for name, windows in CHATS.items():
            chats = chats_of(name)
            for window in windows:
                lines = lived(name, chats, window)
                for line, share in lines.items():
                    curves.setdefault(name, {}).setdefault(line, []).append((window, share))
            for strategy in STRATEGIES:
                lived(name, chats, windows[1], {"strategy": strategy})
            for preset in PRESETS:
                lived(name, chats, windows[1], {"preset": preset})
            for line, shares in memory_peers.lived(chats, windows).items():
                curves.setdefault(name, {})[line] = shares
        if len(curves) > 1:
            PICTURE.write_text(curve.picture(curves), encoding="utf-8")
        recall_cost.measure()
    end()


def chats_of(name: str) -> list[dict[str, Any]]:
    files = sorted((DATA / name).glob("*.json"))[:MOST]
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def lived(
    name: str, chats: list[dict[str, Any]], window: int, policy: dict[str, str] | None = None
) -> dict[str, float]:
    """What is kept of chats that are lived in a window: the mean share by line of the picture; it is printed too."""
    judged: dict[bool, list[Judged]] = {True: [], False: []}
    whole: list[float] = []
    compactions = 0
    for chat in chats:
        conversation, ends = live(chat, window, policy or {})
        compactions += len(ends)
        words = content("\n".join(message["content"] for message in chat["messages"]))
        for question in chat["qa"][:QUESTIONS]:
            if not (answer := answer_words(question)):
                continue
            whole.append(len(answer & words) / len(answer))
            age = age_of(question, chat, ends)
            for recalls in judged:
                judged[recalls].append(ask(conversation, question, answer, recalls, age))
    if not whole:
        print(f"{name}: not there")
        return {}
    of = ", ".join((policy or {"strategy": "checkpoints"}).values())
    print(f"{name}, window {window:,}, {of}, {len(chats)} chats, {len(whole)} questions, {compactions} compactions")
    print(f"   whole history       {statistics.mean(whole):.3f}")
    for recalls, rows in judged.items():
        tokens = statistics.mean(row.tokens for row in rows)
        print(
            f"   recall {'on' if recalls else 'off':<12} {mean(rows):.3f}  {tokens:,.0f} tokens a request", flush=True
        )
    both = list(zip(judged[True], judged[False], strict=True))
    for label, of in (("", lambda row: row.kind), ("compacted", lambda row: row.age)):
        for value in sorted({of(row) for row in judged[True]} - {None, ""}):
            among = [pair for pair in both if of(pair[0]) == value]
            on, off = (mean([pair[side] for pair in among]) for side in (0, 1))
            of_all = f"{len(among)} questions"
            text = value if not label else "not compacted" if value == 0 else f"{value}{'+' * (value == OLDEST)} ago"
            print(f"      {text:<26} {on:.3f} on, {off:.3f} off, {of_all}")
    return {"whole history": statistics.mean(whole), "with recall": mean(judged[True]), "without": mean(judged[False])}


def mean(rows: list[Judged]) -> float:
    return statistics.mean(row.share for row in rows)


def answer_words(question: dict[str, Any]) -> frozenset[str]:
    """Content words of the answer that the question does not have."""
    return content(str(question["answer"])) - content(question["question"])


def age_of(question: dict[str, Any], chat: dict[str, Any], ends: list[int]) -> int | None:
    """How many compactions ago the oldest message with the answer was compacted, at most OLDEST."""
    evidence = question.get("evidence")
    if not evidence:
        return None
    text = chat["messages"][min(evidence)]["content"]
    places = [number for number, message in enumerate(chat["messages"]) if message["content"] == text]
    return min(sum(end >= places[0] for end in ends), OLDEST)


def live(chat: dict[str, Any], window: int, policy: dict[str, str]) -> tuple[Any, list[int]]:
    """The conversation after all of its messages, and the place of the last message that each compaction covered."""
    from compression.models import Compaction
    from conversations.compaction import trigger
    from conversations.context.transcript import message_tokens
    from conversations.memory import message_index
    from conversations.models import Conversation, Message, ModelProfile

    ModelProfile.objects.update(window=window, token_correction=1.0)
    usual = {"summariser": "extractive", "cooldown": 0, "ahead": False}
    conversation = Conversation.objects.create(owner_id=1, model_id=1, policy=usual | policy)
    latest = datetime.min
    for number, message in enumerate(chat["messages"]):
        said = datetime.fromisoformat(message["created_at"])
        latest = said if number == 0 or said > latest else latest + timedelta(microseconds=1)
        Message.objects.create(
            conversation=conversation, role=message["role"], content=message["content"], name=message.get("name") or "",
            created_at=latest, token_count=message_tokens(message["content"], role=message["role"]),
        )  # fmt: skip
        if message["role"] == "user":
            asyncio.run(trigger.ensure_room(conversation.pk))
    message_index.keep_up()
    done = Compaction.objects.filter(conversation=conversation, status=Compaction.Status.SUCCEEDED)
    places = {
        pk: number
        for number, pk in enumerate(conversation.messages.order_by("created_at").values_list("pk", flat=True))
    }
    return conversation, [places[pk] for pk in done.order_by("created_at").values_list("last_message", flat=True)]


def ask(conversation: Any, question: dict[str, Any], answer: frozenset[str], recalls: bool, age: int | None) -> Judged:
    """What the request for a question tells; it is not kept, so that each finds the same conversation."""
    from conversations.context import prompt
    from conversations.memory import recall
    from conversations.models import Conversation
    from conversations.requests.usage import usage_of

    Conversation.objects.filter(pk=conversation.pk).update(policy=conversation.policy | {"recall": recalls})
    with asked(conversation, question["question"]):
        loaded = recall.load_for_request(conversation.pk)
        used = usage_of(loaded)
        request = content("\n".join(str(one["content"]) for one in prompt.assemble(loaded).messages[:-1]))
    assert used is not None
    kind = str(question.get("kind", question.get("category", "")))
    return Judged(len(answer & request) / len(answer), used.total, kind, age)


@contextmanager
def asked(conversation: Any, text: str) -> Iterator[None]:
    """Have the text as the conversation's latest message, within the block."""
    from conversations.context.transcript import message_tokens
    from conversations.models import Message

    last = conversation.messages.latest("created_at")
    row = Message.objects.create(
        conversation=conversation, role="user", content=text, token_count=message_tokens(text),
        created_at=last.created_at + timedelta(minutes=1),
    )  # fmt: skip
    yield
    row.delete()


if __name__ == "__main__":
    main()
