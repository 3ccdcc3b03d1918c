"""SQLite and PostgreSQL recall the same passages in the same order: those of `passages.json`, in three languages.

Where a change of recall chooses others on purpose, `PASSAGES=write` in the environment has this test write the file.
"""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.languages import LANGUAGES, invented
from compression.core.values import Steering
from conversations.compaction import compaction
from conversations.context import transcript
from conversations.memory import message_index, recall
from conversations.models import Conversation, Message, ModelProfile

FILE = Path(__file__).with_name("passages.json")
ROUNDS, ASKED = 64, 8

Passage = list[int]
"""The number of the message in the conversation, and the characters from which to which it is quoted."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_passages_are_the_same_on_every_database(conversation: Conversation, language: str) -> None:
    ModelProfile.objects.update(window=8_000)
    told = invented(7, language)
    messages, asked = told.messages[: 2 * ROUNDS], told.asked[:ROUNDS]
    for message in messages:
        say(conversation, message["role"], message["content"], datetime.fromisoformat(message["created_at"]))
    compaction.request(conversation, trigger="manual", steering=Steering())
    message_index.keep_up()
    end = datetime.fromisoformat(messages[-1]["created_at"]) + timedelta(hours=1)
    found: dict[str, list[Passage]] = {}
    for question, answer in asked[:: ROUNDS // ASKED]:
        row = say(conversation, "user", question, end)
        passages = recall.load(conversation.pk).recalled
        row.delete()
        assert passages and answer in passages.text
        found[question] = [[quote.source.number or 0, quote.start, quote.end] for quote in passages.quotes]
    kept = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    if os.environ.get("PASSAGES") == "write":
        FILE.write_text(json.dumps(kept | {language: found}, ensure_ascii=False) + "\n", encoding="utf-8")
    else:
        assert found == kept[language]


def say(conversation: Conversation, role: str, text: str, at: datetime) -> Message:
    tokens = transcript.message_tokens(text)
    return Message.objects.create(conversation=conversation, role=role, content=text, created_at=at, token_count=tokens)
