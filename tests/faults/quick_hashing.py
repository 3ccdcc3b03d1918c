"""The site's settings with passwords that are compared at once, for tests that count attempts to sign in."""

from chatsite.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", "django.contrib.auth.hashers.PBKDF2PasswordHasher"]
