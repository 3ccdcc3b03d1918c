"""What the page of figures takes, in milliseconds of CPU: `python -m benchmarks.figures`.

200,000 replies, 40,000 calls of the gateway and 10,000 compactions in 90 days; the first time, and again while what is
past is kept.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

from benchmarks.history import filled
from benchmarks.site import site

PERIODS = (7, 30, 90)


def main() -> None:
    with site(ALLOWED_HOSTS="testserver"):
        from django.contrib.auth import get_user_model
        from django.core.cache import cache
        from django.test import Client

        user = get_user_model().objects.get()
        user.is_staff = user.is_superuser = True
        user.save()
        filled(user, days=90, replies=200_000, compactions=10_000, until=datetime.now(UTC))
        client = Client()
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        client.get("/admin/analytics/?days=7")
        cache.clear()
        for days in PERIODS:
            first, again = (timed(client, f"/admin/analytics/?days={days}") for _ in range(2))
            print(f"{days} days: {first:.0f} ms the first time, {again:.0f} ms again")
        print(f"/usage/ of a person who did all of it: {timed(client, '/usage/'):.0f} ms")


def timed(client: object, path: str) -> float:
    began = time.process_time()
    response = client.get(path)  # type: ignore[attr-defined]
    assert response.status_code == 200
    return 1000 * (time.process_time() - began)


if __name__ == "__main__":
    main()
