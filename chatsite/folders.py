"""The folders of the site: its own files, and its data, in a checkout and where it is installed as a package."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_data_path

CHECKOUT = Path(__file__).resolve().parent.parent
INSIDE = Path(__file__).resolve().parent / "files"
"""The place of a wheel's templates, static files and lock of the built-in model."""


def files() -> Path:
    """The folder with `templates` and `static`."""
    return INSIDE if INSIDE.is_dir() else CHECKOUT


def data() -> Path:
    """The folder for the database and keys, unless DATA_DIR names one: `var` in a checkout, else the person's own."""
    return user_data_path("chatsite", appauthor=False) if INSIDE.is_dir() else CHECKOUT / "var"
