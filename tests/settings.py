"""The product's settings, with a database and a key that belong to the tests."""

import os
import tempfile

os.environ.setdefault("SECRET_KEY", "tests-only-0123456789-abcdefghijklmnopqrstuvwxyz-0123456789")
os.environ.setdefault("DATA_DIR", tempfile.mkdtemp(prefix="chatsite-tests-"))
for name in list(os.environ):
    if name.startswith(("OPENAI_", "ANTHROPIC_", "COMPRESSION_")):
        del os.environ[name]

from chatsite.settings import *  # noqa: E402, F403

WHITENOISE_AUTOREFRESH = True
"""Each test client has middleware of its own, which would list all static files."""
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

if DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":  # noqa: F405
    DATABASES["default"]["ENGINE"] = "tests.quick_postgresql"  # noqa: F405
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":  # noqa: F405
    # A file, because threads share it; not synced, because nothing here outlives the machine.
    DATABASES["default"]["ENGINE"] = "tests.quick_sqlite3"  # noqa: F405
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "test.sqlite3")}  # noqa: F405
    DATABASES["default"]["OPTIONS"]["init_command"] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"  # noqa: F405

# What is prepared in the background would be a row and a request more in every test that counts them; the tests of it,
# and the life of a conversation, switch it on.
COMPRESSION_AHEAD = False
AUTO_TITLES = False
# All tests of a minute are one person to the cache, which they share.
API_REQUESTS_PER_MINUTE = 1_000_000
