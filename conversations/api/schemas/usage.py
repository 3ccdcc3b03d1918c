"""Schemas of usage: tokens, costs and savings of a person's requests."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from conversations.api.schemas.fields import Money, Tokens, about

Balance = Annotated[str, Field(pattern=r"^-?\d+(\.\d+)?$")]
"""US dollars that may be below 0."""


class Tally(BaseModel):
    """Requests to models added up: replies, calls of the gateway, and requests for summaries."""

    requests: int = about("How many there were.", 412, ge=0)
    failed: int = about("Those of them that ended with an error.", 3, ge=0)
    prompt_tokens: Tokens = about("Tokens sent, as the provider reported them.", 1_204_551)
    cached_tokens: Tokens = about("Those sent that the provider had cached.", 655_360)
    completion_tokens: Tokens = about("Tokens that models wrote.", 151_907)
    cost_usd: Money = about("What they cost, as far as prices are known.", "0.528319")
    unpriced_requests: int = about("Requests whose cost is not known, and in no sum.", 0, ge=0)
    saved_tokens: int = about(
        "Tokens that summaries kept out of prompts, less those of recalled passages. Negative if they cost more.",
        2_951_040,
    )
    saved_usd: Money = about("What those would have cost, at what each request paid for its prompt.", "0.719230")
    unpriced_saved_tokens: int = about("Saved tokens whose price is not known, and in no sum.", 0)


class Row(Tally):
    day: date | None = about("In UTC; null where it is by model.", "2026-11-20")
    model: str | None = about("Its name; null where it is by day.", None)


class Total(Tally):
    summaries_usd: Money = about("The part of the cost that was paid for summaries.", "0.012400")
    net_saved_usd: Balance = about("`saved_usd` less that.", "0.706830")


class Storage(BaseModel):
    conversations: int = about("Conversations that are stored now.", 61, ge=0)
    messages: int = about("Messages in them.", 7_204, ge=0)


class Budget(BaseModel):
    """The limits of a month and its use. A request beyond them is refused with 402 `insufficient_quota`."""

    month: str = about("The present month, in UTC.", "2026-11")
    tokens: int | None = about("The most tokens of prompts and answers; null for no limit.", 5_000_000)
    used_tokens: int = about("Those used so far.", 1_356_458, ge=0)
    usd: Money | None = about("The most US dollars; null for no limit.", "20.000000")
    used_usd: Money = about("Those spent so far, as far as prices are known.", "0.528319")


class SharedBudget(Budget):
    """A budget that all members of a group use up together; a request beyond it is refused like one beyond your own."""

    group: str = about("The group's name.", "Research")


class UsageReport(BaseModel):
    since: date = about("The first day.", "2026-10-24")
    until: date = about("The last day, which is counted too.", "2026-11-22")
    by: Literal["day", "model"] = about("What the items are.", "day")
    items: list[Row] = about("Every day, the first one first; or every model that was asked, the dearest first.")
    total: Total = about("All of them.")
    budget: Budget = about("Your budget of this month.")
    shared_budgets: list[SharedBudget] = about("Those that you share with all members of a group.")
    storage: Storage = about("What there is, whenever it was made.")
