"""Translates stored errors of models and summaries for the page.

Errors are stored in English, as programs read them too. An error is a name, a clause and advice; one with a part that
is not listed here stays in English as a whole.
"""

from __future__ import annotations

import re
from functools import cache

from django.utils.translation import get_language, gettext_noop, ngettext
from django.utils.translation import gettext as _

CLAUSES = (
    # After the name of the model: `llm.providers.fault_mapping`, `provider` and `stream_reader`.
    gettext_noop("the conversation is longer than the model's context window (%(known)s)"),
    gettext_noop("the model called a tool in a way that %(host)s cannot read"),
    gettext_noop("the account has no credit left (%(known)s)"),
    gettext_noop("the provider refused the API key (%(known)s)"),
    gettext_noop("%(host)s refused access with a web page (%(known)s)"),
    gettext_noop('the account may not use the model "%(model)s" (%(known)s)'),
    gettext_noop("the provider does not serve this server's country (%(known)s)"),
    gettext_noop("the provider's content filter refused the request (%(known)s)"),
    gettext_noop('%(host)s does not know the model "%(model)s" (%(known)s)'),
    gettext_noop("the provider reports a conflict (%(known)s)"),
    gettext_noop("the provider is overloaded (%(known)s)"),
    gettext_noop("the provider has a fault (%(known)s)"),
    gettext_noop("the provider refused this request (%(known)s)"),
    gettext_noop("too many requests for the provider (%(known)s)"),
    gettext_noop("the reply broke off; nothing came from %(host)s for %(time)s"),
    gettext_noop("nothing came from %(host)s for %(time)s"),
    gettext_noop("the reply broke off: %(host)s closed the connection"),
    gettext_noop("%(host)s closed the connection"),
    gettext_noop("%(host)s cannot be reached: no host of that name is known"),
    gettext_noop("%(host)s cannot be reached: nothing listens there"),
    gettext_noop("%(host)s cannot be reached: its certificate is not trusted"),
    gettext_noop("%(host)s cannot be reached: it does not speak HTTPS there"),
    gettext_noop("%(host)s cannot be reached"),
    gettext_noop("the provider broke the reply off (%(known)s)"),
    gettext_noop("the provider broke the reply off"),
    gettext_noop("the provider's content filter stopped the reply"),
    gettext_noop("the reply was not whole after %(time)s"),
    gettext_noop("%(host)s sent a web page"),
    gettext_noop("what %(host)s sent could not be read as a reply"),
    gettext_noop("what the provider sent ended in the middle"),
    gettext_noop("what the provider sent was no reply"),
    # With the name as the subject.
    gettext_noop("%(name)s sent an empty reply"),
    gettext_noop("%(name)s does not end its reply"),
    gettext_noop("%(name)s used all its tokens before it wrote anything, as reasoning models can"),
    gettext_noop("%(name)s has no API key"),
    gettext_noop("The reply was interrupted"),
    gettext_noop("The server stopped before the reply was whole"),
    # Of summaries: `core.facts.summary_quality`, `core.text.summary_text`, `core.stages.validate` and `summarise`.
    gettext_noop("the summary repeats itself over and over"),
    gettext_noop("the summary says nothing"),
    gettext_noop("the summary has nothing from its messages"),
    gettext_noop("the summary has no fact from its messages"),
    gettext_noop("the summary lacks its headings; it has %(names)s"),
    gettext_noop("the summary has headings and nothing under them"),
    gettext_noop("the summary is in another language than the conversation (%(language)s)"),
    gettext_noop("%(tokens)s tokens would replace %(replaced)s: nothing is saved"),
    gettext_noop("the summary is %(over)s tokens over its limit of %(limit)s"),
    # Of compactions that changed nothing: `core.stages.identify`, `core.stages.prepare` and `compaction`.
    gettext_noop("There is nothing to compact: the latest and the pinned messages are always kept"),
    gettext_noop("Only %(number)s could be compacted; at least %(least)s messages are needed"),
    gettext_noop("What could be compacted (1 message) takes %(tokens)s tokens: a summary would not be smaller"),
    gettext_noop(
        "What could be compacted (%(number)s messages) takes %(tokens)s tokens: a summary would not be smaller"
    ),
    gettext_noop("It was stopped before it was done"),
    gettext_noop("The worker stopped before it was done"),
    gettext_noop("The conversation changed while it was compacted"),
    gettext_noop("The conversation changed meanwhile"),
    gettext_noop("Something went wrong; the log says what"),
    # Advice.
    gettext_noop("Check the key of this model"),
    gettext_noop("Check its rights at the provider, or use another model"),
    gettext_noop("Change the message, or use another model"),
    gettext_noop("Use another model"),
    gettext_noop("Check the base URL"),
    gettext_noop("Check the model id and the base URL"),
    gettext_noop("Check that the server runs, and the base URL"),
    gettext_noop("Check the model's settings"),
    gettext_noop("Compact it, or use a model with a larger window"),
    gettext_noop("Add credit or use another model"),
    gettext_noop("Raise the profile's maximum of reply tokens, or use another model"),
    gettext_noop("Set %(setting)s, or the key of this model"),
    gettext_noop("Try again"),
    gettext_noop("Try again later"),
    gettext_noop("Try again, or use another model"),
)
WAIT = gettext_noop("%(clause)s; it asks to wait %(time)s")

_SENTENCE = re.compile(r"(?<=\.) +")
_COLON = re.compile(r": ")
_NAMED = re.compile(r"%\\\((\w+)\\\)s")


def in_language(error: str) -> str:
    """An error, or a clause of one, in the page's language."""
    if (get_language() or "en").startswith("en"):
        return error
    first, *advice = _SENTENCE.split(error)
    sentences = [_first(first), *map(_clause, advice)]
    return " ".join(one for one in sentences if one) if all(sentences) else error


def _first(sentence: str) -> str:
    if whole := _clause(sentence):
        return whole
    for colon in _COLON.finditer(sentence):  # a name may have one too
        if clause := _clause(sentence[colon.end() :]):
            return sentence[: colon.end()] + clause
    return ""


def _clause(sentence: str) -> str:
    """The translation of a clause, with its full stop; "" if it is not listed."""
    words = sentence.removesuffix(".")
    end = "." if words != sentence else ""
    if (waiting := _pattern(WAIT).fullmatch(words)) and (clause := _clause(waiting["clause"])):
        return _(WAIT) % {"clause": clause, "time": _duration(waiting["time"])} + end
    for known in CLAUSES:
        if found := _pattern(known).fullmatch(words):
            values = {name: _duration(value) if name == "time" else value for name, value in found.groupdict().items()}
            return _(known) % values + end
    return ""


@cache
def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(_NAMED.sub(_group, re.escape(words)))


def _group(name: re.Match[str]) -> str:
    return f"(?P<{name[1]}>{r'\S+' if name[1] == 'host' else '.+'})"


def _duration(words: str) -> str:
    """A duration such as "2 minutes", as `llm.retries.in_words` gives it."""
    number, space, unit = words.partition(" ")
    if not (space and number.isdecimal()):
        return words
    amount = int(number)
    match unit.removesuffix("s"):
        case "second":
            text = ngettext("%(number)s second", "%(number)s seconds", amount)
        case "minute":
            text = ngettext("%(number)s minute", "%(number)s minutes", amount)
        case "hour":
            text = ngettext("%(number)s hour", "%(number)s hours", amount)
        case "day":
            text = ngettext("%(number)s day", "%(number)s days", amount)
        case _:
            return words
    return text % {"number": number}
