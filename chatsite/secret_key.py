from __future__ import annotations

import os
import secrets
from pathlib import Path


def read_or_make(path: Path) -> str:
    """The key kept in `path`, made on the first start and readable by its owner alone."""
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
