"""Template filters of the chat pages: compactions, snapshots, durations, money and names in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import template
from django.utils.safestring import SafeString

from compression.core.citation_values import Citations
from compression.core.extractive.summariser import Extractive
from compression.core.truncation import Truncation
from compression.models import Compaction
from conversations.compaction import progress
from conversations.models import Message
from conversations.page.markup import markdown
from conversations.runtime import endings
from conversations.validation import visible

register = template.Library()

WITHOUT_MODEL = (Extractive.name, Truncation.name)
STAGES = {
    "identify": "choosing what to compact",
    "prepare": "preparing the text",
    "summarise": "summarising",
    "checkpoint": "writing the checkpoint",
    "update": "updating the context",
    "validate": "checking what was kept",
}
PURPOSES = {
    "rollback": "Before a compaction",
    "recovery": "Before an undo or an edit",
    "emergency": "Emergency",
    "manual": "By hand",
}
CAUSES = {
    "auto": "By itself",
    "ahead": "By itself, prepared ahead",
    "manual": "By hand",
    "api": "By the API",
    "emergency": "To make room",
}
STANDINGS = {"compressed": "compacted", "protected": "sent word for word", "replaced": "replaced"}
OUTCOMES = {
    "pending": "Waiting",
    "running": "At work",
    "ready": "Prepared",
    "failed": "Did not work",
    "skipped": "Nothing to compact",
    "discarded": "Dropped: the conversation changed",
    "cancelled": "Cancelled",
}
STRATEGIES = {
    "checkpoints": "a new summary beside the older ones",
    "rolling": "one summary, written anew",
    "continuation": "one summary of everything",
    "truncate": "a note of what was left out",
    "age": "summaries made shorter",
    "elide": "results of tools left out",
}
LEVELS = {1: "compact", 2: "moderate", 3: "detailed"}
INSTEAD = {Extractive.name: "selected from the text instead", Truncation.name: "a note of what was left out instead"}
_STAGE = re.compile(r"\A[a-z]+: ")
_NEXT_SENTENCE = re.compile(r"\. (?=[A-Z])")
_ASIDE = re.compile(r" \(([^()]*)\)")
_KEPT = re.compile(r"\Akept (\d+ of \d+) facts")
NAMES = {"user": "You", "assistant": "AI", "system": "System", "tool": "Tool"}


@register.filter
def rendered(text: str) -> SafeString:
    return markdown.render_markdown(text)


@register.filter
def exported(text: str) -> SafeString:
    """A reply as HTML for a file: not cached, and without colours, which have no styles there."""
    return markdown.html_of(text, plain_code=True)


@register.filter
def cut_off(message: Message) -> str:
    """The reason why a reply ended before it was whole; "" for a whole one."""
    return endings.cut_off_note(message)


@register.filter
def seen(name: str) -> str:
    """A name with its invisible characters made visible."""
    return visible(name)


@register.filter
def thousands(number: int | None) -> str:
    return f"{number or 0:,}"


@register.filter
def written(summariser: str) -> str:
    """The author of a summary, after the word "written"."""
    return "without a model" if summariser in WITHOUT_MODEL else f"by {summariser}"


@register.filter
def stage(name: str) -> str:
    return STAGES.get(name, name)


@register.filter
def who(message: Message) -> str:
    return visible(message.name) or NAMES.get(message.role, message.role)


@register.filter
def percent(share: float) -> str:
    return f"{round(100 * share)} %"


@register.filter
def purpose(name: str) -> str:
    """The reason for which a snapshot was taken."""
    return PURPOSES.get(name, name)


@register.filter
def cause(compaction: Compaction) -> str:
    """The reason for which a compaction ran."""
    return CAUSES.get(compaction.trigger, compaction.trigger)


@register.filter
def standing(state: str) -> str:
    """A message's state in the model's context, in words."""
    return STANDINGS.get(state, state)


@register.filter
def statements(citations: Citations | None) -> str:
    """The number of a summary's statements, of those that no message supports, and of those left out for that."""
    if citations is None:
        return ""
    parts = [(citations.unsupported, "not found in the messages"), (citations.dropped, "left out as not found")]
    return ", ".join(
        (thousands(citations.said), *(f"{thousands(number)} {words}" for number, words in parts if number))
    )


@register.filter
def strategy(name: str) -> str:
    return STRATEGIES.get(name, name)


@register.filter
def level(number: int) -> str:
    return LEVELS.get(number, str(number))


@register.filter
def outcome(compaction: Compaction) -> str:
    """The outcome of a compaction, in a word or two."""
    if compaction.status == Compaction.Status.UNDONE:
        return "Undone"
    if compaction.status == Compaction.Status.SUCCEEDED:
        return "Emergency" if compaction.trigger == Compaction.Trigger.EMERGENCY else "Compacted"
    return OUTCOMES.get(compaction.status, compaction.status)


@register.filter
def fact(error: str) -> str:
    """The fact of a failure alone, for places without a button to retry."""
    return endings.failure(error).fact


@register.filter
def story(compaction: Compaction) -> list[str]:
    """The course of a compaction, a sentence a step: failures with their reasons, and actions."""
    return [_step_sentence(step) for step in compaction.steps]


@register.filter
def actions(compaction: Compaction) -> str:
    """The actions taken to make room, in words."""
    return ", ".join(str(step["action"]) for step in compaction.steps if "action" in step)


@register.filter
def fallback(compaction: Compaction) -> str:
    """A sentence for the status line if a summariser failed; "" otherwise."""
    failed = [_step_sentence(step) for step in compaction.steps if "failed" in step]
    if not failed:
        return ""
    return f"{'; '.join(failed)}; {INSTEAD.get(compaction.summariser, f'{compaction.summariser} wrote it')}."


@register.filter
def tells_more(compaction: Compaction) -> bool:
    """Whether a step failed or left something out; the status line then stays, and links to the compaction's page."""
    return compaction.status == Compaction.Status.FAILED or bool(compaction.steps)


@register.filter
def eta(compaction: Compaction) -> int | None:
    """The estimated seconds left; None if unknown."""
    return progress.eta_seconds(compaction)


@register.filter
def part(compaction: Compaction) -> int:
    """The number, from 1, of the passage being summarised."""
    return min(compaction.parts_done + 1, compaction.parts)


@register.filter
def duration(seconds: int) -> str:
    """An estimated time left, rounded: "40 s", "3 min"."""
    return f"{seconds} s" if seconds < 120 else f"{round(seconds / 60)} min"


@register.filter
def lasted(seconds: int) -> str:
    """Elapsed time to the second, in the format that `elapsed.js` continues: "3 min 05 s"."""
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60:02} s"


@register.filter
def seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 1000 else f"{milliseconds} ms"


@register.filter
def whole_seconds(milliseconds: int) -> int:
    """Milliseconds as seconds, one at least."""
    return max(1, round(milliseconds / 1000))


@register.filter
def money(amount: Decimal) -> str:
    """An amount in US dollars, with two significant digits below a dollar."""
    digits = max(2, 1 - amount.adjusted()) if amount else 2
    dollars, _, rest = f"{amount:,.{digits}f}".partition(".")
    return f"${dollars}.{rest.rstrip('0'):0<2}"


@register.filter
def goal_line(goal_text: str) -> str:
    """The first line of a goal's description, taken from the rendered goal."""
    return next(iter(goal_text.splitlines()[1:]), "")


def _step_sentence(step: Mapping[str, Any]) -> str:
    if "failed" not in step:
        action = str(step.get("action", ""))
        return action[:1].upper() + action[1:]
    name, failed = step["summariser"], step["failed"]
    if few := _KEPT.match(failed):
        return f"{name} kept too few facts ({few[1]})"
    why = _NEXT_SENTENCE.split(_STAGE.sub("", failed).removeprefix(f"{name}: "))[0].rstrip(".")
    verb = "wrote no good summary" if failed.startswith("validate: ") else "did not answer"
    return f"{name} {verb} ({_ASIDE.sub(r', \1', why)})"
