"""English orders, preferences, decisions and corrections, sentence by sentence. `languages/english.toml` has the
expressions.
"""

from __future__ import annotations

import re
from functools import cache

from compression.core.ledger.addressee import is_addressed, is_for_anybody
from compression.core.ledger.english_verbs import SOFT, VERBS, WRITING, base_of_gerund
from compression.core.ledger.patterns import expressions
from compression.core.text.stopwords import words

_WHOLE = ("no", "be", "answer_in", "use", "do_not_be", "not_allowed", "only_in")
"""The patterns of orders that are nearly the whole sentence."""


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(expressions("english")[name], re.IGNORECASE)


@cache
def _words(name: str) -> frozenset[str]:
    return words(expressions("english")["words"][name])


def _has(sentence: str, *patterns: str) -> bool:
    """Whether one of the patterns is found in a sentence."""
    return any(_pattern(name).search(sentence) for name in patterns)


def is_sure_order(sentence: str) -> bool:
    """Whether a sentence orders the assistant without doubt how it answers or works, for good."""
    return _is_sure(sentence) or bool((found := _pattern("so").search(sentence)) and _is_sure(found["order"]))


def _is_sure(sentence: str) -> bool:
    if sentence.endswith("?") or _has(sentence, "idiom") or is_for_anybody(sentence):
        return False
    return (
        _is_ever(sentence)
        or _is_do_not(sentence)
        or _is_stop(sentence)
        or _has(sentence, "keep", "call_me", "output_must", "do_not_want", "each_answer", "per_answer")
        or _has(sentence, "your_output", "in_your_answers", "every_time", "named_rule", "in_project")
        or any(_ends_there(_pattern(name).search(sentence)) for name in _WHOLE)
        or _is_standing(sentence)
    )


def kind_of(sentence: str) -> str:
    """The kind of an entry that is noted: preference, decision, correction or rule; "" if the sentence is none."""
    if _has(sentence, "correction") and (not sentence.endswith("?") or len(sentence) > 120):
        return "correction"
    if _has(sentence, "likely") and not sentence.endswith(("?", ":")) and not is_for_anybody(sentence):
        return "rule"
    if _has(sentence, "preference"):
        return "preference"
    if _has(sentence, "decision"):
        return "decision"
    if _has(sentence, "polite") or _is_unsure_order(sentence):
        return "rule"
    return ""


def _narrates(sentence: str) -> bool:
    return _pattern("narrates").match(sentence) is not None


def _is_ever(sentence: str) -> bool:
    found = _pattern("ever").search(sentence)
    if found is None or _narrates(sentence):
        return False
    verb, cue, start = found["verb"].lower(), found["cue"].lower(), found.start("verb")
    if cue.startswith(("only", "not to", "not allowed")) and not _names_output(sentence):
        is_answer = verb in ("answer", "reply", "respond", "use", "write", "output")
        return is_answer and not _has(sentence, "once") and is_addressed(sentence, verb, start=start)
    if verb in SOFT:
        return _names_output(sentence, start)
    if verb in VERBS:
        return is_addressed(sentence, verb, start=start)
    return _has(sentence, "when_asked") and not verb.endswith(("ing", "ed"))


def _names_output(sentence: str, start: int = 0) -> bool:
    """Whether a sentence, from `start` on, names something that an assistant makes."""
    return _pattern("assistant").search(sentence, start) is not None


def _is_do_not(sentence: str) -> bool:
    found = _pattern("do_not").search(sentence)
    if found is None or len(sentence.split()) > 30 or _has(sentence, "once"):
        return False
    verb, start = found["verb"].lower(), found.start("verb")
    if verb not in _words("forbidden") or (verb in _words("strict") and not _names_output(sentence, start)):
        return False
    return is_addressed(sentence, verb, start=start)


def _is_stop(sentence: str) -> bool:
    """Whether a sentence ends a habit of the assistant's; "stop using …" is one only if it names what it is about."""
    found = _pattern("stop").search(sentence)
    if found is None:
        return False
    act = base_of_gerund(found["act"].lower())
    return act not in WRITING or is_addressed(sentence, act, start=found.start("act"))


def _ends_there(found: re.Match[str] | None) -> bool:
    return found is not None and _pattern("in_your").match(found["rest"]) is not None


def _is_standing(sentence: str) -> bool:
    """Whether an imperative says that it holds for good: "From now on, cite your sources"."""
    found = _pattern("verb_first").search(sentence)
    if found is None or not _has(sentence, "standing", "for_all") or _narrates(sentence):
        return False
    verb = found["verb"].lower()
    if verb in SOFT and not _names_output(sentence):
        return False
    return verb in VERBS | SOFT and is_addressed(sentence, verb, start=found.start("verb"))


def _is_unsure_order(sentence: str) -> bool:
    if sentence.endswith("?") or _has(sentence, "idiom"):
        return False
    if found := _pattern("do_not").search(sentence):
        return found["verb"].lower() in _words("forbidden")
    if found := _pattern("ever").search(sentence):
        verb = found["verb"].lower()
        is_order = _names_output(sentence) if verb in SOFT else verb in VERBS
        return is_order and not _narrates(sentence)
    return not sentence.endswith(":") and _has(
        sentence, "be", "answer_in", "use", "keep", "keep_it", "stop", "output_must"
    )
