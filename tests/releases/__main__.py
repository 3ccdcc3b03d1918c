"""Writes a database and a backup of this version, which tests of later versions upgrade and restore:
`python -m tests.releases`.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ROWS = """
from datetime import UTC, datetime, timedelta
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from compression.models import Checkpoint, Compaction
from conversations.models import ApiKey, Conversation, User
start = datetime(2026, 1, 5, 9, tzinfo=UTC)
alice = User.objects.create_superuser("alice", "alice@example.org", "correct horse battery")
bob = User.objects.create_user("bob", password="correct horse battery", is_staff=True)
group = Group.objects.create(name="supporters")
names = ["view_user", "change_user", "view_conversation"]
group.permissions.add(*Permission.objects.filter(codename__in=names))
bob.groups.add(group)
bob.user_permissions.add(Permission.objects.get(codename="add_user"))
user = ContentType.objects.get_for_model(User)
LogEntry.objects.create(user=alice, content_type=user, object_id=str(bob.pk), object_repr="bob", action_flag=1)
ApiKey.make(alice, "script")
chat = Conversation.objects.create(owner=alice, title="Ports", created_at=start)
said = [
    chat.messages.create(
        role="assistant" if n % 2 else "user", content=f"Message {n} says port {5000 + n}.", token_count=12,
        created_at=start + timedelta(minutes=n),
    )
    for n in range(6)
]
ends = {"first_message": said[0].pk, "last_message": said[3].pk}
run = Compaction.objects.create(
    conversation=chat, trigger="manual", status="succeeded", strategy="checkpoints", summariser="extractive",
    messages_condensed=4, created_at=start + timedelta(minutes=7), **ends,
)
chat.compressed_context = "## Summary\\n- You: Message 0 says port 5000."
chat.compressed_at = said[3].created_at
chat.save()
Checkpoint.objects.create(
    conversation=chat, compaction=run, number=1, level=1, summary=chat.compressed_context, token_count=15,
    original_tokens=48, last_message_at=chat.compressed_at, digest="d", **ends,
)
"""


def main() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "DATA_DIR": folder, "DATABASE_URL": "", "SECRET_KEY": "k" * 40}
        backup = HERE / f"{version}.backup"
        for *command, text in (("migrate", ""), ("shell", ROWS), ("backup", str(backup), "--force", "")):
            subprocess.run(
                [sys.executable, "manage.py", *command, "-v0"],
                cwd=ROOT,
                env=environment,
                input=text,
                text=True,
                check=True,
            )
        data = (Path(folder) / "chatsite.sqlite3").read_bytes()
    (HERE / f"{version}.sqlite3.gz").write_bytes(gzip.compress(data, mtime=0))


if __name__ == "__main__":
    main()
