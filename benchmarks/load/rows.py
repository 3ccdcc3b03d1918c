"""What is stored before a load: `python -m benchmarks.load.rows CONVERSATIONS MESSAGES`, or `… rows again TEXT`.

Prints the cookie of a person who is signed in, then the ids of new conversations; or adds one message to each.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

TEXT = "Some **forty tokens** of talk about the weather, the ports that are open, and `what` is for lunch. " * 2


def main() -> None:
    import django

    django.setup()
    if sys.argv[1] == "again":
        add(sys.argv[2])
    else:
        print(*filled(int(sys.argv[1]), int(sys.argv[2])))


def filled(conversations: int, messages: int) -> list[Any]:
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.test import Client
    from django.utils import timezone

    from conversations.models import Conversation, Message, ModelProfile

    user = get_user_model().objects.create_user("load")
    ModelProfile.objects.create(name="load", model_id="load", window=128_000, base_url="http://127.0.0.1:9/v1")
    rows = Conversation.objects.bulk_create(
        Conversation(owner=user, title=f"Talk {number}") for number in range(conversations)
    )
    start = timezone.now() - timedelta(hours=1)
    Message.objects.bulk_create(
        (
            Message(
                conversation=row, role=("user", "assistant")[number % 2], content=f"{number} {TEXT}",
                created_at=start + timedelta(seconds=number), token_count=45,
            )
            for row in rows
            for number in range(messages)
        ),
        batch_size=2_000,
    )  # fmt: skip
    client = Client()
    client.force_login(user)
    return [client.cookies[settings.SESSION_COOKIE_NAME].value, *(row.pk for row in rows)]


def add(text: str) -> None:
    from django.utils import timezone

    from conversations.models import Conversation, Message

    Message.objects.bulk_create(
        (
            Message(conversation=row, role="assistant", content=text, created_at=timezone.now(), token_count=9)
            for row in Conversation.objects.all()
        ),
        batch_size=2_000,
    )


if __name__ == "__main__":
    main()
