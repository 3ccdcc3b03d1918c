"""The wheel has all that the site needs: it serves without a checkout, with its data in the person's own folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.llm_server import closed_port

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's content, as pip would install it beside the same libraries."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def command(installed: Path, home: Path, *arguments: str) -> tuple[list[str], dict[str, str]]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO", "DATA_DIR", "DATABASE"))}
    environment = own | {"PYTHONPATH": str(installed), "HOME": str(home), "XDG_DATA_HOME": str(home / "data")}
    return [sys.executable, "-P", "-m", "chatsite", *arguments], environment


def answer(url: str) -> bytes:
    until = time.monotonic() + 40
    while True:
        try:
            with urllib.request.urlopen(url, timeout=10) as response:
                return bytes(response.read())
        except urllib.error.URLError:
            assert time.monotonic() < until, "it does not answer"
            time.sleep(0.2)


@pytest.mark.long
def test_it_serves_pages_styles_and_fonts_and_keeps_data_in_the_person_s_folder(
    installed: Path, tmp_path: Path
) -> None:
    with closed_port() as url:
        port = url.rsplit(":", 1)[1].split("/")[0]
    line, environment = command(installed, tmp_path, "--port", port)
    with subprocess.Popen(
        line, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as site:
        try:
            assert b"first account" in answer(f"http://127.0.0.1:{port}/").lower()
            for name in ("chat.css", "fonts/stix-two-math.woff2", "vendor/mermaid.min.js", "composer.js"):
                assert len(answer(f"http://127.0.0.1:{port}/static/{name}")) > 1_000
        finally:
            site.send_signal(signal.SIGINT)
            said = site.communicate(timeout=30)[0].decode()
    assert "Traceback" not in said
    assert (tmp_path / "data" / "chatsite" / "chatsite.sqlite3").is_file()
    assert not (installed / "var").exists()


def test_a_command_of_its_name_is_carried_out(installed: Path, tmp_path: Path) -> None:
    line, environment = command(installed, tmp_path, "check")
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout
