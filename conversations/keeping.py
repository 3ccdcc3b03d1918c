"""Files that hold what nobody else may read."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def begin(*places: Path) -> None:
    """What this process writes is its user's alone; so is from now on what lies in these folders and files."""
    os.umask(OTHERS)
    for place in places:
        _close(place)
        for folder, _, files in os.walk(place):
            _close(Path(folder))
            for name in files:
                _close(Path(folder) / name)


def read_or_make(path: Path) -> str:
    """The secret kept in `path`, made on the first start and readable by its owner alone."""
    if not path.exists():
        _make(path)
    return path.read_text().strip()


def _make(path: Path) -> None:
    # Written aside and linked into place, so that two first starts agree on one whole key.
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
    try:
        mode = path.lstat().st_mode
        if mode & OTHERS and not stat.S_ISLNK(mode):
            path.chmod(stat.S_IMODE(mode) & ~OTHERS)
    except OSError:
        pass  # another user's, or gone
