"""Whatever happens to a conversation, each of its messages is found and recalled by its own rarest words."""

from __future__ import annotations

import io
import json
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from random import Random

import pytest
from django.db.models import F, QuerySet

from compression.core.tokens import count_tokens
from compression.core.values import Steering
from compression.models import Compaction
from conversations.compaction import compaction, snapshots
from conversations.context.transcript import HISTORY
from conversations.errors import Refused
from conversations.exchange.exports import as_json
from conversations.exchange.imports import import_conversations
from conversations.instructions import conversation_settings
from conversations.memory import index_schema, message_index, recall
from conversations.messages import search
from conversations.models import Conversation, Message, ModelProfile, User
from conversations.ops import backups
from conversations.turns import begin, branches, conversations, forks
from tests.llm_server import LlmServer

FRAME_TOKENS = 90
"""The most tokens around a single quotation."""
ROUNDS = 2
COMMON = ["we", "then", "said", "that", "the", "plan", "is", "good", "and", "so", "on", "about", "it"]
LETTERS = {
    "Latin": "abcdefghijklmnoprstuvz",
    "accents": "äéîõüçñß",
    "Cyrillic": "абвгдежзиклмнопрсту",
    "Greek": "αβγδεζηθικλμνξοπρστυ",
    "Arabic": "ابتثجحخدذرزسشصضطظ",
    "Hebrew": "אבגדהוזחטיכלמנס",
    "Devanagari": "कखगघचछजझटठडढतथदध",
    "Thai": "กขคงจฉชซญณดตถทธนบป",
    "Chinese": "数据库端口改成五四三天地玄黄宇宙洪荒日月盈昃",
    "Kana": "かきくけこさしすせそたちつてと",
    "Hangul": "가나다라마바사아자차카타파하",
    "digits": "0123456789",
}


class Life:
    """A person's conversations under random changes; each message says some common words and a few rare ones."""

    def __init__(self, seed: int, user: User, llm: LlmServer, model: ModelProfile) -> None:
        self.chance, self.user, self.llm = Random(seed), user, llm
        self.policy = {"summariser": "extractive", "min_messages": 1, "cooldown": 0, "ahead": False}
        self.chat = Conversation.objects.create(owner=user, model=model)
        conversation_settings.change(self.chat, policy=self.policy)

    def text(self) -> str:
        rare = [
            "".join(self.chance.choices(self.chance.choice([*LETTERS.values()]), k=self.chance.randint(6, 9)))
            for _ in range(3)
        ]
        words = [*self.chance.choices(COMMON, k=180), *rare]
        self.chance.shuffle(words)
        return " ".join(words)

    def happens(self) -> None:
        act = self.chance.choices(
            [self.say, self.edit, self.regenerate, self.compact, self.undo, self.fork, self.bring_in, self.delete],
            [10, 3, 2, 4, 1, 1, 1, 1],
        )[0]
        with suppress(Refused):
            act()
        self.chat.refresh_from_db()

    def say(self) -> None:
        self.llm.enqueue(self.text())
        begin.begin(self.chat, content=self.text())

    def edit(self) -> None:
        if asked := list(self.said().filter(role="user").order_by("-created_at")[:6]):
            self.llm.enqueue(self.text())
            branches.edit(self.chat, self.chance.choice(asked).pk, content=self.text())

    def regenerate(self) -> None:
        if replies := list(self.said().filter(role="assistant").order_by("-created_at")[:3]):
            self.llm.enqueue(self.text())
            branches.regenerate(self.chat, self.chance.choice(replies).pk)

    def compact(self) -> None:
        compaction.request(self.chat, trigger="manual", steering=Steering())
        # So many a minute are allowed.
        Compaction.objects.filter(conversation=self.chat).update(created_at=F("created_at") - timedelta(minutes=2))

    def undo(self) -> None:
        snapshots.rollback(self.chat)

    def fork(self) -> None:
        if said := list(self.said()):
            self.chat = forks.fork(self.chat, self.chance.choice(said[-4:]).pk)

    def bring_in(self) -> None:
        if self.said().exists():
            found = import_conversations(self.user, json.dumps(as_json(self.chat)).encode())
            self.chat = Conversation.objects.get(pk=found.conversations[0].pk)
            Conversation.objects.filter(pk=self.chat.pk).update(model=ModelProfile.objects.get())
            conversation_settings.change(self.chat, policy=self.policy)

    def delete(self) -> None:
        others = Conversation.objects.exclude(pk=self.chat.pk)
        if other := others.order_by("pk").first():
            conversations.delete(other)

    def said(self) -> QuerySet[Message]:
        return Message.objects.filter(HISTORY, conversation=self.chat).order_by("created_at")


def rarest(message: Message, among: Counter[str]) -> str:
    return " ".join(sorted(set(message.content.split()), key=lambda word: (among[word], word))[:3])


def assert_found_and_recalled(life: Life) -> int:
    """How many of its messages had to be recalled."""
    rows = list(life.said())
    among = Counter(word for row in rows for word in set(row.content.split()))
    cut = life.chat.compressed_at
    recalled = 0
    for row in rows:
        words = rarest(row, among)
        if among[words.split()[0]] > 1:
            continue
        assert row.pk in {hit.message.pk for hit in search.find_hits(life.user, words).hits if hit.message}, words
        if cut is None or row.created_at > cut or str(row.pk) in life.chat.verbatim_ids:
            continue
        at = rows[-1].created_at + timedelta(seconds=1)
        question = Message.objects.create(conversation=life.chat, role="user", content=words, created_at=at)
        loaded = recall.load(life.chat.pk)
        question.delete()
        if recall.room_for(loaded).own < FRAME_TOKENS + count_tokens(row.content):
            continue
        found = loaded.recalled
        assert found and str(row.pk) in {quote.source.id for quote in found.quotes}, words
        assert any(word in found.text for word in words.split() if among[word] == 1), words
        recalled += 1
    return recalled


def assert_in_step() -> None:
    """The index has each message that was said and not replaced, and nothing else."""
    while message_index.catch_up():
        pass
    said = Message.objects.filter(replaced_by=None).exclude(content="").exclude(status="streaming")
    with message_index.connection.cursor() as cursor:
        cursor.execute(f"SELECT message_id FROM {index_schema.INDEXED}")
        assert {message_index._id(key) for (key,) in cursor.fetchall()} == set(said.values_list("pk", flat=True))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 4, 5))])
def test_each_message_is_found_and_recalled_by_its_rarest_words(
    user: User, profile: ModelProfile, llm: LlmServer, seed: int
) -> None:
    life = Life(seed, user, llm, profile)
    recalled = 0
    for _ in range(ROUNDS):
        for _ in range(12):
            life.happens()
        for _ in range(8):
            life.say()
        life.compact()
        life.chat.refresh_from_db()
        assert_in_step()
        recalled += assert_found_and_recalled(life)
    gone = Message.objects.exclude(replaced_by=None).order_by("pk")
    for row in gone[:20]:
        hits = search.find_hits(user, row.content[:200]).hits
        assert row.pk not in {hit.message.pk for hit in hits if hit.message}
    assert recalled > 5


def test_after_a_restore_everything_is_found_and_recalled(user: User, profile: ModelProfile, llm: LlmServer) -> None:
    life = Life(99, user, llm, profile)
    for _ in range(12):
        life.say()
    life.compact()
    out = io.BytesIO()
    backups.to_stream(out)
    life.say()
    backups.restore(io.BytesIO(out.getvalue()), replace=True)
    life.chat.refresh_from_db()
    message_index.keep_up()
    assert_in_step()
    assert assert_found_and_recalled(life) > 10
