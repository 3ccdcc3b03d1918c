"""A history to judge figures by: `python -m benchmarks.history USERNAME DAYS REPLIES COMPACTIONS`.

Fills the database that the environment names with invented replies, calls of the gateway and compactions of one
person; what they take, cost and save is drawn so that it looks like a site's life: weekends, growth, a bad day.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from compression.ids import first_id

if TYPE_CHECKING:
    from compression.models import Compaction
    from conversations.models import Conversation, GatewayCall, Message, ModelProfile

NAMES = ("input", "cached", "output")
PRICES = {"gpt-4.1-mini": (0.4, 0.1, 1.6), "claude-sonnet": (3, 0.3, 15), "llama-70b": None}
ERRORS = (
    "{model}: too many requests for the provider (429); it asks to wait 20 s. Try again.",
    "{model}: too many requests for the provider (429). Try again later.",
    "{model}: nothing came from api.example:443 for 60 s. Try again, or use another model.",
    "{model}: the provider has a fault (503). Try again.",
    "{model}: the reply broke off: api.example:443 closed the connection. Try again.",
)
FAILED = (
    "validate: the summary lacks its headings; it has none",
    "validate: the summary was cut off",
    "summarise: fast: nothing came from api.example:443 for 60 s. Try again, or use another model.",
    "kept 31 of 50 facts; another summary was better",
)
TEXT = "Some forty tokens of talk about the weather, the ports that are open, and what is for lunch today. "
BATCH = 2_000


def main() -> None:
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.utils import timezone

    name, *numbers = sys.argv[1:]
    days, replies, compactions = (int(number) for number in numbers)
    user = get_user_model().objects.get(username=name)
    filled(user, days=days, replies=replies, compactions=compactions, until=timezone.now())


def filled(user: Any, *, days: int, replies: int, compactions: int, until: datetime) -> None:
    """Rows from `days` before `until` on, the oldest first, as they would have been made."""
    from compression.models import Compaction
    from conversations.models import ApiKey, Conversation, GatewayCall, Message

    chance = random.Random(5)
    profiles = [profile(name, prices) for name, prices in PRICES.items()]
    talks = Conversation.objects.bulk_create(
        Conversation(owner=user, title=f"Talk {number}", model=profiles[number % 3], updated_at=until)
        for number in range(max(1, replies // 200))
    )
    keys = [ApiKey.make(user, name)[0] for name in ("nightly reports", "editor")]
    moments = times(chance, until=until, days=days, count=replies)
    Message.objects.bulk_create((row for at in moments for row in turn(chance, at, talks)), batch_size=BATCH)
    moments = times(chance, until=until, days=days, count=replies // 5)
    GatewayCall.objects.bulk_create((call(chance, at, keys, profiles) for at in moments), batch_size=BATCH)
    moments = times(chance, until=until, days=days, count=compactions)
    Compaction.objects.bulk_create((run(chance, at, talks) for at in moments), batch_size=BATCH)


def profile(name: str, prices: tuple[float, float, float] | None) -> ModelProfile:
    from conversations.models import ModelProfile

    fields = {f"price_{name}": Decimal(str(one)) for name, one in zip(NAMES, prices or (), strict=False)}
    return ModelProfile.objects.create(name=name, model_id=name, base_url="http://127.0.0.1:9/v1", **fields)


def times(chance: random.Random, *, until: datetime, days: int, count: int) -> list[datetime]:
    """More in the week than at its end, more by day than by night, more every week."""
    hours = [until - timedelta(hours=number) for number in range(24 * days)]
    weights = [
        (1 - number / 48 / days) * (0.25 if hour.weekday() > 4 else 1) * (1.1 - math.cos(hour.hour / 24 * math.tau))
        for number, hour in enumerate(hours)
    ]
    drawn = chance.choices(hours, weights, k=count)
    return sorted(hour - timedelta(seconds=chance.uniform(0, 3_600)) for hour in drawn)


def identity(chance: random.Random, at: datetime) -> UUID:
    """An id as it would have been made then."""
    return UUID(int=first_id(at).int | chance.getrandbits(62) | chance.getrandbits(12) << 64)


def turn(chance: random.Random, at: datetime, talks: list[Conversation]) -> Iterator[Message]:
    """A question and its reply."""
    from conversations.models import Message

    talk, after = chance.choice(talks), at + timedelta(microseconds=1)
    yield Message(id=identity(chance, at), conversation=talk, role="user", content=TEXT * 4, created_at=at)
    fields = spent(chance, talk.model, at)
    if chance.random() < 0.02:
        fields = {"status": "failed", "error": chance.choice(ERRORS).format(model=talk.model)}
    else:
        fields["saved_tokens"] = int(chance.lognormvariate(8.6, 0.7)) if chance.random() < 0.6 else 0
    yield Message(
        id=identity(chance, after), conversation=talk, role="assistant", content=TEXT * chance.randint(2, 24),
        created_at=after, model=talk.model.name, **fields,
    )  # fmt: skip


def call(chance: random.Random, at: datetime, keys: list[Any], profiles: list[ModelProfile]) -> GatewayCall:
    from conversations.models import GatewayCall

    model, key = chance.choice(profiles), chance.choice(keys)
    fields = spent(chance, model, at)
    if chance.random() < 0.03:
        fields = {"status": 429, "error": "rate_limited"}
    after = fields.get("prompt_tokens", 0)
    before = after + (int(chance.lognormvariate(9, 0.6)) if chance.random() < 0.4 else 0)
    more = {"tokens_before": before, "tokens_after": after, "is_hit": before > after}
    return GatewayCall(
        id=identity(chance, at), owner_id=key.user_id, key=key, model=model.name, created_at=at, **fields, **more
    )


def spent(chance: random.Random, model: ModelProfile, at: datetime) -> dict[str, Any]:
    prompt, completion = int(chance.lognormvariate(8.3, 0.6)), int(chance.lognormvariate(5.6, 0.7))
    cached = int(prompt * chance.choice((0, 0.5, 0.8)))
    slow = 2.5 if at.day == 17 else 1
    first = chance.lognormvariate(6.4, 0.5) * slow
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "cached_tokens": cached,
        "cost_usd": model.cost(prompt=prompt, cached=cached, completion=completion),
        "first_token_ms": int(first),
        "duration_ms": int(first + completion * chance.uniform(8, 20) * slow),
    }


def run(chance: random.Random, at: datetime, talks: list[Conversation]) -> Compaction:
    from compression.models import Compaction

    trigger = chance.choices(("auto", "ahead", "manual", "api", "emergency"), (30, 50, 12, 5, 3))[0]
    common = {"id": identity(chance, at), "conversation": chance.choice(talks), "created_at": at, "trigger": trigger}
    took = int(chance.lognormvariate(8.3, 0.5)) * (2 if at.day == 17 else 1)
    common |= {"finished_at": at + timedelta(milliseconds=took), "duration_ms": took}
    if chance.random() < 0.03:
        return Compaction(status="failed", error=chance.choice(FAILED[:3]), **common)
    found, before = chance.randint(20, 50), int(chance.lognormvariate(8.8, 0.4))
    kept = found - int(chance.expovariate(0.4))
    after = int(before * chance.uniform(0.05, 0.2))
    common |= {"pre_tokens": before, "post_tokens": after, "reduction_percent": round(100 * (1 - after / before), 1)}
    common |= {"facts_found": found, "facts_kept": max(0, kept), "facts_repaired": max(0, kept) // 8}
    common |= {"messages_condensed": chance.randint(6, 60), "prompt_tokens": before, "completion_tokens": after}
    common |= {"cached_tokens": 0, "cost_usd": Decimal(before + 4 * after).scaleb(-7)}
    writer, steps = "gpt-4.1-mini (fast summaries)", []
    if chance.random() < (0.35 if at.day == 17 else 0.05):
        steps = [{"summariser": writer, "failed": chance.choice(FAILED)}]
        writer = chance.choices(("extractive", "truncation", "claude-sonnet"), (6, 1, 3))[0]
    return Compaction(status="succeeded", summariser=writer, steps=steps, **common)


if __name__ == "__main__":
    main()
