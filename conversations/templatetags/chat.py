"""Template filters of the chat pages: compactions, snapshots, durations, money and names in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from compression.core.citation_values import Citations
from compression.core.extractive.summariser import Extractive
from compression.core.truncation import Truncation
from compression.models import Compaction
from conversations.compaction import progress
from conversations.models import Message
from conversations.page.markup import markdown
from conversations.runtime import end_reasons
from conversations.runtime.amounts import amount, localized
from conversations.runtime.error_words import in_language
from conversations.validation import visible

register = template.Library()

WITHOUT_MODEL = (Extractive.name, Truncation.name)
STAGES = {
    "identify": gettext_noop("choosing what to compact"),
    "prepare": gettext_noop("preparing the text"),
    "summarise": gettext_noop("summarising"),
    "checkpoint": gettext_noop("writing the checkpoint"),
    "update": gettext_noop("updating the context"),
    "validate": gettext_noop("checking what was kept"),
}
PURPOSES = {
    "rollback": gettext_noop("Before a compaction"),
    "recovery": gettext_noop("Before an undo or an edit"),
    "emergency": gettext_noop("Emergency"),
    "manual": gettext_noop("By hand"),
}
CAUSES = {
    "auto": gettext_noop("By itself"),
    "ahead": gettext_noop("By itself, prepared ahead"),
    "manual": gettext_noop("By hand"),
    "api": gettext_noop("By the API"),
    "emergency": gettext_noop("To make room"),
}
STANDINGS = {
    "compressed": gettext_noop("compacted"),
    "protected": gettext_noop("sent word for word"),
    "replaced": gettext_noop("replaced"),
}
OUTCOMES = {
    "pending": gettext_noop("Waiting"),
    "running": gettext_noop("At work"),
    "ready": gettext_noop("Prepared"),
    "failed": gettext_noop("Did not work"),
    "skipped": gettext_noop("Nothing to compact"),
    "discarded": gettext_noop("Dropped: the conversation changed"),
    "cancelled": gettext_noop("Cancelled"),
}
STRATEGIES = {
    "checkpoints": gettext_noop("a new summary beside the older ones"),
    "rolling": gettext_noop("one summary, written anew"),
    "continuation": gettext_noop("one summary of everything"),
    "truncate": gettext_noop("a note of what was left out"),
    "age": gettext_noop("summaries made shorter"),
    "elide": gettext_noop("results of tools left out"),
}
LEVELS = {1: gettext_noop("compact"), 2: gettext_noop("moderate"), 3: gettext_noop("detailed")}
INSTEAD = {
    Extractive.name: gettext_noop("selected from the text instead"),
    Truncation.name: gettext_noop("a note of what was left out instead"),
}
_STAGE = re.compile(r"\A[a-z]+: ")
_NEXT_SENTENCE = re.compile(r"\. (?=[A-Z])")
_ASIDE = re.compile(r" \(([^()]*)\)")
_KEPT = re.compile(r"\Akept (\d+ of \d+) facts")
NAMES = {
    "user": gettext_noop("You"),
    "assistant": gettext_noop("AI"),
    "system": gettext_noop("System"),
    "tool": gettext_noop("Tool"),
}


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
    return end_reasons.cut_off_note(message)


@register.filter
def seen(name: str) -> str:
    """A name with its invisible characters made visible."""
    return visible(name)


@register.filter
def thousands(number: int | None) -> str:
    return amount(number or 0)


@register.filter
def written(summariser: str) -> str:
    """The author of a summary, after the word "written"."""
    return _("without a model") if summariser in WITHOUT_MODEL else _("by %(name)s") % {"name": summariser}


@register.filter
def stage(name: str) -> str:
    return _(STAGES.get(name, name))


@register.filter
def who(message: Message) -> str:
    return visible(message.name) or _(NAMES.get(message.role, message.role))


@register.filter
def percent(share: float) -> str:
    return f"{round(100 * share)} %"


@register.filter
def purpose(name: str) -> str:
    """The reason for which a snapshot was taken."""
    return _(PURPOSES.get(name, name))


@register.filter
def cause(compaction: Compaction) -> str:
    """The reason for which a compaction ran."""
    return _(CAUSES.get(compaction.trigger, compaction.trigger))


@register.filter
def standing(state: str) -> str:
    """A message's state in the model's context, in words."""
    return _(STANDINGS.get(state, state))


@register.filter
def statements(citations: Citations | None) -> str:
    """The number of a summary's statements, of those that no message supports, and of those left out for that."""
    if citations is None:
        return ""
    parts = [(citations.unsupported, _("not found in the messages")), (citations.dropped, _("left out as not found"))]
    return ", ".join(
        (thousands(citations.said), *(f"{thousands(number)} {words}" for number, words in parts if number))
    )


@register.filter
def strategy(name: str) -> str:
    return _(STRATEGIES.get(name, name))


@register.filter
def level(number: int) -> str:
    return _(LEVELS.get(number, str(number)))


@register.filter
def outcome(compaction: Compaction) -> str:
    """The outcome of a compaction, in a word or two."""
    if compaction.status == Compaction.Status.UNDONE:
        return _("Undone")
    if compaction.status == Compaction.Status.SUCCEEDED:
        return _("Emergency") if compaction.trigger == Compaction.Trigger.EMERGENCY else _("Compacted")
    return _(OUTCOMES.get(compaction.status, compaction.status))


@register.filter
def fact(error: str) -> str:
    """The fact of a failure alone, in the page's language, for places without a button to retry."""
    return in_language(end_reasons.failure(error).fact)


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
    instead = INSTEAD.get(compaction.summariser)
    author = _(instead) if instead else _("%(name)s wrote it") % {"name": compaction.summariser}
    return f"{'; '.join(failed)}; {author}."


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
    return localized(f"{milliseconds / 1000:.1f} s") if milliseconds >= 1000 else f"{milliseconds} ms"


@register.filter
def whole_seconds(milliseconds: int) -> int:
    """Milliseconds as seconds, one at least."""
    return max(1, round(milliseconds / 1000))


@register.filter
def money(amount: Decimal) -> str:
    """An amount in US dollars, with two significant digits below a dollar."""
    digits = max(2, 1 - amount.adjusted()) if amount else 2
    dollars, _, rest = f"{amount:,.{digits}f}".partition(".")
    return localized(f"${dollars}.{rest.rstrip('0'):0<2}")


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
        return _("%(name)s kept too few facts (%(kept)s)") % {"name": name, "kept": few[1]}
    why = _NEXT_SENTENCE.split(_STAGE.sub("", failed).removeprefix(f"{name}: "))[0].rstrip(".")
    is_poor = failed.startswith("validate: ")
    words = _("%(name)s wrote no good summary (%(why)s)") if is_poor else _("%(name)s did not answer (%(why)s)")
    return words % {"name": name, "why": _ASIDE.sub(r", \1", in_language(why))}
