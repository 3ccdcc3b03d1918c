"""Keeps the site's files private to its user, and makes secrets on the first start."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_folder(folder: Path) -> None:
    """Make a folder, unless it is there; git ignores a new one, so that its keys are in no commit. Raises OSError."""
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n")


def make_private(*places: Path) -> None:
    """Make new files of this process, and the existing files and folders at `places`, private to their user."""
    os.umask(OTHERS)
    for place in places:
        _close(place)
        for folder, _, files in os.walk(place):
            _close(Path(folder))
            for name in files:
                _close(Path(folder) / name)


def read_or_make_secret(path: Path) -> str:
    """The secret in `path`; made on the first start, readable only by its owner."""
    if not path.exists():
        _make(path)
    return path.read_text().strip()


def _make(path: Path) -> None:
    # Write the secret to another file and link it into place, so that two simultaneous first starts share one key.
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(secrets.token_urlsafe(50))
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _close(path: Path) -> None:
    """Take all permissions of a file from others than its owner."""
    try:
        mode = path.lstat().st_mode
        if mode & OTHERS and not stat.S_ISLNK(mode):
            path.chmod(stat.S_IMODE(mode) & ~OTHERS)
    except OSError:
        pass  # the file belongs to another user or is gone
