"""A site of its own for a benchmark: a database in a temporary folder, an account and a model profile."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def site(**environment: str) -> Iterator[Path]:
    """Django set up on an empty, migrated database; user 1 and profile 1 are there. Gives the folder."""
    with tempfile.TemporaryDirectory(prefix="chatsite-bench-", ignore_cleanup_errors=True) as folder:
        os.environ |= {"DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "chatsite.settings"} | environment
        import django

        django.setup()
        from django.contrib.auth import get_user_model
        from django.core.management import call_command

        from conversations.models import ModelProfile

        call_command("migrate", verbosity=0)
        get_user_model().objects.create_user("bench")
        ModelProfile.objects.create(name="bench", model_id="bench", window=128_000, token_correction=1.05)
        yield Path(folder)
