"""A reply's usage in our own export: recorded tokens, money and times."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from conversations.exchange.fields import MAX_NUMBER, fault, read_number, read_object, read_text
from conversations.models import Message
from conversations.requests.request_log import MAX_DOLLARS

COUNTS = (
    *("prompt_tokens", "completion_tokens", "cached_tokens", "thought_tokens", "saved_tokens"),
    *("first_token_ms", "thought_ms", "duration_ms"),
)
COST = "cost_usd"
CENTS = Decimal("0.000001")
"""The smallest amount of money that a row stores."""
LONGEST = 20
"""The most characters of an amount of money."""


def figures_json(message: Message) -> dict[str, Any]:
    """The known figures as JSON; money is a decimal number in a string."""
    found = {name: getattr(message, name) for name in COUNTS}
    found[COST] = None if message.cost_usd is None else str(message.cost_usd)
    return {name: value for name, value in found.items() if value is not None}


def read_figures(place: str, raw: object) -> dict[str, Any]:
    """The figures as columns of a message. Raises Invalid."""
    if raw is None:
        return {}
    figures = read_object(place, raw)
    found = {
        name: read_number(f"{place}.{name}", figures[name], low=-MAX_NUMBER if name == "saved_tokens" else 0)
        for name in COUNTS
        if figures.get(name) is not None
    }
    return found | ({COST: _money(f"{place}.{COST}", figures[COST])} if figures.get(COST) is not None else {})


def _money(place: str, value: object) -> Decimal:
    try:
        amount = Decimal(read_text(place, value, limit=LONGEST))
        if amount.is_finite() and 0 <= amount <= MAX_DOLLARS:
            return amount.quantize(CENTS)
    except InvalidOperation:
        pass
    raise fault(place, f'must be US dollars as text, such as "0.0125", from 0 to {MAX_DOLLARS:,}.')
