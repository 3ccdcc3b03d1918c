"""TextRank and LexRank by the package `sumy`, over units that are split already.

Its own tokenizer would need data that `nltk` downloads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence
from sumy.summarizers._summarizer import AbstractSummarizer, SentenceInfo
from sumy.summarizers.lex_rank import LexRankSummarizer
from sumy.summarizers.text_rank import TextRankSummarizer

from benchmarks.units import Unit


class _Words:
    """A tokenizer as `sumy` wants it."""

    def to_sentences(self, text: str) -> tuple[str, ...]:
        return (text,)

    def to_words(self, text: str) -> tuple[str, ...]:
        return tuple(re.findall(r"\w+", text))


def text_rank(units: Sequence[Unit]) -> Iterable[int]:
    return _ranked(TextRankSummarizer(), units)


def lex_rank(units: Sequence[Unit]) -> Iterable[int]:
    return _ranked(LexRankSummarizer(), units)


def _ranked(summarizer: AbstractSummarizer, units: Sequence[Unit]) -> Iterable[int]:
    """Numbers of the units, the highest ranked first: as `sumy` hands them to what limits their count."""
    order: list[int] = []

    def all_of(ranked: list[SentenceInfo]) -> list[SentenceInfo]:
        order.extend(info.order for info in ranked)
        return ranked

    sentences = [Sentence(unit.text, _Words()) for unit in units]
    summarizer(ObjectDocumentModel([Paragraph(sentences)]), all_of)
    return order
