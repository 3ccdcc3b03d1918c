"""The passages that were recalled for a reply, with the words of the question marked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from compression.core.recall.recall import Quote
from compression.core.text.index_terms import folded, index_terms, is_unspaced, says_little, terms_of_word
from compression.core.text.language import likely_language
from conversations.memory import recall
from conversations.messages.search import SnippetPart
from conversations.messages.search_terms import in_a_line
from conversations.models import Message

WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A recalled passage; `pieces` are its text on one line, in order."""

    quote: Quote
    pieces: tuple[SnippetPart, ...]


@dataclass(frozen=True, slots=True)
class Passages:
    """The passages of one reply, with their tokens in its request."""

    found: tuple[Passage, ...]
    tokens: int


def passages_of(reply: Message) -> Passages | None:
    """The passages that the request of a reply quoted; None if one of their messages is deleted."""
    recalled = recall.put_together(reply.conversation_id, (reply.request or {})["recalled"])
    if recalled is None:
        return None
    asked = Message.objects.filter(conversation_id=reply.conversation_id, pk=recalled.before).values_list("content")
    question = next((content for (content,) in asked), "")
    found = tuple(Passage(quote, marked(in_a_line(quote.text), question)) for quote in recalled.quotes)
    return Passages(found, recalled.tokens)


def marked(text: str, question: str) -> tuple[SnippetPart, ...]:
    """A text in parts, found ones being the words that the question has in any form, without its most common words."""
    language = likely_language(question)
    asked = {term for term in index_terms(question, language) if not says_little(term, language)}
    parts, end = [], 0
    for start, stop in _places(text, asked, language):
        parts += [SnippetPart(text[end:start], False)] if end < start else []
        parts.append(SnippetPart(text[start:stop], True))
        end = stop
    return (*parts, SnippetPart(text[end:], False)) if end < len(text) else tuple(parts)


def _places(text: str, asked: set[str], language: str) -> Iterator[tuple[int, int]]:
    """The start and end of each word of a text with an asked term; where no spaces part words, of the asked pairs."""
    for word in WORD.finditer(text):
        if not is_unspaced(word[0]):
            if not asked.isdisjoint(terms_of_word(folded(word[0]), language)):
                yield word.span()
            continue
        start = end = word.start()
        for at in range(word.start(), word.end() - 1):
            if folded(text[at : at + 2]) in asked:
                if at > end and end > start:
                    yield start, end
                start, end = (at, at + 2) if at > end or end == start else (start, at + 2)
        if end > start:
            yield start, end
