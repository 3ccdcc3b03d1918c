"""Finds the rule in force that a sentence takes back: "Forget the STATUS line.", "Emojis are fine again."."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

from compression.core.caching import cached_texts
from compression.core.lazy_pattern import lazy_pattern
from compression.core.ledger.own_words import Sentence, own_sentences
from compression.core.ledger.topics import EMPTY_WORDS, languages_of, subjects_of
from compression.core.ledger.values import MAX_ENTRIES, Topic
from compression.core.text.index_terms import folded
from compression.core.text.stemming import stem
from compression.core.text.stopwords import ENGLISH

Form = Literal["ends", "bans", "permits"]
"""The effect of a sentence. It `ends` any rule, `bans` what a rule orders, or `permits` what a rule forbids."""
FORMS: Final[tuple[Form, ...]] = ("ends", "bans", "permits")
SURE_SHARE = 0.6
UNSURE_SHARE = 0.5
"""The share of the sentence's words that the rule has: from the first on it ends, from the second on the person is
asked. "Send me the table again" permits nothing."""
MAX_OTHER_WORDS = 1
"""A sentence that names a rule's subject has at most this many others, unlike "Remove the emoji column of a table"."""
OPPOSITES: Final = frozenset(
    {"length", "units", "indentation", "spelling", "case", "naming", "clock", "tone", "address"}
)
"""Subjects whose rules exclude each other: "back to imperial units" ends "Use metric units"."""
STEM_CHARS = 5
"""Words are compared by the first letters of their stems: "rhyming" and "rhyme", "Tabellen" and "Tabelle"."""
MIN_STEM_CHARS = 4
MAX_READ_CHARS = 20_000
"""The characters of a message that are read: nobody takes a rule back after a text of this length."""
MAX_CHARS = 300
"""A longer sentence takes nothing back: it tells something."""

_CJK: Final = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff]+")
_KANA: Final = lazy_pattern(r"[\u3040-\u30ff]")
_HIRAGANA: Final = lazy_pattern(r"[\u3040-\u309f]+")
_WORD: Final = lazy_pattern(r"[^\W_][\w-]*")
_QUESTION: Final = lazy_pattern(r"[?？؟][\s\"'”’)*_]*$")
_KEEPS: Final = lazy_pattern(
    r"\b(?:don't|never|not) forget\b|\b(?:vergiss|vergesst|vergessen sie) (?:nicht|nie)\b|\bn'oublie"
    r"|\bno olvid|\bnon diment|\bnão (?:te |se )?esque|не забы|не забуд|别忘|不要忘|忘れないで",
    re.IGNORECASE,
)
"""Matches things that somebody should not forget."""
_UNSPACED_FILLERS: Final = lazy_pattern("那条|这条|那个|规则|要求|指令|ルール|指示|吧|了|请|は|を|の|も|です|ください")
_ONLY: Final = lazy_pattern(
    r"\b(?:only|just|nothing but|solely|exclusively|nur|ausschließlich|seulement|uniquement|solo|sólo|solamente"
    r"|soltanto|apenas|somente|только)\b|只|のみ|だけ",
    re.IGNORECASE,
)
_CONDITION: Final = lazy_pattern(
    r"^\s*(?:if|when|once|unless|wenn|falls|si|quand|cuando|quando|если|когда|如果)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule in force, as a sentence is compared with it."""

    text: str
    topic: Topic


@dataclass(frozen=True, slots=True)
class WithdrawnRule:
    """The place of the rule that a sentence takes back. `is_sure`: it ends without asking the person."""

    place: int
    is_sure: bool


@cached_texts(chars=200_000)
def taking_back(text: str) -> tuple[Sentence, ...]:
    """The person's own sentences that may take a rule back, whichever are in force; at most MAX_ENTRIES."""
    return tuple(islice((one for one in own_sentences(text[:MAX_READ_CHARS]) if _forms(_plain(one))), MAX_ENTRIES))


def rule_meant(sentence: Sentence, rules: Sequence[Rule]) -> WithdrawnRule | None:
    """The rule in force that a sentence takes back; None for all other sentences. `rules` are in their order."""
    text = _plain(sentence)
    forms = _forms(text) if rules else []
    if not forms:
        return None
    for form in forms:
        named = _by_subject(text, form, rules)
        if named is not None:
            return WithdrawnRule(named, is_sure=True)
    return _by_words(sentence.text if len(sentence.text) <= MAX_CHARS else text, forms, rules)


def _plain(sentence: Sentence) -> str:
    return sentence.masked.replace("’", "'").strip()


def _forms(text: str) -> list[Form]:
    """The effect of a sentence on a rule; none in questions and conditions."""
    if len(text) > MAX_CHARS or _QUESTION.search(text) or _CONDITION.search(text) or _KEEPS.search(text):
        return []
    return [form for form in FORMS if _pattern(form).search(text)]


def _fits(form: Form, rule: Rule) -> bool:
    """Whether a sentence of this form can take back a rule. "Only Python 3.9" forbids something without saying so."""
    if form == "permits" and _ONLY.search(rule.text):
        return True
    return form == "ends" or rule.topic.forbids == (form == "permits")


def _by_subject(text: str, form: Form, rules: Sequence[Rule]) -> int | None:
    """The latest rule about a language or another known subject that the sentence names."""
    subjects, languages = subjects_of(text), languages_of(text)
    if sum(not _CJK.match(word) for word in _content(text)) > len(subjects) + len(languages) + MAX_OTHER_WORDS:
        return None
    for place in range(len(rules) - 1, -1, -1):
        topic = rules[place].topic
        if topic.name == "language":
            # "English again" ends an order of French as well as a ban of English.
            other = form == "permits" and bool(languages) and topic.value not in languages and not topic.forbids
            if other or (topic.value in languages and _fits(form, rules[place])):
                return place
        elif topic.name in subjects and (_fits(form, rules[place]) or topic.name in OPPOSITES):
            return place
    return None


def _by_words(text: str, forms: Sequence[Form], rules: Sequence[Rule]) -> WithdrawnRule | None:
    """The rule that has most of the sentence's words; the latest of several, about which the person is asked."""
    own = _content(text)
    fits = [any(_fits(form, rule) for form in forms) for rule in rules]
    shares = [
        len(_shared(own, _content(rule.text))) / len(own) if own and is_fit else 0.0
        for rule, is_fit in zip(rules, fits, strict=True)
    ]
    best = max(shares)
    if best < UNSURE_SHARE:
        return None
    places = [place for place, share in enumerate(shares) if share == best]
    return WithdrawnRule(places[-1], is_sure=best >= SURE_SHARE and len(places) == 1)


def _shared(own: set[str], other: set[str]) -> set[str]:
    """The words of `own` that are in `other`, or that begin like one of it: "cite" and "citer"."""
    long = [word for word in other if len(word) >= MIN_STEM_CHARS]
    return {
        word
        for word in own
        if word in other
        or (len(word) >= MIN_STEM_CHARS and any(word.startswith(one) or one.startswith(word) for one in long))
    }


@cache
def _languages() -> tuple[dict[str, Any], ...]:
    return tuple(tomllib.loads((Path(__file__).parent / "withdrawals.toml").read_text(encoding="utf-8")).values())


@cache
def _pattern(form: Form) -> re.Pattern[str]:
    return lazy_pattern("|".join(one for language in _languages() for one in language[form]), re.IGNORECASE)


@cache
def _left_out() -> frozenset[str]:
    fillers = [word for language in _languages() for word in language["fillers"].split()]
    left_out = frozenset(map(folded, (*fillers, *EMPTY_WORDS, *ENGLISH)))
    return left_out | {_root(word) for word in left_out}


def _content(text: str) -> set[str]:
    """The beginnings of the words that carry content, and pairs of characters of unspaced scripts."""
    unspaced = text
    for form in FORMS:
        unspaced = _pattern(form).sub(" ", unspaced)
    unspaced, text = _UNSPACED_FILLERS.sub(" ", unspaced), folded(text)
    if _KANA.search(text):  # hiragana are endings and particles, in the sentence's form and in the rule's
        unspaced = _HIRAGANA.sub(" ", _UNSPACED_FILLERS.sub(" ", text))
    pairs = {run[at : at + 2] for run in _CJK.findall(unspaced) for at in range(len(run) - 1)}
    words = {word for word in _WORD.findall(_CJK.sub(" ", text)) if len(word) > 1 and word not in _left_out()}
    return pairs | {root[:STEM_CHARS] for word in words if (root := _root(word)) not in _left_out()}


def _root(word: str) -> str:
    """The stem of a word; the word without an s if so little is left that other words have the same stem."""
    root = stem(word)
    return root if len(root) >= MIN_STEM_CHARS else word.removesuffix("s")
