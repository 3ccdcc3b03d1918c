"""The app in a project of its own: the one of docs/compression.md, as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from compression.defaults import DEFAULTS, SITE_MODEL

pytestmark = pytest.mark.once
ROOT = Path(__file__).parents[2]
SETTINGS = """
SECRET_KEY = "of a test"
USE_TZ = True
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}}
"""
CHAT = """
import sys
from datetime import UTC, datetime, timedelta
from django.conf import settings
from chat.models import Conversation, Message
from compression.models import Checkpoint, Compaction, Snapshot

START = datetime(2026, 1, 1, tzinfo=UTC)
conversation = Conversation.objects.create()
def say(first, last):
    for n in range(first, last):
        Message.objects.create(
            conversation=conversation, role=("user", "assistant")[n % 2], created_at=START + n * timedelta(hours=1),
            content=f"Server {n} listens on port {5000 + n}. " + f"We spoke of word{n} at length. " * 12,
        )
def send():
    {steps}
    return messages

say(0, 20)
assert len(send()) == 20 and not Compaction.objects.exists()
say(20, 80)
settings.COMPRESSION_ENABLED = False
assert len(send()) == 80 and not Compaction.objects.exists()
del settings.COMPRESSION_ENABLED
sent = send()
assert sent[0]["role"] == "system" and "5001" in sent[0]["content"], sent[0]
assert sent[-1]["content"].startswith("Server 79") and len(sent) < 40
assert Message.objects.count() == 80
say(80, 160)
again = send()
assert "5001" in again[0]["content"] and "5090" in again[0]["content"]
assert again[-1]["content"].startswith("Server 159") and len(again) < 60
assert Compaction.objects.filter(status="succeeded").count() == Snapshot.objects.count() == 2
stored = Conversation.objects.get()
assert stored.compressed_at == Checkpoint.objects.filter(active=True).last().last_message_at
assert "django.contrib.sites" not in sys.modules and not any(name.startswith("conversations") for name in sys.modules)
conversation.delete()
assert not Checkpoint.objects.exists() and not Compaction.objects.exists()
print("whole")
"""


def run(folder: Path, *command: str, text: str = "") -> str:
    path = os.pathsep.join([str(folder), str(ROOT)])
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": path, "DJANGO_SETTINGS_MODULE": "settings"}
    done = subprocess.run(
        [sys.executable, "-m", "django", *command],
        cwd=folder,
        env=environment,
        input=text,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_project_of_its_own_compacts_what_it_stores(tmp_path: Path) -> None:
    settings, models, steps = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "compression.md").read_text(), re.S)
    (tmp_path / "settings.py").write_text(SETTINGS + settings)
    (tmp_path / "chat").mkdir()
    (tmp_path / "chat" / "__init__.py").touch()
    (tmp_path / "chat" / "models.py").write_text(models)
    run(tmp_path, "makemigrations", "chat")
    run(tmp_path, "makemigrations", "--check", "--dry-run")
    run(tmp_path, "check", "--fail-level", "ERROR")
    run(tmp_path, "migrate", "-v0")
    indented = "\n".join(f"    {line}" for line in steps.splitlines()).strip()
    (tmp_path / "talk.py").write_text(CHAT.replace("{steps}", indented))
    assert "whole" in run(tmp_path, "shell", "-v0", "-c", "import talk")


def test_the_sites_defaults_are_the_apps() -> None:
    code = "from django.conf import settings; from compression.defaults import DEFAULTS\n"
    code += "print({name: value for name, value in DEFAULTS.items() if getattr(settings, name, value) != value})"
    environment = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "chatsite.settings", "SECRET_KEY": "k" * 40}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "{}", done.stdout + done.stderr
    assert DEFAULTS["COMPRESSION_CONVERSATION_MODEL"] == SITE_MODEL
