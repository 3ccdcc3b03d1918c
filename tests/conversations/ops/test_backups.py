from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from asgiref.sync import sync_to_async
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.test import override_settings

from compression.models import Compaction, KeptSummary, PromptTemplate
from conversations.compaction import compaction
from conversations.instructions import goals
from conversations.instructions.conversation_settings import change
from conversations.models import (
    AgentRun,
    AgentStep,
    ApiKey,
    Attachment,
    Conversation,
    Errand,
    Folding,
    GatewayCall,
    GroupBudget,
    HeldResponse,
    Invitation,
    Link,
    Message,
    ModelProfile,
    Paste,
    Preference,
    Project,
    ProjectMember,
    QueuedMessage,
    SavedPrompt,
    ShadowComparison,
    Spending,
    ToolCall,
    ToolServer,
    User,
    WholeReading,
    Wording,
)
from conversations.models.encrypted import encrypt
from conversations.ops import backups
from conversations.ops.backups import file_format
from conversations.turns import turn
from tests.conversations.chat import START, Chat, fill

ROOT = Path(__file__).resolve().parents[3]
LEFT_OUT = {
    *("admin.logentry", "auth.permission", "contenttypes.contenttype", "sessions.session"),
    *("account.emailconfirmation", "socialaccount.socialapp", "socialaccount.socialtoken"),
}
CONVERSATION = "conversations.conversation"
Lines = list[Any]


def everything() -> dict[str, list[dict[str, Any]]]:
    """Every field of every row, the secrets as they lie in the database."""
    found = {}
    for model in apps.get_models(include_auto_created=True):
        if model._meta.app_label not in ("axes", "usersessions") and model._meta.label_lower not in LEFT_OUT:
            columns = [field.attname for field in model._meta.concrete_fields if field.name != "permission"]
            named = ["permission__codename"] if len(columns) < len(model._meta.concrete_fields) else []
            found[model._meta.label_lower] = list(model._base_manager.order_by("pk").values(*columns, *named))
    with connection.cursor() as cursor:
        cursor.execute("SELECT api_key FROM conversations_modelprofile ORDER BY id")
        found["secrets"] = cursor.fetchall()
        cursor.execute("SELECT environment, headers FROM conversations_toolserver ORDER BY id")
        found["secrets"] += cursor.fetchall()
    return found


def people(user: User, conversation: Conversation) -> None:
    """Rows of the tables that chatting alone does not fill."""
    group = Group.objects.create(name="readers")
    group.permissions.add(Permission.objects.get(codename="view_message"))
    user.groups.add(group)
    user.user_permissions.add(Permission.objects.get(codename="delete_compaction"))
    key, _ = ApiKey.make(user, "script")
    Errand.objects.create(owner=user, model="scripted", prompt_tokens=9, cost_usd="0.000001")
    Folding.objects.create(owner=user, digest="d", expires_at=START)
    GatewayCall.objects.create(owner=user, key=key, conversation=conversation, cost_usd="0.000123")
    Wording.objects.create(conversation=conversation, digest="d", text="You are …")
    PromptTemplate.objects.create(mode="developer", text="Say it shortly.")
    KeptSummary.objects.create(owner=user, conversation=conversation, key="k", text='Ünïcode 🦊 \u2028 \\ "')
    message = Message.objects.order_by("created_at").first()
    call = ToolCall.objects.create(
        message=message, call_id="1", name="ls", arguments="{}", created_at=START, status="failed", duration_ms=7
    )
    thread = Conversation.objects.create(owner=user, kind="executor", parent=conversation, uses_tools=False)
    run = AgentRun.objects.create(conversation=conversation, thread=thread, task="Count", status="waiting", turns=2)
    told = thread.messages.create(role="user", content="Count", created_at=START)
    AgentStep.objects.create(run=run, number=1, kind="assignment", message=told, call=call)
    ToolServer.objects.create(name="time", command="serve", environment="TOKEN=hush", headers="", tools=[{"name": "x"}])
    Paste.objects.create(message=message, number=1, start=0, length=3)
    QueuedMessage.objects.create(conversation=conversation, content="Next?", shown="Next?", pastes=[[1, 0, 4]])
    Preference.objects.create(user=user, theme="dark")
    conversation.project = Project.objects.create(owner=user, name="Ports", instructions="Times are UTC.")
    ProjectMember.objects.create(project=conversation.project, user=user)
    conversation.save(update_fields=["project"])
    Link.objects.create(conversation=conversation, since=START, up_to=START, opened=2)
    WholeReading.objects.create(
        conversation=conversation,
        name="a.pdf",
        question="?",
        files=[],
        part_tokens=9,
        note_tokens=9,
        total=1,
        notes=["x"],
    )
    EmailAddress.objects.create(user=user, email="alice@example.org", verified=True)
    SocialAccount.objects.create(user=user, provider="sso", uid="1", last_login=START, date_joined=START)
    Authenticator.objects.create(user=user, type="totp", data={"secret": encrypt("s")}, created_at=START)
    ModelProfile.objects.get().groups.add(group)
    GroupBudget.objects.create(group=group, monthly_tokens=5_000_000_000, shared_usd="2500.00")
    Spending.objects.create(user=user, key=key, month="2026-11-01", tokens=9, usd="0.000001")
    Invitation.objects.create(note="Bob", digest="d", made_by=user)
    HeldResponse.objects.create(id=uuid4(), owner=user, before=[], input="[]", output="[]")
    SavedPrompt.objects.create(owner=user, name="Translate", text="Into {{language}}:")
    ShadowComparison.objects.create(
        reply=message,
        compaction=Compaction.objects.first(),
        model="scripted",
        agreement=0.7,
        sent_tokens=9,
        full_tokens=99,
    )
    Attachment.objects.create(
        owner=user, conversation=conversation, message=message, kind="image", name="a.png", media_type="image/png",
        size=4, digest="d", tokens=1_000, data=b"\x89PNG",
    )  # fmt: skip
    ModelProfile.objects.update(price_input="2.5000", parameters_billion=0.1, token_correction=1 / 3)
    goals.set_goal(conversation, description="Ship it")
    change(conversation, rules=["Never on Fridays."])


@pytest.fixture
def site(conversation: Conversation, user: User) -> Conversation:
    """A site with a row of every kind at least."""
    fill(conversation, 20, protected=(3,))
    call_command("compact", str(conversation.pk), stdout=io.StringIO())
    people(user, conversation)
    return conversation


@pytest.fixture
def file(site: Conversation, tmp_path: Path) -> Path:
    path = tmp_path / "site.backup"
    call_command("backup", str(path))
    return path


def read(path: Path) -> Lines:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def write(path: Path, values: Lines) -> None:
    """A file whose last line fits the others, whatever they are."""
    body = b"".join(json.dumps(value).encode() + b"\n" for value in values[:-1])
    trailer = values[-1] | {"sha256": hashlib.sha256(body).hexdigest()}
    path.write_bytes(gzip.compress(body + json.dumps(trailer).encode() + b"\n"))


def rows_of(values: Lines, label: str) -> list[dict[str, Any]]:
    heads = [index for index, value in enumerate(values) if isinstance(value, dict) and "table" in value]
    start = next(index for index in heads if values[index]["table"] == label)
    rows = values[start + 1 : start + 1 + values[0]["counts"][label]]
    return [dict(zip(values[start]["fields"], row, strict=True)) for row in rows]


def test_every_table_is_in_the_file_and_has_a_row_here(file: Path) -> None:
    counts = read(file)[0]["counts"]
    assert set(counts) == set(everything()) - {"secrets"}
    assert all(counts.values())


def test_an_emptied_database_is_restored_field_by_field(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = everything()
    call_command("flush", interactive=False, verbosity=0)
    ModelProfile.objects.create(name="of the environment", from_environment=True)
    call_command("restore", str(file))
    assert everything() == before
    out = capsys.readouterr().out
    assert "1 users, 2 conversations, 21 messages" in out
    assert "SECRET_KEY" not in out


def test_new_rows_get_numbers_of_their_own_after_a_restore(file: Path, user: User) -> None:
    call_command("flush", interactive=False, verbosity=0)
    call_command("restore", str(file))
    assert User.objects.create_user("bob").pk > user.pk
    ApiKey.make(user, "another")
    ToolCall.objects.create(message=Message.objects.latest("created_at"), call_id="2", created_at=START)
    Group.objects.create(name="writers").permissions.add(Permission.objects.latest("pk"))


def test_replace_deletes_what_was_made_since(file: Path, user: User) -> None:
    before = everything()
    carol = User.objects.create_user("carol")
    LogEntry.objects.create(user=carol, object_repr="carol", action_flag=1)
    Conversation.objects.create(owner=carol)
    Message.objects.update(content="changed")
    with pytest.raises(CommandError, match="2 users, 3 conversations, 1 groups, 1 models added by hand, 1 servers of"):
        call_command("restore", str(file))
    call_command("restore", str(file), replace=True)
    assert everything() == before


async def test_the_chat_goes_on_after_a_restore_and_its_compaction_is_undone(chat: Chat, tmp_path: Path) -> None:
    await sync_to_async(fill)(chat.conversation, 20)
    before = await Conversation.objects.aget()
    chat.llm.enqueue_summary("## Summary\nPorts.\n\n## State\n- Done: nothing")
    row = await chat.compact()
    await sync_to_async(call_command)("backup", str(tmp_path / "b"))
    await chat.say("this comes after the backup")
    await sync_to_async(call_command)("restore", str(tmp_path / "b"), replace=True)
    await chat.refresh()
    assert chat.conversation.is_compressed
    assert (await chat.say("and on")).status == "complete"
    await chat.check()
    await sync_to_async(compaction.undo)(chat.conversation, row.pk)
    await chat.refresh()
    assert (chat.conversation.compressed_context, chat.conversation.compressed_at) == (before.compressed_context, None)
    assert (await chat.say("all of it")).status == "complete"
    await chat.check()


def test_what_was_running_comes_back_as_ended(site: Conversation, tmp_path: Path) -> None:
    Message.objects.create(conversation=site, role="assistant", status="streaming", created_at=datetime.now(UTC))
    active = Compaction.objects.create(conversation=site, trigger="auto", status="running")
    ToolCall.objects.update(status="running")
    AgentRun.objects.update(status="running")
    call_command("backup", str(tmp_path / "b"))
    call_command("restore", str(tmp_path / "b"), replace=True)
    assert Message.objects.latest("created_at").status == "interrupted"
    active.refresh_from_db()
    for row in (active, ToolCall.objects.get(), AgentRun.objects.get()):
        assert (row.status, bool(row.error)) == ("failed", True)


def test_secrets_are_never_in_plain_text_and_need_their_secret_key(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ModelProfile.objects.get().api_key == "sk-test"
    assert ToolServer.objects.get().environment == "TOKEN=hush"
    assert not re.search(rb"sk-test|hush", gzip.decompress(file.read_bytes()))
    with override_settings(SECRET_KEY="another" * 8):
        call_command("restore", str(file), replace=True)
    said = "The present SECRET_KEY cannot decrypt the secrets of: scripted, time, the two-step sign-in of alice."
    assert said in capsys.readouterr().out
    assert (ModelProfile.objects.get().api_key, ToolServer.objects.get().environment) == ("sk-test", "TOKEN=hush")


def test_the_file_is_private_and_never_overwritten_unasked(file: Path) -> None:
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.iterdir()) == [file]
    with pytest.raises(CommandError, match="there already"):
        call_command("backup", str(file))
    User.objects.create_user("dave")
    call_command("backup", str(file), force=True)
    assert len(rows_of(read(file), "conversations.user")) == 2
    (part := file.with_name(file.name + ".part")).touch()
    with pytest.raises(CommandError, match="another backup is writing it"):
        call_command("backup", str(file), force=True)
    part.unlink()
    with pytest.raises(CommandError, match="No backup was made"):
        call_command("backup", str(file.parent / "nowhere" / "b"))
    with pytest.raises(CommandError, match="there already"):
        call_command("backup", "/dev/null", force=True)


def test_a_backup_that_fails_leaves_the_earlier_one(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.read_bytes()
    monkeypatch.setattr(file_format, "MAX_LINE", 2_000)
    Message.objects.update(content="x" * 3_000)
    with pytest.raises(CommandError, match="A row takes"):
        call_command("backup", str(file), force=True)
    assert (file.read_bytes(), list(file.parent.iterdir())) == (before, [file])


def swapped(number: int) -> Callable[[bytes], bytes]:
    return lambda data: data[: (at := len(data) * number // 10)] + bytes([data[at] ^ 1]) + data[at + 1 :]


UNREADABLE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "not gzip": lambda data: b"SQLite format 3\0" * 100,
    "another gzip": lambda data: gzip.compress(b"hello\n"),
    "a list": lambda data: gzip.compress(b"[1]\n[2]\n"),
    "truncated": lambda data: data[: len(data) // 2],
    "without its last byte": lambda data: data[:-1],
    "without its last line": lambda data: gzip.compress(b"".join(gzip.decompress(data).splitlines(True)[:-1])),
    "with another line": lambda data: data + gzip.compress(b"[]\n"),
    "another word": lambda data: gzip.compress(gzip.decompress(data).replace(b"Message 7 ", b"Message 8 ")),
    "bomb": lambda data: gzip.compress(b" " * 200_000_000, 1),
    "nested": lambda data: gzip.compress(b"[" * 200_000 + b"\n[]\n"),
    "a number": lambda data: gzip.compress(b"9" * 10_000 + b"\n[]\n"),
    **{f"a bit at {number} tenths": swapped(number) for number in range(1, 10)},
}


@pytest.mark.parametrize("change", UNREADABLE.values(), ids=UNREADABLE)
def test_a_damaged_file_is_refused_in_one_line(file: Path, change: Callable[[bytes], bytes]) -> None:
    file.write_bytes(change(file.read_bytes()))
    refuses(file, "damaged|not a backup")


def refuses(file: Path, reason: str) -> None:
    before = everything()
    with pytest.raises(CommandError, match=reason) as refusal:
        call_command("restore", str(file), replace=True)
    assert "\n" not in str(refusal.value)
    assert everything() == before


def _version(values: Lines) -> None:
    values[0]["version"] = 2


def _migrations(values: Lines) -> None:
    values[0]["migrations"]["conversations"][-1] = "9999_of_the_future"


def _earlier_migrations(values: Lines) -> None:
    values[0]["migrations"]["auth"].remove("0011_update_proxy_permissions")


def _counts(values: Lines) -> None:
    values[0]["counts"]["conversations.user"] = 2


def _index(values: Lines, label: str) -> int:
    return next(n for n, value in enumerate(values) if isinstance(value, dict) and value.get("table") == label)


def _same_id(values: Lines) -> None:
    first = _index(values, "conversations.message") + 1
    values[first + 1][0] = values[first][0]


def _orphan(values: Lines) -> None:
    first = _index(values, "conversations.message")
    values[first + 1][values[first]["fields"].index("conversation_id")] = "00000000-0000-7000-8000-000000000000"


def _date(values: Lines) -> None:
    first = _index(values, "conversations.message")
    values[first + 1][values[first]["fields"].index("created_at")] = "yesterday"


def _permission(values: Lines) -> None:
    values[_index(values, "auth.group_permissions") + 1][2] = ["auth", "user", "fly"]


def _table(values: Lines) -> None:
    values[_index(values, "conversations.message")]["fields"].reverse()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_version, "of version 2, and this chatsite reads version 1"),
        (_migrations, "with conversations.9999_of_the_future and without conversations.0"),
        (
            _earlier_migrations,
            "another version of chatsite, without auth.0011_update_proxy_permissions: restore",
        ),
        (_counts, "row 2 of conversations.user is not one"),
        (_same_id, "cannot be stored .*conversations_message"),
        (_orphan, "cannot be stored .*(?i:foreign key)"),
        (_date, "cannot be stored .*yesterday"),
        (_permission, "no permission"),
        (_table, "rows of conversations.message are not where"),
    ],
)
def test_a_whole_file_that_does_not_fit_is_refused(file: Path, change: Callable[[Lines], None], reason: str) -> None:
    values = read(file)
    change(values)
    write(file, values)
    refuses(file, reason)


def _without_head(values: Lines) -> None:
    """The file as the version before the migration would have made it."""
    values[0]["migrations"]["conversations"].remove("0003_held_response_head")
    table = _index(values, "conversations.heldresponse")
    place = values[table]["fields"].index("head")
    rows = values[table + 1 : table + 1 + values[0]["counts"]["conversations.heldresponse"]]
    for line in (values[table]["fields"], *rows):
        del line[place]


def _without_table(values: Lines) -> None:
    """As if the last migration had made the table too."""
    values[0]["migrations"]["conversations"].remove("0003_held_response_head")
    table = _index(values, "conversations.heldresponse")
    del values[table : table + 1 + values[0]["counts"].pop("conversations.heldresponse")]
    del values[-1]["end"]["conversations.heldresponse"]


@pytest.mark.parametrize(("change", "count"), [(_without_head, 1), (_without_table, 0)])
def test_a_backup_of_an_earlier_version_is_restored_with_the_defaults_of_what_is_new(
    file: Path, change: Callable[[Lines], None], count: int
) -> None:
    HeldResponse.objects.update(head="{}")
    before, values = everything(), read(file)
    change(values)
    write(file, values)
    call_command("restore", str(file), replace=True)
    assert list(HeldResponse.objects.values_list("head", flat=True)) == [""] * count
    label = HeldResponse._meta.label_lower
    assert {k: v for k, v in everything().items() if k != label} == {k: v for k, v in before.items() if k != label}


def test_fields_that_no_version_has_are_refused(file: Path) -> None:
    values = read(file)
    _without_head(values)
    values[_index(values, "conversations.heldresponse")]["fields"][-1] = "tail"
    write(file, values)
    refuses(file, "rows of conversations.heldresponse are not where they belong")


def test_an_outdated_database_is_neither_backed_up_nor_filled(file: Path) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE django_migrations SET app = 'gone' WHERE app = 'compression'")
    try:
        refuses(file, "manage.py migrate")
        with pytest.raises(CommandError, match=r"manage\.py migrate"):
            call_command("backup", str(file), force=True)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE django_migrations SET app = 'compression' WHERE app = 'gone'")


class Slow(io.BytesIO):
    """A disk so slow that, while the first rows are on their way to it, somebody else writes to the database."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self.meanwhile = [meanwhile]

    def write(self, data: Any) -> int:
        if self.getvalue() and self.meanwhile:
            in_a_thread(self.meanwhile.pop()).result(10)
        return super().write(data)


def in_a_thread(work: Callable[[], object]) -> Future[None]:
    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    pool = ThreadPoolExecutor(1)
    future = pool.submit(run)
    pool.shutdown(wait=False)
    return future


def test_what_is_written_meanwhile_is_not_held_up_and_not_in_the_file(site: Conversation, tmp_path: Path) -> None:
    long = Message.objects.create(conversation=site, content=os.urandom(500_000).hex(), created_at=datetime.now(UTC))

    def meanwhile() -> None:
        message = Message.objects.create(conversation=site, role="user", created_at=datetime.now(UTC))
        ToolCall.objects.create(message=message, call_id="late", created_at=message.created_at)
        ToolCall.objects.filter(call_id="1").update(message=message)
        Message.objects.filter(pk=long.pk).delete()

    before = everything()
    out = Slow(meanwhile)
    backups.to_stream(out)
    assert not out.meanwhile
    assert everything() != before
    backups.restore(io.BytesIO(out.getvalue()), replace=True)
    assert everything() == before


def keep_chatting(conversation: Conversation, stop: threading.Event) -> None:
    number = 0
    while not stop.is_set():
        turn.begin(conversation, content=f"Question {number} about port {6000 + number}. " + "pad " * 60)
        number += 1


def keep_compressing(conversation: Conversation, stop: threading.Event) -> None:
    while not stop.is_set():
        with contextlib.suppress(CommandError):
            call_command("compact", str(conversation.pk), stdout=io.StringIO())


@pytest.mark.long
def test_backups_made_while_others_chat_and_compress_hold_one_state_each(site: Conversation, tmp_path: Path) -> None:
    stop = threading.Event()
    at_work = [in_a_thread(partial(work, site, stop)) for work in (keep_chatting, keep_compressing)]
    paths: list[Path] = []
    sizes: list[tuple[int, int]] = []

    def grew() -> bool:
        return all(last > first for first, last in zip(sizes[0], sizes[-1], strict=True))

    limit = time.monotonic() + 30
    try:
        while len(paths) < 8 or (not grew() and time.monotonic() < limit):
            paths.append(tmp_path / f"{len(paths)}.backup")
            call_command("backup", str(paths[-1]))
            sizes.append(state_of(read(paths[-1])))
            stop.wait(0.2)
    finally:
        stop.set()
        for future in at_work:
            future.result(30)
    assert sizes == sorted(sizes)
    assert grew(), "nobody wrote meanwhile"
    for path in paths[-8:]:
        call_command("restore", str(path), replace=True)


def state_of(values: Lines) -> tuple[int, int]:
    """How many messages and checkpoints a file holds, once they are known to belong together."""
    messages, checkpoints = rows_of(values, "conversations.message"), rows_of(values, "compression.checkpoint")
    dates = {row["id"]: row["created_at"] for row in messages}
    for row in rows_of(values, "conversations.conversation"):
        active = [point for point in checkpoints if point["active"] and point["conversation_id"] == row["id"]]
        assert row["compressed_at"] == max((point["last_message_at"] for point in active), default=None)
        assert all(dates[point["last_message"]] == point["last_message_at"] for point in active)
    assert {row["conversation_id"] for row in messages} <= {row["id"] for row in rows_of(values, CONVERSATION)}
    assert {row["message_id"] for row in rows_of(values, "conversations.toolcall")} <= set(dates)
    return len(messages), len(checkpoints)


@pytest.mark.long
def test_memory_does_not_grow_with_the_number_of_rows(site: Conversation, tmp_path: Path) -> None:
    path = tmp_path / "b"
    peaks = []
    for count in (500, 5_000):
        fill(Conversation.objects.create(owner=site.owner), count)
        peaks.append((peak(partial(call_command, "backup", str(path), force=True)), peak(partial(restored, path))))
    for few, many in zip(*peaks, strict=True):
        assert many < few + 1_000_000, peaks


def restored(path: Path) -> None:
    call_command("restore", str(path), replace=True)


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.long
def test_a_site_moves_to_sqlite_and_back_by_commands(file: Path, tmp_path: Path) -> None:
    """On PostgreSQL this goes from one database to the other, twice."""
    before = everything()
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    environment |= {"DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "chatsite.settings"}

    def manage(*arguments: str) -> bytes:
        command = [sys.executable, str(ROOT / "manage.py"), *arguments]
        return subprocess.run(command, env=environment, check=True, capture_output=True).stdout

    manage("migrate")
    assert b"1 users, 2 conversations, 21 messages" in manage("restore", str(file))
    (returned := tmp_path / "returned").write_bytes(manage("backup", "-"))
    assert (tmp_path / "chatsite.sqlite3").exists()
    assert read(returned)[1:-1] == read(file)[1:-1]
    User.objects.all().delete()
    call_command("restore", str(returned), replace=True)
    assert everything() == before
