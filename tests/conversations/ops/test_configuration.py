"""A bad setting stops the start with a line that names it, and never prints a secret."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[3]


BAD = [
    ("COMPRESSION_THRESHOLD", "often"),
    ("DATABASE_URL", "nonsense:hunter2@x"),
    ("DATABASE_URL", "postgres://u:hunter2@127.0.0.1:9/x"),
    ("OPENAI_CONTEXT_WINDOW", "0"),
    ("OPENAI_BASE_URL", "localhost:11434"),
    ("COMPRESSION_STRATEGY", "magic"),
    ("DATA_DIR", "/proc/nowhere"),
    ("DATABASE_URL", "sqlite:////proc/nowhere/y.sqlite3"),
    ("MODEL_TIMEOUT_SECONDS", "nan"),
    ("SECRET_KEY", "hunter2"),
]
ALIKE = [
    ("COMPRESSION_THRESHOLD", "2"),
    ("COMPRESSION_SUMMARY_ROLE", "tool"),
    ("DATABASE_URL", "mysql://u:hunter2@h/x"),
    ("OPENAI_CONTEXT_WINDOW", "many"),
    ("ANTHROPIC_BASE_URL", "anthropic"),
    ("DEBUG", "maybe"),
    ("DATA_DIR", "/dev/null"),
    ("GATEWAY_IMAGE_URLS", "all"),
]
"""Read by the same code as one of `BAD`; each takes two seconds of a process."""


@pytest.mark.parametrize(("setting", "value"), [*BAD, *(pytest.param(*one, marks=pytest.mark.long) for one in ALIKE)])
def test_a_bad_setting_is_named_and_no_secret_is_printed(tmp_path: Path, setting: str, value: str) -> None:
    said = start(tmp_path, **{setting: value})
    assert said.returncode != 0
    assert setting in said.stderr
    assert "Traceback" not in said.stderr
    assert "hunter2" not in said.stderr + said.stdout


def test_a_port_that_is_taken_is_one_clear_line(tmp_path: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = start(tmp_path, port=taken.getsockname()[1])
    assert said.returncode != 0
    assert "cannot be used" in said.stderr
    assert "Traceback" not in said.stderr


def start(folder: Path, *, port: int = 58_999, **settings: str) -> subprocess.CompletedProcess[str]:
    ours = ("OPENAI_", "ANTHROPIC_", "COMPRESSION_", "DATA")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment = kept | {
        "DJANGO_SETTINGS_MODULE": "chatsite.settings",
        "DATA_DIR": str(folder),
        "SECRET_KEY": "k" * 50,
    }
    command = [sys.executable, str(ROOT / "manage.py"), "serve", "--port", str(port)]
    return subprocess.run(
        command, env=environment | settings, capture_output=True, text=True, timeout=30, cwd=ROOT, check=False
    )
