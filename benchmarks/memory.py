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
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import curve, intervals, judging, memory_peers, ranks, recall_cost
from benchmarks.goals import end, sized
from benchmarks.measures import content
from benchmarks.questions import Question, nuggets_told, questions_of, share
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
    """A question's request: the words that it holds, its tokens, and the milliseconds that putting it together took.

    `grade` is the share of the rubric that a model's answer to the request met, None without READER and JUDGE. `age` is
    how many compactions ago the message with the answer was compacted; None: not known, 0: it is still sent.
    """

    question: Question
    there: frozenset[str]
    tokens: int
    ms: float
    age: int | None
    grade: float | None = None

    @property
    def share(self) -> float:
        return share(self.question.answer, self.there)


def main() -> None:
    curves: curve.Curves = {}
    print(f"{datetime.now():%d %B %Y}, {platform.platform()}, {os.cpu_count()} cores, bootstrap seed {intervals.SEED}")
    with site(**({"DATABASE_URL": url} if (url := os.environ.get("DATABASE_URL")) else {})):
        for name, windows in CHATS.items():
            chats = chats_of(name)
            lines = curves.setdefault(name, {})
            for window in windows:
                for line, point in lived(name, chats, window).items():
                    lines.setdefault(line, []).append(point)
            for strategy in STRATEGIES:
                lived(name, chats, windows[1], {"strategy": strategy})
            for preset in PRESETS:
                lines[preset] = [lived(name, chats, windows[1], {"preset": preset})["with recall"]]
            lines |= memory_peers.lived(chats, windows, [tokens for tokens, _ in lines.get("with recall", ())])
        if len(curves) > 1:
            PICTURE.write_text(curve.picture(curves), encoding="utf-8")
        recall_cost.measure()
    end()


def chats_of(name: str) -> list[dict[str, Any]]:
    files = sorted((DATA / name).glob("*.json"))[:MOST]
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def lived(
    name: str, chats: list[dict[str, Any]], window: int, policy: dict[str, str] | None = None
) -> dict[str, tuple[float, float]]:
    """(tokens of a request, share of the answers' words) by line of the picture, of chats lived in a window."""
    judged: dict[str, list[Judged]] = {"whole history": [], "recall on": [], "recall off": []}
    by_message, by_session = list[ranks.Found](), list[ranks.Found]()
    compactions = 0
    for chat in chats:
        conversation, ends = live(chat, window, policy or {})
        compactions += len(ends)
        keys = [str(pk) for pk in conversation.messages.order_by("created_at").values_list("pk", flat=True)]
        days = [message["created_at"][:10] for message in chat["messages"]]
        words = content("\n".join(message["content"] for message in chat["messages"]))
        for question in questions_of(chat)[:QUESTIONS]:
            age = age_of(question, chat, ends)
            judged["whole history"].append(Judged(question, words, 0, 0.0, age))
            with ranks.ranking() as ranked:
                judged["recall on"].append(ask(conversation, question, True, age))
            judged["recall off"].append(ask(conversation, question, False, age))
            if question.evidence and ends and max(question.evidence) <= max(ends):
                order = [keys.index(quote.source.id) for quote in ranked]
                by_message.append(ranks.found(set(question.evidence), order))
                by_session.append(ranks.found({days[at] for at in question.evidence}, [days[at] for at in order]))
    answered = {line: [row for row in rows if row.question.answer] for line, rows in judged.items()}
    if not answered["recall on"]:
        print(f"{name}: not there")
        return {}
    of = ", ".join(map(str, (policy or {"strategy": "checkpoints"}).values()))
    counted = f"{len(chats)} chats, {len(answered['recall on'])} questions, {compactions} compactions"
    print(f"{name}, window {window:,}, {of}, {counted}")
    for line, rows in answered.items():
        cost = "" if line == "whole history" else f"  {cost_of(rows)}"
        print(f"   {line:<19} {intervals.written([row.share for row in rows])}{cost}", flush=True)
    abilities(judged)
    for age in sorted({row.age for row in answered["recall on"] if row.age is not None}):
        text = "not compacted" if age == 0 else f"compacted {age}{'+' * (age == OLDEST)} ago"
        line_of(text, answered, lambda row, age=age: row.age == age, lambda row: row.share)
    for text, found in (("messages", by_message), ("sessions", by_session)):
        if found:
            print(f"   {text} with evidence, {len(found)} questions: {ranks.written(found)}", flush=True)
    names = {"whole history": "whole history", "recall on": "with recall", "recall off": "without recall"}
    return {
        names[line]: (statistics.mean(row.tokens for row in rows), statistics.mean(row.share for row in rows))
        for line, rows in answered.items()
    }


def cost_of(rows: list[Judged]) -> str:
    tokens, ms = statistics.mean(row.tokens for row in rows), statistics.median(row.ms for row in rows)
    return f"{tokens:,.0f} tokens a request, {ms:.0f} ms"


def abilities(judged: dict[str, list[Judged]]) -> None:
    """A line for each ability: the words of the parts of a right answer that stand in the request."""
    for ability in sorted({row.question.ability for row in judged["recall on"]}):

        def tests(row: Judged, ability: str = ability) -> bool:
            return row.question.ability == ability and bool(row.question.nuggets)

        grades = [row.grade for row in judged["recall on"] if row.question.ability == ability and row.grade is not None]
        graded = f", answers graded {statistics.mean(grades):.3f}" if grades else ""
        if any(map(tests, judged["recall on"])):
            line_of(ability, judged, tests, lambda row: nuggets_told(row.question, row.there), graded)
        else:
            print(f"      {ability:<26} nothing of the past answers{graded or ': READER= and JUDGE= measure it'}")


def line_of(
    text: str,
    judged: dict[str, list[Judged]],
    of: Callable[[Judged], bool],
    value: Callable[[Judged], float],
    more: str = "",
) -> None:
    values = {line: [value(row) for row in rows if of(row)] for line, rows in judged.items()}
    means = ", ".join(f"{line} {statistics.mean(of_line):.3f}" for line, of_line in values.items())
    print(f"      {text:<26} {means}{more}, {len(values['recall on'])} questions")


def age_of(question: Question, chat: dict[str, Any], ends: list[int]) -> int | None:
    """How many compactions ago the oldest message with the answer was compacted, at most OLDEST."""
    if not question.evidence:
        return None
    text = chat["messages"][min(question.evidence)]["content"]
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


def ask(conversation: Any, question: Question, recalls: bool, age: int | None) -> Judged:
    """What the request for a question tells; it is not kept, so that each finds the same conversation."""
    from conversations.context import prompt
    from conversations.memory import recall
    from conversations.models import Conversation
    from conversations.requests.usage import usage_of

    Conversation.objects.filter(pk=conversation.pk).update(policy=conversation.policy | {"recall": recalls})
    with asked(conversation, question.text):
        began = time.perf_counter()
        loaded = recall.load_for_request(conversation.pk)
        messages = prompt.assemble(loaded).messages
        ms = 1e3 * (time.perf_counter() - began)
        used = usage_of(loaded)
    assert used is not None
    there = content("\n".join(str(one["content"]) for one in messages[:-1]))
    grade = judging.grade(messages, question.text, question.rubric) if recalls else None
    return Judged(question, there, used.total, ms, age, grade)


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
