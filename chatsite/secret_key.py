from __future__ import annotations

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def read_or_make(path: Path) -> str:
    """The key kept in `path`, made on the first start and readable by its owner alone."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path)
        return path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(f"DATA_DIR must be a folder that can be written: {path.parent}.") from error


def make(path: Path) -> None:
    if path.exists():
        return
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
