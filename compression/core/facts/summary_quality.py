"""Rejects summaries that are repetitive, empty or without anything of their source, in any language, in linear time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import itemgetter

from compression.core.errors import CompactionFailed
from compression.core.facts.fact_matching import holds_any
from compression.core.facts.find import find_facts
from compression.core.goal import parse_marks
from compression.core.lazy_pattern import lazy_pattern
from compression.core.text.statements import statements_in_summary, statements_of
from compression.core.text.stopwords import ENGLISH
from compression.core.values import Fact, Passage

_HEADING = lazy_pattern(r"^#.*$", re.MULTILINE)
_UNSPACED = "\u0e00-\u0fff\u2e80-\ud7ff\uf900-\ufaff"
"""Characters of scripts without spaces between words; each character counts as a word."""
_WORD = lazy_pattern(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_FORM = frozenset(("done", "pending", "blocked", "next", "none", "nothing", "na", "tbd"))
"""Words of a summary's form, which carry no content of its source."""

_SENTENCE_END = lazy_pattern(r"(?<![.!?…;])[.!?…;]++\s|[。！？｡]|\n")

RUN_WORDS = 4
"""The length of the word sequences that are compared to find repetitions."""
MIN_WORDS_FOR_REPETITION = 60
"""Repetitions of word sequences are only counted from this many words on: short lists repeat words legitimately."""
MAX_EQUAL_SENTENCES = 3
"""The maximum occurrences of a sentence whose repetitions make up most of the summary."""
MIN_WORDS_OF_SENTENCE = 3
MAX_REPEATED_SHARE = 0.6
"""The largest accepted share of word sequences that occurred before."""
MIN_WORDS_FOR_DOMINATION = 20
MAX_SHARE_OF_ONE_WORD = 0.7
"""The largest accepted share of a single word, in summaries of at least MIN_WORDS_FOR_DOMINATION words."""
SOURCE_MARGIN = 0.15
"""A summary's shares may exceed those of its source by this much: a log's summary repeats itself as the log does."""
SENSELESS_SHARE = 0.95
"""A share of a single word or of repeated sequences that no source excuses, in summaries of SENSELESS_WORDS words."""
SENSELESS_WORDS = 60
MIN_WORDS_FOR_UNRELATED = 6
"""A summary with at least this many different words must share one with its source."""
SEVERAL_FACTS, MIN_WORDS_FOR_FACTS = 5, 8
"""The facts of a source and the different words of its summary from which on it must hold a fact or a part of one.

Of a shorter one, the share of the facts that it keeps says enough.
"""
FACTS_LOOKED_FOR = 1_000
"""The most facts of the source that are looked for: the most important ones."""


def require_substance(summary: str, passage: Passage, *, facts: Sequence[Fact] | None = None) -> None:
    """Raise CompactionFailed("validate", …) if the summary repeats itself, or has nothing of its source.

    It has nothing of it if it shares no word with it, or if there are several `facts` (None: those of the passage) and
    it holds none of them. A summary steered by a person's instructions or prompt may have nothing of its source: it may
    be in another language.
    """
    source = words_of("\n".join((passage.text, passage.earlier, passage.goal)))
    text = _HEADING.sub("", summary)
    words = words_of(text)
    if _repeats(words, source) or _repeats_a_sentence(text, len(words), source):
        raise CompactionFailed("validate", "the summary repeats itself over and over")
    content = _content(words)
    if not content:
        raise CompactionFailed("validate", "the summary says nothing")
    if passage.instructions or passage.prompt:
        return
    if len(content) >= MIN_WORDS_FOR_UNRELATED and content.isdisjoint(source):
        raise CompactionFailed("validate", "the summary has nothing from its messages")
    important = (facts_of(passage) if facts is None else facts)[:FACTS_LOOKED_FOR]
    is_judged = len(important) >= SEVERAL_FACTS and _has_content(text)
    if is_judged and not (holds_any(important, text) or _is_about(passage.goal, words)):
        raise CompactionFailed("validate", "the summary has no fact from its messages")


def facts_of(passage: Passage) -> tuple[Fact, ...]:
    """The facts of a passage and of the earlier summary that its own includes."""
    said = (statement for turn in passage.turns for statement in statements_of(turn))
    return find_facts([*statements_in_summary(passage.earlier), *said])


def words_of(text: str) -> list[str]:
    """The text's words in lower case; in scripts without spaces, its characters."""
    return _WORD.findall(text.casefold())


def repetition(words: Sequence[str]) -> float:
    """The share of word sequences of length RUN_WORDS that occurred before in `words`, from 0 to 1."""
    runs = _runs(words)
    return 1 - len(set(runs)) / len(runs) if runs else 0.0


def domination(words: Sequence[str]) -> float:
    """The share of the most common word, from 0 to 1."""
    return Counter(words).most_common(1)[0][1] / len(words) if words else 0.0


def _repeats(words: list[str], source: list[str]) -> bool:
    return _repeats_sequences(words, source) or _repeats_one_word(words, source)


def _repeats_a_sentence(text: str, words: int, source: list[str]) -> bool:
    """Whether one sentence, over and over, is most of a text of `words` words, and its source does not repeat it."""
    sentences = Counter(tuple(words_of(sentence)) for sentence in _SENTENCE_END.split(text))
    sentence, times = max(
        ((one, number) for one, number in sentences.items() if len(one) >= MIN_WORDS_OF_SENTENCE),
        key=itemgetter(1),
        default=((), 0),
    )
    if times <= MAX_EQUAL_SENTENCES or (times - 1) * len(sentence) <= MAX_REPEATED_SHARE * words:
        return False
    return f" {' '.join(source)} ".count(f" {' '.join(sentence)} ") < times


def _repeats_sequences(words: list[str], source: list[str]) -> bool:
    """Whether most word sequences occurred before, in the summary far more than in its source.

    A list repeats a few words in each line; its lines differ.
    """
    if len(words) < MIN_WORDS_FOR_REPETITION or (share := repetition(words)) <= MAX_REPEATED_SHARE:
        return False
    if len(words) >= SENSELESS_WORDS and share >= SENSELESS_SHARE:
        return True
    return share > repetition(source) + SOURCE_MARGIN or _unheard(words, source) > MAX_REPEATED_SHARE


def _unheard(words: list[str], source: list[str]) -> float:
    """The share of word sequences that occurred before, and more often than in the source."""
    runs, said = Counter(_runs(words)), Counter(_runs(source))
    more = sum(max(0, number - max(1, said[run])) for run, number in runs.items())
    return more / max(1, runs.total())


def _repeats_one_word(words: list[str], source: list[str]) -> bool:
    """Whether a single word makes up most of the summary, but not of its source."""
    if len(words) < MIN_WORDS_FOR_DOMINATION:
        return False
    word, times = Counter(words).most_common(1)[0]
    share = times / len(words)
    if len(words) >= SENSELESS_WORDS and share >= SENSELESS_SHARE:
        return True
    is_short = len(words) < SENSELESS_WORDS
    of_source = domination(source) if is_short else source.count(word) / max(1, len(source))
    return share > MAX_SHARE_OF_ONE_WORD and share > of_source + SOURCE_MARGIN


def _runs(words: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + RUN_WORDS]) for at in range(len(words) - RUN_WORDS + 1)]


def _content(words: Iterable[str]) -> set[str]:
    return {word for word in words if len(word) > 1 or not word.isascii()} - _FORM


def _is_about(goal: str, words: Iterable[str]) -> bool:
    """Whether the words have two of the goal's, stop words aside: a report on the goal may name no other fact."""
    return len(_content(words_of(goal)).intersection(words) - ENGLISH) >= 2


def _has_content(text: str) -> bool:
    """Whether the text has enough words, without its marks of the goal's progress, to be judged by missing parts."""
    return len(_content(words_of(parse_marks(text)[0]))) >= MIN_WORDS_FOR_FACTS
