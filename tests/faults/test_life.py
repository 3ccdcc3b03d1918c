"""A conversation lives through everything that a person can do to it, in any order, and nothing is ever lost."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as how
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from compression.core.context import render_context
from compression.core.digest import extend_digest
from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD, Steering
from compression.models import Compaction, Snapshot
from compression.records import active_checkpoints
from conversations.compaction import compaction
from conversations.compaction import snapshots as states
from conversations.context import transcript
from conversations.errors import Refused
from conversations.instructions import goals
from conversations.instructions.conversation_settings import change
from conversations.messages.protection import protect
from conversations.models import Conversation, Message, ModelProfile
from conversations.turns import branches, forks, turn
from tests.conversations.chat import Chat, fill
from tests.llm_server import LlmServer

LIVES, STEPS = int(os.environ.get("LIVES", "4")), 20
"""Conversations, and what is done to each; `make torture` sets more."""
STATE = ("compressed_context", "compressed_tokens", "compressed_at", "elided")
TOPICS = (
    "alpha listens on 5433",
    "never restart it on Fridays",
    "логи в /var/log",
    "✨ see deploy/alpha.yaml:12",
    "ok",
)


class Life(RuleBasedStateMachine):
    """What is written here is the model of the conversation: `said` are the contents of all messages by id."""

    user: Any
    llm: LlmServer
    profiles: tuple[ModelProfile, ModelProfile]
    done: Counter[str]
    """How often each thing was done and not refused."""

    def __init__(self) -> None:
        super().__init__()
        self.llm.clear()
        self.conversation = Conversation.objects.create(owner=self.user, model=self.profiles[0])
        fill(self.conversation, 24)
        self.said: dict[Any, str] = {}
        self.before: dict[Any, dict[str, Any]] = {}
        self.number = 0
        self._note()

    @rule(topic=st.sampled_from(TOPICS), words=st.integers(0, 300))
    def send(self, topic: str, words: int) -> None:
        self._turned(lambda: turn.begin(self.conversation, content=self._text(topic, words)))

    @rule(which=st.integers(0, 99), on=st.booleans())
    def protect(self, which: int, on: bool) -> None:
        protect(self.conversation, self._pick(which).pk, on=on)

    @rule(which=st.integers(0, 99), words=st.integers(0, 60))
    def edit(self, which: int, words: int) -> None:
        message = self._pick(which)
        with suppress(Refused):
            self._turned(lambda: branches.edit(self.conversation, message.pk, content=self._text("rather", words)))
            self.done["edit"] += 1

    @rule(which=st.integers(0, 99))
    def regenerate(self, which: int) -> None:
        message = self._pick(which)
        with suppress(Refused):
            self._turned(lambda: branches.regenerate(self.conversation, message.pk))
            self.done["regenerate"] += 1

    @rule(up_to=st.none() | st.integers(0, 99), fails=st.booleans(), strategy=st.sampled_from(["", "rolling"]))
    def compact(self, up_to: int | None, fails: bool, strategy: str) -> None:
        if fails:
            self.llm.enqueue_summary(status=401, times=9)
        Conversation.objects.filter(pk=self.conversation.pk).update(policy={"strategy": strategy} if strategy else {})
        steering = Steering(up_to=str(self._pick(up_to).pk) if up_to is not None else None)
        before = self._state()
        Compaction.objects.update(trigger=Compaction.Trigger.AUTO)  # so that no limit by the minute is met
        row = compaction.request(self.conversation, trigger="manual", steering=steering)
        row.refresh_from_db()
        assert not row.is_active
        self.llm.forget_scripted_summaries()
        if row.status == Compaction.Status.SUCCEEDED:
            self.before[row.pk] = before
            self.done[f"compact by {row.summariser}"] += 1
        else:
            assert self._state() == before

    @rule()
    def undo(self) -> None:
        done = Compaction.objects.filter(conversation=self.conversation, status=Compaction.Status.SUCCEEDED)
        last = done.order_by("-created_at", "-id").first()
        if last is None:
            return
        with suppress(Refused):
            compaction.undo(self.conversation, last.pk)
            self.done["undo"] += 1
            if last.pk in self.before:
                assert self._state() == self.before[last.pk]

    @rule(which=st.integers(0, 99))
    def restore(self, which: int) -> None:
        snapshots = list(Snapshot.objects.filter(conversation=self.conversation).order_by("created_at"))
        if not snapshots:
            states.take_snapshot(self.conversation)
            return
        chosen = snapshots[which % len(snapshots)]
        with suppress(Refused):
            compaction.rollback(self.conversation, snapshot_id=chosen.pk)
            self.done[f"restore a {chosen.purpose} snapshot"] += 1
            assert self._state() == {name: getattr(chosen, name) for name in STATE}

    @rule(which=st.integers(0, 99))
    def fork(self, which: int) -> None:
        message = self._pick(which)
        history = self._history(message.created_at)
        self.conversation = forks.fork(self.conversation, message.pk)
        self.done["fork, compressed" if self.conversation.is_compressed else "fork"] += 1
        self.before.clear()
        self.said.clear()
        self._note()
        assert [row.content for row in self._history()] == [row.content for row in history]

    @rule(small=st.booleans())
    def switch_model(self, small: bool) -> None:
        Conversation.objects.filter(pk=self.conversation.pk).update(model=self.profiles[small])

    @rule(text=st.sampled_from(["never deploy on Mondays", "answer in Greek"]))
    def set_goal_and_rules(self, text: str) -> None:
        goals.set_goal(self.conversation, description=text)
        change(self.conversation, rules=[text])

    @precondition(lambda self: self.number > 3)
    @rule()
    def clear(self) -> None:
        states.clear(self.conversation)

    @invariant()
    def nothing_is_lost(self) -> None:
        """I2: what was acknowledged is there, word for word."""
        rows = dict(Message.objects.filter(pk__in=self.said).values_list("pk", "content"))
        assert rows == self.said

    @invariant()
    def the_state_is_of_this_history(self) -> None:
        """I1: everything up to the cut is what the checkpoints were written from, or sent verbatim."""
        row = Conversation.objects.get(pk=self.conversation.pk)
        checkpoints = active_checkpoints(row.pk)
        assert bool(checkpoints) == row.is_compressed
        if not row.compressed_at:
            assert (row.verbatim_ids, row.elided) == ([], {})
            return
        history = transcript.between(row.pk, None, row.compressed_at)
        assert history[-1].created_at == row.compressed_at
        assert checkpoints[-1].digest == extend_digest("", history)
        assert row.compressed_context == render_context(checkpoints)
        assert row.compressed_tokens == count_tokens(row.compressed_context) + MESSAGE_OVERHEAD
        assert {turn.id for turn in history if turn.protected} <= set(row.verbatim_ids)

    @invariant()
    def nothing_is_left_running(self) -> None:
        assert not Compaction.objects.filter(conversation=self.conversation, status__in=Compaction.ACTIVE).exists()
        assert not Message.objects.filter(conversation=self.conversation, status="streaming").exists()

    def _turned(self, act: Any) -> None:
        """A turn was taken: what was sent holds every message once, and fits."""
        asked = len(self.llm.chats)
        act()
        self.number += 1
        self._note()
        reply = Message.objects.filter(conversation=self.conversation).order_by("-created_at").first()
        assert reply is not None
        self.conversation = Conversation.objects.select_related("model").get(pk=self.conversation.pk)
        if reply.status != Message.Status.COMPLETE:
            assert "does not fit" in reply.error, reply.error
            assert len(self.llm.chats) == asked
            self.done["refused: too large"] += 1
            return
        request = self.llm.chats[-1]
        assert self.conversation.model is not None
        assert request.tokens <= self.conversation.model.usable_window.budget
        Chat(self.conversation, self.llm)._check()

    def _note(self) -> None:
        self.said |= dict(Message.objects.filter(conversation=self.conversation).values_list("pk", "content"))

    def _text(self, topic: str, words: int) -> str:
        self.number += 1
        return f"{topic}, number {self.number} " + f"word{self.number} " * words

    def _history(self, up_to: Any = None) -> list[Message]:
        rows = Message.objects.filter(transcript.HISTORY, conversation=self.conversation).order_by("created_at")
        return list(rows.filter(created_at__lte=up_to) if up_to else rows)

    def _pick(self, which: int) -> Message:
        """One from the end, more often than not: what replaces an early message makes the life a short one."""
        history = self._history()
        return history[-1 - which % (6 if which < 70 else len(history)) % len(history)]

    def _state(self) -> dict[str, Any]:
        row = Conversation.objects.get(pk=self.conversation.pk)
        return {name: getattr(row, name) for name in STATE}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("prepared", [False, True])
def test_any_life_of_a_conversation(
    user: Any, profile: ModelProfile, llm: LlmServer, prepared: bool, settings: Any
) -> None:
    settings.COMPRESSION_AHEAD = prepared
    settings.COMPRESSION_COOLDOWN_SECONDS = 0
    small = ModelProfile.objects.create(
        name="small", model_id="small", base_url=llm.url, api_key="sk", window=2_000, token_correction=1.0
    )
    done: Counter[str] = Counter()
    machine = type("ThisLife", (Life,), {"user": user, "llm": llm, "profiles": (profile, small), "done": done})
    run_state_machine_as_test(
        machine,
        settings=how(
            max_examples=LIVES, stateful_step_count=STEPS, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
    # A few lives need not meet everything.
    assert LIVES < 100 or {"edit", "regenerate", "fork"} <= set(done), done
    assert LIVES < 100 or any(thing.startswith("compact by") for thing in done), done
    print(*(f"{number:7,}  {thing}" for thing, number in done.most_common()), sep="\n")
