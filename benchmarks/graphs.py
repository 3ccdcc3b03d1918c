"""TextRank and LexRank over whole messages, by the package `sumy`."""

from __future__ import annotations

import re
from functools import lru_cache

from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence
from sumy.summarizers._summarizer import AbstractSummarizer, SentenceInfo
from sumy.summarizers.lex_rank import LexRankSummarizer
from sumy.summarizers.text_rank import TextRankSummarizer

from benchmarks.conversations import Conversation
from benchmarks.systems import kept


class _Words:
    """A tokenizer as `sumy` wants it, without the data that `nltk` downloads."""

    def to_sentences(self, text: str) -> tuple[str, ...]:
        return (text,)

    def to_words(self, text: str) -> tuple[str, ...]:
        return tuple(re.findall(r"\w+", text))


def text_rank(conversation: Conversation, budget: int) -> str:
    return kept(conversation.turns, _ranked(TextRankSummarizer, conversation), budget)


def lex_rank(conversation: Conversation, budget: int) -> str:
    return kept(conversation.turns, _ranked(LexRankSummarizer, conversation), budget)


@lru_cache
def _ranked(summarizer: type[AbstractSummarizer], conversation: Conversation) -> tuple[int, ...]:
    """Numbers of the messages, the highest ranked first: as `sumy` hands them to what limits their count."""
    order: list[int] = []

    def all_of(ranked: list[SentenceInfo]) -> list[SentenceInfo]:
        order.extend(info.order for info in ranked)
        return ranked

    sentences = [Sentence(turn.content or "-", _Words()) for turn in conversation.turns]
    summarizer()(ObjectDocumentModel([Paragraph(sentences)]), all_of)
    return tuple(order)
