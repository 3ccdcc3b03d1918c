"""Finds the entries of a text: sentences that order, prefer, decide or correct, whole and verbatim."""

from __future__ import annotations

import re
from itertools import chain

from compression.core.caching import cached_texts
from compression.core.lazy_pattern import lazy_pattern
from compression.core.ledger import english
from compression.core.ledger.own_words import Sentence, own_sentences, statements
from compression.core.ledger.patterns import language
from compression.core.ledger.topics import topic_of
from compression.core.ledger.values import MAX_ENTRIES, DetectedEntry, Kind

_SCRIPTS = (
    (lazy_pattern("[\u3040-\u30ff]"), ("japanese",)),
    (lazy_pattern("[\u4e00-\u9fff]"), ("chinese", "japanese")),
    (lazy_pattern("[\u0400-\u04ff]"), ("russian",)),
)
_LATIN = ("german", "french", "spanish", "italian", "portuguese")
"""The tables of the other languages in Latin letters; English has code beside its table (`english`)."""
_LEAD_IN = lazy_pattern(
    r"^\W*(?:(?:no|wait|actually|sorry|oh|hm+|ok|okay|well|scratch that|nein|moment|doch|eigentlich|entschuldigung"
    r"|non|en fait|pardon|en realidad|perdón|anzi|scusa|aliás|нет|стоп)\b[\s,:;.!–—-]*)+(?=\w)",
    re.IGNORECASE,
)
"""Words by which a person changes their mind: "Actually, use spaces, not tabs." is an order like the one before."""
_REPEATED = lazy_pattern(
    r"^\W*(?:(?:as|like) i (?:already )?(?:said|mentioned|told you|asked)(?: before| earlier| already)?\s*[,:]"
    r"|i(?:'ve)? (?:already |just )?(?:told|asked) you(?: before| already)? to\b"
    r"|wie (?:ich )?(?:schon |bereits )?(?:gesagt|sagte)\s*[,:]"
    r"|ich hab(?:e)? (?:dir )?(?:doch |schon |bereits )?gesagt\s*[,:]"
    r"|(?:comme (?:je l'ai )?(?:déjà )?dit|je (?:t'|vous )ai (?:déjà )?dit)\s*(?:[,:]|de\b)"
    r"|(?:como (?:ya )?(?:te )?dije|ya te dije)\s*(?:[,:]|que\b)"
    r"|(?:come (?:già )?(?:ho )?detto|ti ho (?:già )?detto)\s*(?:[,:]|di\b)"
    r"|(?:como (?:eu )?(?:já )?disse|já te disse)\s*(?:[,:]|para\b)"
    r"|(?:как я (?:уже )?(?:говорил|сказал)а?|я же (?:говорил|сказал)а?)\s*[,:]"
    r"|我(?:已经)?(?:说过|告诉过你)了?\s*[，：,:])\s*(?=\w)",
    re.IGNORECASE,
)
"""Words by which a person repeats an order: "I told you to never use emojis"."""
_SAYS = r"(?:says?|said|advis(?:es|ed)|writes|wrote|insist(?:s|ed)|suggest(?:s|ed)|recommend(?:s|ed)|warn(?:s|ed))"
_ATTRIBUTED = lazy_pattern(
    rf",\s*+(?:(?:{_SAYS}|riet|rät|sagte?|meinte?|schreibt|schrieb|empfiehlt|empfahl|warnte?|heißt es|steht in"
    r"|dit|disait|a dit|conseill(?:e|ait)|recommand(?:e|ait)|écrit|dice|decía|dijo|aconseja|recomienda|recomendó"
    r"|escribió|diceva|disse|consiglia|raccomanda|scrive|diz|dizia|aconselha|recomenda|escreve"
    r"|говорит|сказал[аи]?|говорил[аи]?|советует|советовал[аи]?|пишет|написал[аи]?)"
    r"\s+(?!(?:i|we|ich|wir|je|yo|io|eu|я|мы)\b)[^,.;:]{1,60}"
    rf"|(?!(?:as |like )?(?:i|we|you)\b)[^,.;:]{{1,40}}\s{_SAYS}\W*)$"
    r"|[，,](?!\s*我(?:说|建议))[^，。,]{1,12}(?:说|建议|写道|告诉我)的?[。！!]?$",
    re.IGNORECASE,
)
"""Words at the end of a sentence by which it is another's: ", my coach advised"."""
_QUESTION = lazy_pattern(r"[?？؟][\s\"'”’)*_]*$")


@cached_texts(chars=500_000)
def find_entries(text: str) -> tuple[DetectedEntry, ...]:
    """The entries in a text that a person typed, at most MAX_ENTRIES, in order and each once; linear time."""
    found: dict[str, DetectedEntry] = {}
    for sentence in chain.from_iterable(map(statements, own_sentences(text))):
        entry = _entry(sentence)
        if entry is not None:
            found.setdefault(entry.text.casefold(), entry)
            if len(found) == MAX_ENTRIES:
                break
    return tuple(found.values())


def entry_of(text: str) -> DetectedEntry:
    """The entry of a rule that a person sets in their own words: sure, with any words."""
    return DetectedEntry("rule", text, True, topic_of(text))


def _entry(sentence: Sentence) -> DetectedEntry | None:
    masked = sentence.masked.replace("’", "'")
    names = _languages(masked)
    is_latin, is_question = names is _LATIN, bool(_QUESTION.search(masked))
    languages = [] if is_question else [language(name) for name in names]
    if (is_latin and english.is_sure_order(masked)) or any(one.is_sure_order(masked) for one in languages):
        is_sure = not sentence.is_doubtful and not _ATTRIBUTED.search(masked.rstrip(".!… "))
        return DetectedEntry("rule", sentence.text, is_sure, topic_of(masked))
    if not is_question and (lead_in := _LEAD_IN.match(masked) or _REPEATED.match(masked)):
        order = masked[lead_in.end() :]
        topic = topic_of(order)
        is_order = (is_latin and english.is_sure_order(order)) or any(one.is_sure_order(order) for one in languages)
        if is_order and not topic.name.startswith("="):
            return DetectedEntry("rule", sentence.text, not sentence.is_doubtful, topic)
    kind = english.kind_of(masked) if is_latin else ""
    kind = kind or next(filter(None, (one.kind_of(masked) for one in languages)), "")
    return DetectedEntry(_KINDS[kind], sentence.text, False, topic_of(masked)) if kind else None


def _languages(sentence: str) -> tuple[str, ...]:
    """The names of the languages that are written in the sentence's script."""
    return next((names for script, names in _SCRIPTS if script.search(sentence)), _LATIN)


_KINDS: dict[str, Kind] = {kind: kind for kind in ("rule", "preference", "decision", "correction")}
