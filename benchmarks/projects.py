"""How much a new chat of a project gets from its other chats: `python -m benchmarks.projects`, no model.

Real chats are cut into one conversation a day, all in one project. Each of their questions is put as the first message
of a new chat there, and the request that would leave for the model is judged as in `benchmarks.memory`: the share of
the answer's words, less the question's, that stand in it. Then what recall costs in a project of many conversations.
"""

from __future__ import annotations

import random
import statistics
import time
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from benchmarks import intervals, ranks, recall_cost
from benchmarks.goals import end, held, sized
from benchmarks.measures import content
from benchmarks.memory import asked, chats_of
from benchmarks.questions import questions_of, share
from benchmarks.site import site

WINDOW = 16_384
SETS = sized(("locomo", "beam"), small=("locomo",))
QUESTIONS = sized(1_000, small=20)
"""The most questions that are put to a chat."""
CONVERSATIONS, EACH = sized((1_000, 200), small=(20, 10))
"""The conversations of the large project, and the messages of each."""
LOOKS = sized(200, small=10)
GOAL_MS = 15.0
"""Milliseconds of CPU for recall in the large project."""


def main() -> None:
    with site():
        for name in SETS:
            kept(name)
        cost()
    end()


def kept(name: str) -> None:
    """Print the share of the answers' words that reach the model, and the tokens of the passages."""
    from django.utils import timezone

    from conversations import projects
    from conversations.context import prompt
    from conversations.memory import message_index, recall
    from conversations.models import Conversation, ModelProfile

    ModelProfile.objects.update(window=WINDOW, token_correction=1.0)
    shares, tokens, places, parts = [], [], list[ranks.Found](), 0
    for chat in chats_of(name):
        project = projects.create(_owner(), name=name)
        talks = divided(chat, project)
        parts += len(set(talks))
        message_index.keep_up()
        while message_index.catch_up():
            pass
        new = Conversation.objects.create(owner_id=1, model_id=1, project=project)
        new.messages.create(role="assistant", content="Hello.", token_count=8, created_at=timezone.now())
        for question in questions_of(chat)[:QUESTIONS]:
            if question.answer:
                with asked(new, question.text), ranks.ranking() as ranked:
                    loaded = recall.load_for_request(new.pk)
                    messages = prompt.assemble(loaded).messages[:-1]
                request = content("\n".join(str(one["content"]) for one in messages))
                shares.append(share(question.answer, request))
                tokens.append(loaded.recalled.tokens if loaded.recalled else 0)
                if wanted := {talks[at] for at in question.evidence}:
                    places.append(ranks.found(wanted, [quote.source.conversation_id for quote in ranked]))
    if shares:
        print(f"{name}, window {WINDOW:,}, {parts} conversations, {len(shares)} questions put in a new one")
        print(f"   {intervals.written(shares)}  {statistics.mean(tokens):,.0f} tokens of passages")
        print(f"   conversations with evidence: {ranks.written(places)}", flush=True)


def divided(chat: dict[str, Any], project: Any) -> list[str]:
    """Store the chat as one conversation for each of its days; returns the conversation's id of each message."""
    from conversations.context.transcript import message_tokens
    from conversations.models import Conversation, Message

    days = groupby(chat["messages"], key=lambda message: message["created_at"][:10])
    talks: list[str] = []
    for day, messages in days:
        conversation = Conversation.objects.create(owner_id=1, model_id=1, project=project, title=f"Talk of {day}")
        latest = datetime.min
        for place, message in enumerate(messages):
            talks.append(str(conversation.pk))
            said = datetime.fromisoformat(message["created_at"])
            latest = said if place == 0 or said > latest else latest + timedelta(microseconds=1)
            Message.objects.create(
                conversation=conversation, role=message["role"], content=message["content"],
                name=message.get("name") or "", created_at=latest, token_count=message_tokens(message["content"]),
            )  # fmt: skip
    return talks


def cost() -> None:
    """Print the CPU time of recall, and of the project's page, in a project of many conversations."""
    from django.test import Client
    from django.utils import timezone

    from conversations import projects
    from conversations.context import transcript
    from conversations.memory import recall
    from conversations.models import Conversation, Message

    chance, words, weights = recall_cost.vocabulary()
    project = projects.create(_owner(), name="Large")
    start = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    for number in range(CONVERSATIONS):
        row = Conversation.objects.create(owner_id=1, model_id=1, project=project, title=f"Talk {number}")
        Message.objects.bulk_create(
            Message(
                conversation=row, role=("user", "assistant")[place % 2], token_count=60,
                content=" ".join(chance.choices(words, weights, k=40)) + ".",
                created_at=start + timedelta(minutes=number, milliseconds=place),
            )
            for place in range(EACH)
        )  # fmt: skip
    recall_cost.indexed()
    new = Conversation.objects.create(owner_id=1, model_id=1, project=project)
    new.messages.create(role="assistant", content="Hello.", token_count=8, created_at=timezone.now())
    times = sorted(_recall_ms(new, chance, words, weights, recall, transcript) for _ in range(LOOKS))
    p50 = held(times[len(times) // 2], GOAL_MS, "{:.1f}", what="recall in a project, p50")
    p98 = times[-len(times) // 50]
    print(f"recall, {CONVERSATIONS:,} conversations of {EACH} messages: {p50} ms p50, {p98:.1f} ms p98")
    client = Client(headers={"host": "localhost"})
    client.force_login(_owner(), backend="django.contrib.auth.backends.ModelBackend")
    address = f"/projects/{project.pk}/"
    client.get(address)
    began = time.perf_counter()
    answer = client.get(address)
    print(f"the page of the project: {1e3 * (time.perf_counter() - began):.0f} ms, status {answer.status_code}")


def _recall_ms(
    new: Any, chance: random.Random, words: list[str], weights: list[float], recall: Any, transcript: Any
) -> float:
    with asked(new, "What about " + " ".join(chance.choices(words, weights, k=8)) + "?"):
        loaded = transcript.load(new.pk)
        began = time.process_time()
        recall.recalling(loaded)
        return 1e3 * (time.process_time() - began)


def _owner() -> Any:
    from django.contrib.auth import get_user_model

    return get_user_model().objects.get(pk=1)


if __name__ == "__main__":
    main()
