"""Settings with values that cannot work: each fault names its setting and what it takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conversations.checks import RANGES, check_settings
from tests.journeys.site import ROOT


def faults() -> list[str]:
    return [error.msg for error in check_settings()]


@pytest.mark.parametrize("name", RANGES)
def test_a_number_beyond_its_range_is_a_fault_that_names_the_range(settings: Any, name: str) -> None:
    least, most = RANGES[name]
    for value in (least, most):
        setattr(settings, name, value)
        assert not any(f"{name} must be" in fault for fault in faults())
    for value in (least - 1, most + 1, float("nan"), float("inf")):
        setattr(settings, name, value)
        assert f"{name} must be from {least:,} to {most:,}, not {value}." in faults()


@pytest.mark.parametrize(
    ("name", "value"),
    [("LEASE_SECONDS", 1e20), ("AUDIT_DAYS", 10**20), ("GATEWAY_RETRIES", -1), ("OPENAI_CONTEXT_WINDOW", 2**31)],
)
def test_a_number_that_fails_later_is_refused_at_the_start(settings: Any, name: str, value: float) -> None:
    setattr(settings, name, value)
    assert len(faults()) == 1 and faults()[0].startswith(f"{name} must be from ")


@pytest.mark.parametrize(
    ("name", "works", "fails"),
    [
        ("GATEWAY_DOCUMENTS", ["text", "pass"], ["", "yes"]),
        (
            "GATEWAY_CORS_ORIGINS",
            [["*"], ["null"], ["https://app.example.org", "http://localhost:3000"], ["app://obsidian.md"]],
            [["app.example.org"], ["https://app.example.org/"], ["https://"]],
        ),
        ("GATEWAY_PASS_THROUGH", [["text-embedding-*=gpt-4.1-mini"]], [["text-embedding-3-small"], ["=x"], ["x="]]),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", ["", "http://localhost:4318"], ["localhost:4318", "abc"]),
    ],
)
def test_a_value_that_would_do_nothing_is_a_fault(settings: Any, name: str, works: list[Any], fails: list[Any]) -> None:
    for value in works:
        setattr(settings, name, value)
        assert not faults()
    for value in fails:
        setattr(settings, name, value)
        assert len(faults()) == 1 and name in faults()[0]


def test_the_sender_of_mails_is_an_address(settings: Any) -> None:
    settings.MAILERS = {"default": {}}
    for sender in ("chat@example.org", "Chat <chat@example.org>"):
        settings.EMAIL_FROM = sender
        assert not faults()
    for sender in ("", "chat", "Chat <chat>"):
        settings.EMAIL_FROM = sender
        assert faults() == ["EMAIL_FROM must be an address, such as chat@example.org."]


def test_the_database_is_in_the_data_folder_whatever_characters_its_name_has(tmp_path: Path) -> None:
    folder = tmp_path / "a#b?c%20d e\tf"
    environment = {**os.environ, "DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "chatsite.settings"}
    environment.pop("DATABASE_URL", None)
    command = [sys.executable, "manage.py", "migrate", "-v0"]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (folder / "chatsite.sqlite3").stat().st_size > 100_000
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
