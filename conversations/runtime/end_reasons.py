"""The reasons for early ends of replies: their stored codes, and their words for people."""

from __future__ import annotations

import re
from typing import NamedTuple

from django.utils.translation import gettext as _

from conversations.models import Message
from conversations.runtime.amounts import amount

Reason, Status = Message.FinishReason, Message.Status

NO_REASON = "The reply was interrupted."
_ADVICE = re.compile(r"(\A|(?<=[.;]) +|: )((?:press compact, or )?try again\b[^.;]*\.) *(?=;|\Z)", re.IGNORECASE)


class Failure(NamedTuple):
    """An error in words. `advice` is to try again, "" if that would not help; it belongs beside a button."""

    fact: str
    advice: str


def failure(error: str) -> Failure:
    """A stored error, with its advice to try again separated from the fact."""
    advice = next((found[2] for found in reversed(list(_ADVICE.finditer(error)))), "")
    fact = _ADVICE.sub(lambda found: "." if found[1] == ": " else "", error)
    return Failure(fact.replace(".;", ";"), advice[:1].upper() + advice[1:])


def kept_reason(finish_reason: str) -> str:
    """The provider's reason if it leaves a reply unfinished, else ""."""
    return finish_reason if finish_reason in Reason.values else ""


def cut_off_note(message: Message) -> str:
    """A few words that say how a reply was cut off; "" for a complete one."""
    if message.finish_reason == Reason.LENGTH:
        spent = message.completion_tokens
        words = _("cut off at %(number)s tokens") if spent else _("cut off after about %(number)s tokens")
        return words % {"number": amount(spent or message.token_count)}
    return str(Reason(message.finish_reason).label) if message.finish_reason else ""


def can_continue(message: Message) -> bool:
    """Whether the message is the beginning of a reply that can be continued: its text is part of the history."""
    is_cut = bool(message.finish_reason) and message.status == Status.COMPLETE
    is_ended_here = message.status in (Status.STOPPED, Status.INTERRUPTED)
    return message.role == Message.Role.ASSISTANT and bool(message.content.strip()) and (is_cut or is_ended_here)
