"""Data folders of sites that are set up already: migrated, with alice, who has an API key and is signed in.

Setting one up takes five seconds of processes, half of them for the migrations. Copying it takes none.
`python -m tests.furnishing` sets up the site of the environment and prints her key and her session as JSON.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests.journeys.people import make
from tests.journeys.site import ROOT

DATABASE = "chatsite.sqlite3"
TOKEN = "0123456789abcdefghijklmnopqrstuv"
"""Of her forms."""


def furnish(folder: Path) -> tuple[str, str]:
    """Her key, and the cookies of her browser."""
    made, key, session = _made()
    shutil.copytree(made, folder, dirs_exist_ok=True)
    return key, f"sessionid={session}; csrftoken={TOKEN}"


def key_of_alice(environment: dict[str, str]) -> str:
    """Of a site with this environment, whose database has nobody yet."""
    key, _ = _set_up(environment)
    return key


def migrate(folder: Path) -> None:
    """Make the folder's database, migrated, with nobody in it."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(_migrated() / DATABASE, folder / DATABASE)


@cache
def _migrated() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="chatsite-migrated-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "chatsite.settings", "DATA_DIR": str(folder)}
    subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity=0"], cwd=ROOT, env=environment, check=True)
    return folder


@cache
def _made() -> tuple[Path, str, str]:
    folder = Path(tempfile.mkdtemp(prefix="chatsite-furnished-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder, *_set_up(os.environ | {"DJANGO_SETTINGS_MODULE": "chatsite.settings", "DATA_DIR": str(folder)})


def _set_up(environment: dict[str, str]) -> tuple[str, str]:
    command = [sys.executable, "-m", "tests.furnishing"]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE)
    key, session = json.loads(done.stdout)
    return key, session


def main() -> None:
    import django

    django.setup()
    from django.core.management import call_command

    from conversations import api_keys
    from conversations.models import User

    call_command("migrate", verbosity=0)
    [(name, session)] = make(["alice"]).items()
    print(json.dumps([api_keys.create_key(User.objects.get(username=name), "tests").plain, session]))


if __name__ == "__main__":
    main()
