"""What the gateway stores and looks up: rows that say what the messages said, found in a few queries at any length."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compression.core.digest import extend_digest
from compression.ids import first_id
from compression.models import Checkpoint, Compaction
from conversations.compaction.snapshots import Superseded
from conversations.context import transcript
from conversations.gateway import checkpoints, compaction
from conversations.gateway.history import History, parse_history
from conversations.gateway.request import GatewayRequest, parse_request
from conversations.models import Conversation, Folding, GatewayCall, Message, ModelProfile, User
from conversations.ops import maintenance

Raw = dict[str, Any]
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
PARTS = st.lists(
    st.one_of(
        st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
        st.builds(lambda url: {"type": "image_url", "image_url": {"url": url}}, TEXTS),
    ),
    max_size=3,
)
IDS = st.sampled_from(["a", "b", "c", ""])
CALLS = st.lists(
    st.builds(
        lambda id, text: {"id": id, "type": "function", "function": {"name": "f", "arguments": text}}, IDS, TEXTS
    ),
    max_size=3,
)
MESSAGES = st.one_of(
    st.builds(lambda role, content: {"role": role, "content": content},
              st.sampled_from(["user", "assistant", "system", "developer"]), st.one_of(TEXTS, PARTS)),
    st.builds(lambda calls, content: {"role": "assistant", "content": content, "tool_calls": calls},
              CALLS, st.none() | TEXTS),
    st.builds(lambda id, content: {"role": "tool", "tool_call_id": id, "content": content}, IDS, TEXTS),
)  # fmt: skip


def digests_of_rows(conversation_id: Any) -> list[str]:
    found, digest = [], ""
    last = Message.objects.filter(conversation=conversation_id).latest("created_at").created_at
    for turn in transcript.between(conversation_id, None, last):
        digest = extend_digest(digest, [turn])
        found.append(digest)
    return found


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=st.lists(MESSAGES, min_size=1, max_size=12))
def test_rows_have_the_digests_of_the_messages_they_were_made_from(
    messages: list[Raw], user: User, profile: ModelProfile
) -> None:
    history = parse_history(messages)
    assert [raw for line in history.lines for raw in line.raw] == messages[len(history.lead) :], "none is lost"
    id = compaction._stored(user.pk, history, None, profile)
    if history.lines:
        assert digests_of_rows(id) == [line.digest for line in history.lines]
        loaded = transcript.load(id)
        assert [turn.tokens for turn in loaded.live] == [line.turn.tokens for line in history.lines]
        assert loaded.waiting >= 1


def said(count: int, *, topic: str = "t") -> list[Raw]:
    return [
        {"role": "user" if number % 2 == 0 else "assistant", "content": f"{topic} {number}"} for number in range(count)
    ]


def test_what_is_stored_follows_what_the_caller_sends(user: User, profile: ModelProfile) -> None:
    history = parse_history(said(9))
    id = compaction._stored(user.pk, history, None, profile)
    row = Conversation.objects.get(pk=id)
    first = list(row.messages.order_by("created_at"))
    assert (row.kind, row.title, row.owner) == ("gateway", "t 0", user)

    def again(messages: list[Raw]) -> list[Message]:
        changed = parse_history(messages)
        Conversation.objects.filter(pk=id).update(compressed_at=None)
        compaction._append(row, changed.lines)
        found = list(row.messages.order_by("created_at"))
        assert [message.content for message in found] == [line.turn.content for line in changed.lines]
        return found

    longer = again(said(11))
    assert [message.pk for message in longer[:9]] == [message.pk for message in first]
    edited = again([*said(6), {"role": "user", "content": "other"}])
    assert [message.pk for message in edited[:6]] == [message.pk for message in first[:6]]
    assert again(said(6)) == first[:6]


def test_a_lookup_takes_as_many_queries_for_any_length(
    user: User, profile: ModelProfile, django_assert_num_queries: Any
) -> None:
    for count in (50, 400):
        history = parse_history(said(count, topic=f"of {count}"))
        compressed(user, profile, history)
        longer = parse_history([*said(count, topic=f"of {count}"), {"role": "user", "content": "more"}])
        with django_assert_num_queries(2):
            state = checkpoints.find_checkpoint(user.pk, longer)
        assert state is not None
        assert (state.place, state.kept) == (count - 5, ())
        with django_assert_num_queries(1):
            assert checkpoints.known(user.pk, longer) == state


def compressed(user: User, profile: ModelProfile, history: History) -> None:
    """As a compaction leaves it that has left the last five messages."""

    id = compaction._stored(user.pk, history, None, profile)
    rows = list(Message.objects.filter(conversation=id).order_by("created_at"))
    last = rows[len(rows) - 6]
    row = Compaction.objects.create(conversation_id=id, trigger="auto", status="succeeded")
    Checkpoint.objects.create(
        conversation_id=id, compaction=row, number=1, level=1, summary="s", token_count=5, original_tokens=500,
        first_message=rows[0].pk, last_message=last.pk, last_message_at=last.created_at,
        digest=history.lines[len(rows) - 6].digest,
    )  # fmt: skip
    Conversation.objects.filter(pk=id).update(
        compressed_context="s", compressed_tokens=5, compressed_at=last.created_at
    )


def test_a_digest_s_checkpoint_is_found_by_its_index(user: User, profile: ModelProfile) -> None:

    rows = Checkpoint.objects.filter(digest__in=["a", "b"], conversation__owner=user, conversation__kind="gateway")
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL chooses by the size of its tables")
    assert "checkpoint_by_digest" in rows.explain()


@pytest.mark.usefixtures("profile")
def test_of_two_that_fold_the_same_one_waits(user: User) -> None:
    from compression.ids import uuid7

    first, second = uuid7(), uuid7()
    assert compaction._claim(user.pk, "d", first)
    assert not compaction._claim(user.pk, "d", second)
    assert compaction._claim(user.pk, "other", second)
    compaction._release(first)
    assert compaction._claim(user.pk, "d", second)
    Folding.objects.update(expires_at="2020-01-01T00:00Z")
    assert compaction._claim(user.pk, "d", first), "one that fell silent"
    compaction._release(second)
    assert Folding.objects.filter(digest="d").exists(), "it is not the second's any more"


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_what_the_caller_wants_for_the_reply_stays_free(profile: ModelProfile, field: str) -> None:
    ModelProfile.objects.update(window=16_000, is_local=False, token_correction=1.0)

    def asked(wanted: int | None) -> GatewayRequest:
        messages = [{"role": "user", "content": "word " * 12_300}]
        return parse_request(json.dumps({"model": profile.name, "messages": messages, field: wanted}))

    assert [asked(wanted).window.reserve for wanted in (None, 10, 1_500, 9_000)] == [1_000, 1_000, 1_500, 4_000]
    assert not asked(1_500).is_due(None)
    assert asked(3_900).is_due(None), "there is no room for both"


@pytest.mark.usefixtures("profile")
def test_figures_are_kept_for_400_days_and_locks_for_an_hour(user: User) -> None:
    now = timezone.now()
    for days in (399, 401):
        GatewayCall.objects.create(id=first_id(now - timedelta(days=days)), owner=user, tokens_before=days)
    Folding.objects.create(owner=user, digest="dead", expires_at=now - timedelta(hours=2))
    Folding.objects.create(owner=user, digest="silent", expires_at=now - timedelta(minutes=2))
    maintenance.tidy()
    assert [call.tokens_before for call in GatewayCall.objects.all()] == [399]
    assert [folding.digest for folding in Folding.objects.all()] == ["silent"]


def test_a_summary_is_not_used_without_what_is_sent_beside_it(user: User, profile: ModelProfile) -> None:
    """Its messages may be deleted between two looks at the database."""
    history = parse_history([*said(9), {"role": "system", "content": "Say ahoy."}, *said(9, topic="later")])
    compressed(user, profile, history)
    rows = Message.objects.filter(conversation__owner=user)
    order = rows.get(role="system")
    Conversation.objects.filter(owner=user).update(verbatim_ids=[str(order.pk)])
    state = checkpoints.find_checkpoint(user.pk, history)
    assert state is not None
    assert state.kept == (9,)
    rows.filter(pk=order.pk).delete()
    assert checkpoints.find_checkpoint(user.pk, history) is None


def test_what_another_history_has_made_of_a_conversation_is_not_taken(user: User, profile: ModelProfile) -> None:
    history = parse_history(said(12))
    compressed(user, profile, history)
    row = Conversation.objects.get(owner=user)
    assert checkpoints.present(row.pk, history) == checkpoints.find_checkpoint(user.pk, history)
    with pytest.raises(Superseded):
        checkpoints.present(row.pk, parse_history(said(12, topic="another")))
    row.delete()
    with pytest.raises(Superseded):
        checkpoints.present(row.pk, history)


def test_a_summary_that_its_conversation_has_left_behind_is_not_gone_on_from(user: User, profile: ModelProfile) -> None:
    messages = said(20)
    compressed(user, profile, parse_history(messages))
    longer = parse_history([*messages, {"role": "user", "content": "more"}])
    state = checkpoints.find_checkpoint(user.pk, longer)
    assert state is not None
    Checkpoint.objects.update(digest="of another branch")
    rows = list(Message.objects.values_list("pk", flat=True))
    with pytest.raises(Superseded):
        compaction._stored(user.pk, longer, state, profile)
    assert list(Message.objects.values_list("pk", flat=True)) == rows
