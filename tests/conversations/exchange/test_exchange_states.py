"""Our own export brings a compressed conversation back as it was: what the model is sent is the same."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from compression.core.digest import extend_digest
from compression.core.goal import Progress, Step
from compression.core.values import Steering
from compression.models import Checkpoint, Compaction, Snapshot
from compression.records import active_checkpoints
from conversations.compaction import compaction, edit_summary, emergency, lease, snapshots
from conversations.context import transcript
from conversations.errors import Invalid
from conversations.exchange.exports import as_json
from conversations.exchange.imports import import_conversations
from conversations.exchange.markdown import as_markdown
from conversations.instructions import goals, ledger, ledger_entries
from conversations.memory import message_index, recall
from conversations.messages.protection import protect
from conversations.models import Conversation, Message, ModelProfile, User
from conversations.requests import next_request, usage
from conversations.turns import forks
from tests.conftest import real_conversation
from tests.conversations.exports import chatgpt, claude, wrote
from tests.conversations.exports import told as told_by
from tests.conversations.pages import Pages, one_line

pytestmark = [pytest.mark.django_db, pytest.mark.once]

ORDER = ("created_at",)
EXTRACTIVE = {"summariser": "extractive", "min_messages": 1}


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def profile() -> ModelProfile:
    return ModelProfile.objects.create(
        name="small", model_id="small", base_url="http://127.0.0.1:9/v1", window=16_000, token_correction=1.0
    )


@pytest.fixture
def talk(ada: User, profile: ModelProfile) -> Conversation:
    """Twelve messages of which three summaries stand for seven: one was kept and condensed late, two are kept."""
    row = talk_of(ada, profile, 12)
    ids = list(messages(row).values_list("pk", flat=True))
    for at in (1, 4):
        protect(row, ids[at], on=True)
    condense(row, ids[2])
    protect(row, ids[1], on=False)
    condense(row, ids[5])
    protect(row, ids[0], on=True)
    condense(row, ids[8])
    return row


def talk_of(user: User, model: ModelProfile, count: int) -> Conversation:
    row = Conversation.objects.create(owner=user, model=model, title="Ports", policy=EXTRACTIVE, rules=["Never guess."])
    start = datetime(2026, 1, 5, 9, tzinfo=UTC)
    for at in range(count):
        content = f"Message {at}: the port of service {at} is {5400 + at}, in config/service_{at}.toml. " * 12
        row.messages.create(
            role=("user", "assistant")[at % 2],
            content=content,
            token_count=transcript.message_tokens(content),
            created_at=start + timedelta(minutes=at),
        )
    return row


def messages(row: Conversation) -> Any:
    return Message.objects.filter(conversation=row).order_by(*ORDER)


def condense(row: Conversation, up_to: object) -> Compaction:
    claimed = lease.claim(row.pk, trigger="manual", steering=Steering(up_to=str(up_to)))
    async_to_sync(compaction.run)(claimed.pk)
    row.refresh_from_db()
    return Compaction.objects.get(pk=claimed.pk)


def again(user: User, row: Conversation) -> Conversation:
    (back,) = import_conversations(user, json.dumps(exported(row)).encode())
    message_index.catch_up(seconds=60)  # a request before recalls of what is indexed by then
    return Conversation.objects.get(pk=back.pk)


def exported(row: Conversation) -> dict[str, Any]:
    return as_json(Conversation.objects.select_related("model").get(pk=row.pk))


def told(row: Conversation) -> dict[str, Any]:
    """An export, with messages named by their place, without its ledger."""
    data = exported(row)
    names = {entry["id"]: at for at, entry in enumerate(data["messages"]) if "id" in entry}
    text = json.dumps(data)
    for name, at in names.items():
        text = text.replace(name, f"message {at}")
    known: dict[str, Any] = json.loads(text)
    del known["conversation"]["id"], known["totals"]["compressions"], known["ledger"]
    return known


def require_same(row: Conversation, back: Conversation) -> None:
    """The import is the same but for its rules, which are noted, and in force again once its person says so."""
    assert back.rules == [] and told(back)["conversation"] | {"rules": row.rules} == told(row)["conversation"]
    put_in_force(back)
    assert told(back) == told(row)
    assert next_request.preview(back) == next_request.preview(row)
    digests = [checkpoint.digest for checkpoint in active_checkpoints(back.pk)]
    assert digests == [checkpoint.digest for checkpoint in active_checkpoints(row.pk)]
    for checkpoint in Checkpoint.objects.filter(conversation=back):
        assert checkpoint.digest == extend_digest("", transcript.between(back.pk, None, checkpoint.last_message_at))


def put_in_force(row: Conversation) -> None:
    """What was in force where the conversation was exported is in force again, at one press each."""
    for entry in ledger_entries.current(row.pk).filter(state="noted").order_by("decided_at"):
        ledger.choose(row, entry.pk, state="in_force")


def require_whole(row: Conversation) -> None:
    """I1: what stands before the cut and is not sent is in a summary; the rest is sent, in order."""
    sent = "\n".join(str(message["content"]) for message in next_request.preview(row).messages)
    ends = active_checkpoints(row.pk)
    for at, message in enumerate(messages(row)):
        in_force = row.compressed_at and message.created_at <= row.compressed_at
        assert (message.content in sent) == (not in_force or str(message.pk) in row.verbatim_ids), at
        assert not in_force or message.created_at <= ends[-1].last_at


def test_a_compressed_conversation_comes_back_as_it_was(ada: User, talk: Conversation) -> None:
    goals.set_goal(talk, description="Move the ports", progress=Progress((Step("list them", "completed", ""),)))
    assert Checkpoint.objects.filter(conversation=talk, active=True).exclude(stragglers=[]).exists()
    assert len(talk.verbatim_ids) == 2
    talk.refresh_from_db()
    back = again(ada, talk)
    require_same(talk, back)
    require_whole(back)
    assert back.goal_text == talk.goal_text != ""
    assert (back.created_at, back.updated_at) == (talk.created_at, talk.updated_at)


@pytest.mark.parametrize("name", ["locomo/26.json", "swe/marshmallow-1867.json", "swe/ctf-timecapsule.json"])
def test_a_real_conversation_that_was_compressed_several_times_comes_back(
    ada: User, profile: ModelProfile, name: str
) -> None:
    (row,) = import_conversations(ada, json.dumps(real_conversation(name)).encode())
    Conversation.objects.filter(pk=row.pk).update(policy=EXTRACTIVE)
    ids = list(messages(row).values_list("pk", flat=True))
    kept = ids[0]
    for at in (len(ids) * share // 10 for share in (2, 4, 6, 8)):
        protect(row, kept, on=False)  # is condensed late
        kept = ids[at - 1]
        protect(row, kept, on=True)
        assert condense(row, ids[at]).status == "succeeded"
    protect(row, ids[0], on=True)
    assert len(active_checkpoints(row.pk)) > 1
    back = again(ada, row)
    require_same(row, back)
    require_same(back, again(ada, back))


def test_an_import_takes_the_tokens_that_its_conversation_took_recalled_passages_included(
    ada: User, talk: Conversation
) -> None:
    requests, back = [], again(ada, talk)
    put_in_force(back)
    for row in (talk, back):
        content = "Which port has service 2?"
        row.messages.create(
            role="user", content=content, token_count=transcript.message_tokens(content), created_at=timezone.now()
        )
        message_index.catch_up(seconds=60)
        loaded = recall.load_for_request(row.pk)
        assert loaded.recalled and "Message 2:" in str(loaded.recalled.message["content"])
        requests.append(usage.usage_of(loaded))
    assert requests[0] == requests[1]


def test_undoing_it_leads_to_the_uncompressed_conversation(ada: User, talk: Conversation) -> None:
    back = again(ada, talk)
    as_it_came = next_request.preview(back)
    snapshots.rollback(back)
    assert (back.compressed_at, back.compressed_context, back.verbatim_ids) == (None, None, [])
    require_whole(back)
    recovery = Snapshot.objects.get(conversation=back, purpose=Snapshot.Purpose.RECOVERY)
    snapshots.rollback(back, snapshot_id=recovery.pk)
    assert next_request.preview(back) == as_it_came


def test_it_is_compressed_on_edited_and_forked_as_any_other(ada: User, talk: Conversation) -> None:
    back = again(ada, talk)
    newest = active_checkpoints(back.pk)[-1].number
    text = "## Summary\nPorts.\n## Decisions\n## Files\n## State\n## Context\n"
    edit_summary.edit(back, number=newest, text=text)
    ids = list(messages(back).values_list("pk", flat=True))
    assert condense(back, ids[10]).status == "succeeded"
    require_whole(back)
    copy_of = forks.fork(back, ids[11])
    assert next_request.preview(copy_of).messages == next_request.preview(back).messages
    snapshots.rollback(back)
    assert "Ports." in str(back.compressed_context)


def test_one_compaction_stands_for_the_state_and_says_what_it_is(ada: User, talk: Conversation) -> None:
    done = Compaction.objects.filter(conversation=talk).order_by("-created_at").first()
    assert done is not None
    back = again(ada, talk)
    row = Compaction.objects.get(conversation=back)
    assert (row.trigger, row.status, row.strategy, row.summariser) == (
        "manual",
        "succeeded",
        "checkpoints",
        "extractive",
    )
    assert (row.messages_condensed, row.post_tokens) == (7, back.compressed_tokens)
    kept = messages(back).filter(pk__in=back.verbatim_ids)
    before_cut = messages(back).filter(created_at__lte=back.compressed_at).exclude(pk__in=[m.pk for m in kept])
    assert row.pre_tokens == sum(before_cut.values_list("token_count", flat=True))
    assert (row.prompt_tokens, row.completion_tokens, row.cost_usd, row.duration_ms) == (0, 0, None, None)
    assert row.created_at == done.finished_at, "an import is no compaction that was asked for now"
    assert "- Compressions: 1" in as_markdown(back)


def test_results_that_were_left_out_stay_out(ada: User, profile: ModelProfile) -> None:
    ModelProfile.objects.update(window=3_000)
    (row,) = import_conversations(ada, json.dumps(real_conversation("swe/marshmallow-1867.json")).encode())
    assert emergency.elide(transcript.load(row.pk))
    row.refresh_from_db()
    assert row.elided
    back = again(ada, row)
    require_same(row, back)
    assert sorted(back.elided.values()) == sorted(row.elided.values())
    snapshots.rollback(back)
    assert not back.elided


def test_a_site_that_cuts_results_elsewhere_takes_the_same_file(
    ada: User, profile: ModelProfile, settings: Any
) -> None:
    (row,) = import_conversations(ada, json.dumps(real_conversation("swe/marshmallow-1867.json")).encode())
    Conversation.objects.filter(pk=row.pk).update(policy=EXTRACTIVE)
    condense(row, messages(row)[8].pk)
    data = json.dumps(exported(row)).encode()
    settings.TOOL_RESULT_MAX_CHARS = 50
    (back,) = import_conversations(ada, data)
    (checkpoint,) = active_checkpoints(back.pk)
    assert checkpoint.digest == extend_digest("", transcript.between(back.pk, None, checkpoint.last_at))
    assert checkpoint.digest != active_checkpoints(row.pk)[0].digest


def test_an_uncompressed_conversation_has_no_compaction(ada: User, profile: ModelProfile) -> None:
    back = again(ada, talk_of(ada, profile, 3))
    assert not Compaction.objects.exists()
    assert (back.compressed_at, back.compression_version) == (None, 0)


def test_a_file_of_version_1_begins_uncompressed(ada: User, talk: Conversation) -> None:
    data = exported(talk) | {"version": 1}
    (back,) = import_conversations(ada, json.dumps(data).encode())
    assert back.compressed_at is None
    assert messages(back).count() == 12
    assert not Compaction.objects.filter(conversation=back).exists()


Change = Callable[[dict[str, Any]], Any]


def put(path: str, value: object) -> Change:
    def change(data: dict[str, Any]) -> None:
        *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        at: Any = data
        for part in way:
            at = at[part]
        at[last] = value(at[last]) if callable(value) else value

    return change


def from_message(path: str, number: int) -> Change:
    return lambda data: put(path, data["messages"][number]["id"])(data)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (put("messages.0.content", "other words"), "checkpoints[0].digest: is not that of the messages"),
        (put("messages.8.content", "other words"), "checkpoints[2].digest: is not that of the messages"),
        (put("checkpoints.1.digest", "0" * 64), "checkpoints[1].digest: is not that of the messages"),
        (put("conversation.compressed_at", "2031-01-01T00:00:00Z"), "conversation.compressed_at: is beyond the last"),
        (put("conversation.compressed_at", None), "conversation.compressed_at: is not the date"),
        (put("conversation.compressed_at", "2026-01-05T09:07:00Z"), "conversation.compressed_at: is not the date"),
        (put("checkpoints", []), "conversation.compressed_at: is not the date"),
        (put("checkpoints", lambda rows: [*rows, rows[-1]]), "checkpoints[3]: covers messages out of order"),
        (put("checkpoints", lambda rows: rows[::-1]), "checkpoints[1]: covers messages out of order"),
        (from_message("checkpoints.0.first_message", 3), "checkpoints[0]: covers messages out of order"),
        (from_message("checkpoints.1.first_message", 1), "checkpoints[1]: covers messages out of order"),
        (from_message("checkpoints.2.first_message", 7), "checkpoints[2]: leaves a gap: the message "),
        (from_message("checkpoints.1.first_message", 5), "checkpoints[1]: leaves a gap: the message "),
        (put("checkpoints.0.first_message", "x"), "checkpoints[0].first_message: is no message of this file"),
        (put("checkpoints.1.stragglers", ["x"]), "checkpoints[1].stragglers[0]: is no message of this file"),
        (from_message("checkpoints.1.stragglers.0", 9), "checkpoints[1].stragglers[0]: stands after the end"),
        (put("checkpoints.1.number", lambda number: number - 1), "checkpoints: the number "),
        (put("checkpoints.1.number", 0), "checkpoints[1].number: must be a whole number from 1"),
        (put("checkpoints.1.level", 4), "checkpoints[1].level: must be a whole number from 1 to 3"),
        (put("checkpoints.1.age", True), "checkpoints[1].age: must be a whole number"),
        (put("checkpoints.1.birth_tokens", 10**12), "checkpoints[1].birth_tokens: must be a whole number"),
        (put("checkpoints.1.summary", " "), "checkpoints[1].summary: must not be empty"),
        (put("checkpoints.1.summary", "port 5433 " * 9_000), "checkpoints: the summaries take "),
        (put("compression", 7), "compression: must be an object"),
        (put("compression.strategy", "magic"), "compression.strategy: must be one of"),
        (put("messages.9.is_kept", True), "is_kept: stands after the cut"),
        (put("messages.9.is_elided", True), "is_elided: has no result of a tool"),
        (put("messages.9.is_elided", "yes"), "messages[9].is_elided: must be true or false"),
        (lambda data: data["messages"][3].update(content="", status="stopped"), "says nothing: no summary"),
    ],
)
def test_a_state_that_does_not_fit_the_messages_is_refused(
    ada: User, talk: Conversation, change: Change, place: str
) -> None:
    data = copy.deepcopy(exported(talk))
    change(data)
    with pytest.raises(Invalid) as refused:
        import_conversations(ada, json.dumps(data).encode())
    assert place in refused.value.message
    assert Conversation.objects.count() == 1


def test_a_summary_that_does_not_fit_is_named_by_its_place_in_a_list(ada: User, talk: Conversation) -> None:
    data = exported(talk)
    data["checkpoints"][2]["summary"] = "port 5433 " * 9_000
    other = {"messages": [{"role": "user", "content": "hi"}]}
    imported = import_conversations(ada, json.dumps([other, data]).encode())
    assert [one.reason.partition(" take ")[0] for one in imported.unread] == ["checkpoints: the summaries"]
    assert Conversation.objects.count() == 2


ACTS = st.lists(
    st.tuples(st.sampled_from(["condense", "condense", "protect", "release", "undo"]), st.integers(0, 13)),
    min_size=2,
    max_size=9,
)


@pytest.mark.parametrize("strategy", ["checkpoints", pytest.param("rolling", marks=pytest.mark.long)])
@hypothesis_settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(acts=ACTS)
def test_whatever_was_done_to_a_conversation_it_comes_back(
    ada: User, profile: ModelProfile, strategy: str, acts: list[tuple[str, int]]
) -> None:
    row = talk_of(ada, profile, 14)
    Conversation.objects.filter(pk=row.pk).update(policy=EXTRACTIVE | {"strategy": strategy})
    ids = list(messages(row).values_list("pk", flat=True))
    for act, at in acts:
        match act:
            case "condense":
                condense(row, ids[at])
            case "undo" if snapshots.in_effect(row.pk).exists():
                snapshots.rollback(row)
            case "protect" | "release":
                protect(row, ids[at], on=act == "protect")
    row.refresh_from_db()
    back = again(ada, row)
    require_same(row, back)
    require_whole(back)


def test_the_page_shows_what_came_in_compressed(ada: User, talk: Conversation) -> None:
    back = again(ada, talk)
    pages = Pages(ada)
    assert "<b>7 messages compacted</b>" in one_line(pages.get("chat", back.pk).content.decode())
    row = Compaction.objects.get(conversation=back)
    assert "It came in with a file, compacted as it is." in pages.get("compaction", back.pk, row.pk).content.decode()


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4),
    st.sampled_from(["x" * 300, "\0", "\ud800", [], {}, [[]], [{}], {"": ""}, [None], -1, 1e308]),
)


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(found for key, one in inner for found in places(one, (*way, key)))]


def spoilt(value: Any, way: tuple[Any, ...], junk: Any) -> Any:
    if not way:
        return junk
    changed = copy.copy(value)
    changed[way[0]] = spoilt(value[way[0]], way[1:], junk)
    return changed


@pytest.mark.parametrize("site", ["chatgpt", "claude", "ours"])
@hypothesis_settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_junk_at_any_place_of_a_file_is_refused_or_read(
    ada: User, talk: Conversation, site: str, data: st.DataObject
) -> None:
    asset = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f"}
    files = {"attachments": [{"id": "f", "name": "a.png", "mime_type": "image/png"}]}
    used = {"type": "tool_use", "id": "t", "name": "look", "input": {"a": 1}}
    known = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "found"}]}
    attached = {"attachments": [{"file_name": "a", "extracted_content": "b"}], "files": [{"file_name": "c"}]}
    sound = {
        "chatgpt": lambda: chatgpt(
            told_by("user", "hi", asset, metadata=files),
            told_by("assistant", content={"content_type": "code", "language": "a", "text": "b"}, recipient="python"),
            told_by("tool", content={"content_type": "execution_output", "text": "1"}, name="python"),
        ),
        "claude": lambda: claude(wrote("1", "human", "hi", **attached), wrote("2", "assistant", "a", used, known)),
        "ours": lambda: exported(talk),
    }[site]()
    way = data.draw(st.sampled_from(places(sound)[1:]))
    payload = json.dumps([spoilt(sound, way, data.draw(JUNK))]).encode()
    with transaction.atomic():
        try:
            for row in import_conversations(ada, payload):
                next_request.preview(row)
        except Invalid as refused:
            assert refused.message.startswith("[0]"), refused.message
        transaction.set_rollback(True)
