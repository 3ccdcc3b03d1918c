"""Finds standing orders of a person ("always …", "never …") in a text, by their cue words."""

from __future__ import annotations

import re

from compression.core.caching import cached_texts
from compression.core.text.stopwords import words

MAX_RULE_CHARS = 240
"""A longer rule is cut at a word, so that its text still occurs in its source."""

_CUE = re.compile(
    r"\b(?:never|always|do not|don['’]t|avoid|only (?:ever|use)|use only|must(?: not|n['’]t| never| always)?"
    r"|under no circumstances|make sure|be sure to|from now on|stop using"
    r"|niemals|nie|immer|jamais|toujours|nunca|siempre|sempre|mai|никогда|всегда|нельзя)\b"
    r"|永远不要|不要|请勿|禁止|必须|务必|始终|決して|絶対に|必ず|しないで",
    re.IGNORECASE,
)
_CLAUSE_START = re.compile(r"[\n;,:。！？，；：]|[.!?]\s|[–—]|\s-\s")
_CLAUSE_END = re.compile(r"[\n;。！？；]|[.!?](?=[\s\"'”’)*_`]|$)")
_PREFIX = re.compile(r"[\w'’]+")
_NEXT = re.compile(r"\s*([\w'’]+)")

_LEAD_INS = words(
    "please pls and but so also ok okay yes again then note rule important remember reminder that this you should "
    "must shall can may will need have are to want like would i'd i’d from now on in future the going forward for "
    "project bitte por favor merci s'il te vous plaît però пожалуйста just really"
)
_NOT_IMPERATIVE = words(
    "worry mind know think hesitate you care remember have see get feel want need like even be been had has seen "
    "thought knew heard gonna going wanted a an the i it is was were are nice good great fun up so happy welcome "
    "glad here there say said made makes make loved love felt found in at as ever again too quite sure that this "
    "my your his her their our than much too "
    "they we he she full saw came went did done gave got took kept lost won met told able easy hard "
    "there's out about on"
)
_NO_ORDER = re.compile(r"\w{2,}[^su]s|\w{3,}(?:ing|ed)")
"""Third persons ("always returns") and participles ("always supporting")."""

_FREE = ("must not", "mustn", "must never", "must always", "under no circumstances")
_UNCHECKED = ("make sure", "be sure to", "from now on", "only", "use only", "stop using")


@cached_texts(chars=500_000)
def find_rules(text: str) -> tuple[str, ...]:
    """Clauses of `text` that order or forbid something, verbatim without outer punctuation, in order; linear time."""
    rules: dict[str, None] = {}
    after = 0
    for cue in _CUE.finditer(text):
        if cue.start() < after:
            continue
        start = _clause_start(text, cue.start())
        if not _orders(cue.group().lower(), text[start : cue.start()], text[cue.end() : cue.end() + 24]):
            continue
        after = _clause_end(text, cue.end())
        rules.setdefault(_trimmed(text[start:after]))
    return tuple(rule for rule in rules if rule)


def _clause_start(text: str, position: int) -> int:
    floor = max(0, position - 80)
    start = floor
    for boundary in _CLAUSE_START.finditer(text, floor, position):
        start = boundary.end()
    return start


def _clause_end(text: str, position: int) -> int:
    ceiling = min(len(text), position + MAX_RULE_CHARS)
    boundary = _CLAUSE_END.search(text, position, ceiling)
    return boundary.start() if boundary else ceiling


def _orders(cue: str, before: str, after: str) -> bool:
    """Whether a clause is an order to its reader: "never deploy" is, "I never thought" is not.

    `before` and `after` are the texts around the cue.
    """
    if not cue.isascii():
        return True
    lead = [word.lower() for word in _PREFIX.findall(before)]
    if cue.startswith(_FREE):
        return True
    if cue == "must":
        return lead[-1:] == ["you"] and _verb(after) not in ("have", "be", "feel")
    if any(word not in _LEAD_INS for word in lead) and lead[-4:] != ["i", "want", "you", "to"]:
        return False
    verb = _verb(after)
    if cue.startswith(_UNCHECKED) or not verb:
        return bool(verb)
    return verb not in _NOT_IMPERATIVE and not _NO_ORDER.fullmatch(verb)


def _verb(after: str) -> str:
    """The word that follows a cue, in lower case."""
    following = _NEXT.match(after)
    return following[1].lower() if following else ""


def _trimmed(clause: str) -> str:
    words = clause.split()
    text = " ".join(words)
    while len(text) > MAX_RULE_CHARS and len(words) > 1:
        words.pop()
        text = " ".join(words)
    return text[:MAX_RULE_CHARS].strip(" \t-*•>\"'“”‘’.!?:,()_`")
