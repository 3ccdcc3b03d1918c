"""Regular expressions for facts in text.

Every pattern runs in linear time: its repetitions are bounded or possessive, without nested alternatives.
"""

from __future__ import annotations

import re

from compression.core.caching import cached_words
from compression.core.text.stopwords import words

MONTHS = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"
)
OTHER_MONTHS = (
    "januar|jänner|janvier|enero|gennaio|janeiro|январ[ья]",
    "februar|feber|février|febrero|febbraio|fevereiro|феврал[ья]",
    "märz|mars|marzo|março|марта?",
    "april|avril|abril|aprile|апрел[ья]",
    "mai|mayo|maggio|maio|ма[йя]",
    "juni|juin|junio|giugno|junho|июн[ья]",
    "juli|juillet|julio|luglio|julho|июл[ья]",
    "august|août|agosto|августа?",
    "september|septembre|septiembre|setiembre|settembre|setembro|сентябр[ья]",
    "oktober|octobre|octubre|ottobre|outubro|октябр[ья]",
    "november|novembre|noviembre|novembro|ноябр[ья]",
    "dezember|décembre|diciembre|dicembre|dezembro|декабр[ья]",
)
"""The names of the months in other languages than English, from January on."""
_OTHERS = rf"(?i:{'|'.join(OTHER_MONTHS)})"
_UNITS = (
    r"%|‰|°[CF]|[kKMGTP]i?B(?:/s)?|[kMG]?bit/s|[kMG]bps|[kMG]?Hz|[mµun]?s|min|[kcmµn]?m|[kmµ]?g|[mc]?l|[kM]?W|[kM]?Wh|[mk]?V|mA|dB|px|pt|em|rem|fps|rpm"
    r"|seconds?|minutes?|hours?|days?|weeks?|months?|years?|miles?|dollars?|euros?|pounds?|tokens?|bytes?|users?|people|items?"
    r"|rows?|lines?|files?|requests?|times|pages?|characters?|degrees|percent|am|pm|AM|PM|USD|EUR|GBP|CHF|JPY"
)

URL = re.compile(r"\b(?:https?|ftp|wss?|ssh|git|file|postgres(?:ql)?|mysql|redis|amqp|s3)://[^\s<>\"'`)\]}|]{2,400}+")
EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}+@[\w-]{1,63}+(?:\.[\w-]{1,63}+){1,8}")
DATE = re.compile(
    r"(?<![^\W\u3040-\u9fff])\d{4}-\d{2}-\d{2}"
    r"(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:?\d{2})?)?(?![^\W\u3040-\u9fff])"
    r"|\b\d{1,2}(?:st|nd|rd|th)? (?:of )?" + MONTHS + r"(?:,? \d{4}\b)?"
    r"|\b(?=[JFMASOND])" + MONTHS + r" (?:\d{1,2}(?:st|nd|rd|th)?\b(?:,? \d{4}\b)?|\d{4}\b)"
    r"|\b\d{1,4}[./]\d{1,2}[./]\d{2,4}\b|\b\d{1,2}:\d{2}(?::\d{2})?(?: ?[AaPp]\.?[Mm]\b)?"
    r"|\b\d{1,2}(?:\.|º|°|er)? (?:de |d['’])?" + _OTHERS + r"\b(?:(?: de| del)? \d{4}\b)?"
    r"|\d{2,4}年(?:\d{1,2}月)?(?:\d{1,2}日)?|\d{1,2}月\d{1,2}日"
)
MEASURE = re.compile(
    r"(?<![\w.,])[$€£¥₹]\s?\d[\d.,]{0,20}+(?:\s?(?:k|K|M|B|bn|million|billion)\b)?"
    r"|(?<![\w.,])\d[\d.,]{0,20}\s?(?:" + _UNITS + r"|[$€£¥₹])(?!\w)"
)
QUOTED = re.compile(
    r"\"([^\"\n]{3,80}+)\"|“([^”\n]{3,80}+)”|«([^»\n]{3,80}+)»|「([^」\n]{2,80}+)」|`([^`\n]{2,80}+)`|(?<!\w)'([^'\n]{3,60}+)'(?!\w)"
)
CHUNK = re.compile(r"(?!(?<=<)/)[\w$./~@%:+#\\-]++")
"""A run of characters that may be a path, number or identifier; it does not begin at the "/" of a closing tag."""

_ESCAPES = re.compile(r"(?:\\[nrt])++$")
_EDGES = ".:-+#%@"
_EXTENSION = re.compile(
    r"[\w@+-][\w.@+-]*\.(?:py|pyi|js|mjs|ts|tsx|jsx|json|ya?ml|toml|ini|cfg|conf|env|lock|md|rst|txt|log|csv|tsv|html?|css|scss|svg|png|jpe?g|gif"
    r"|webp|pdf|docx?|xlsx?|pptx?|sh|bash|zsh|ps1|bat|sql|db|sqlite3?|c|h|cc|cpp|hpp|rs|go|java|kt|swift|rb|php|pl|lua|r|ipynb|xml|zip|tar|gz|tgz"
    r"|whl|so|dll|exe|pem|key|crt|proto|gradle|mk|tf|vue|svelte)",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@+~#%-]+)+[/\\]?|[\w.@+~%-]+(?:[/\\][\w.@+~#%-]+)+[/\\]?|[\w.-]{2,}/"
)
_ALTERNATIVES = re.compile(r"[^\W\d_]+/[^\W\d_]+|[a-zA-Z]/[a-zA-Z]{1,2}|\d+/\d+")
_DIRECTORIES = words(
    "app apps bin build config core data dist docs etc examples home include lib packages public scripts spec src "
    "static templates test tests tmp tools usr utils var"
)
_ADDRESS = re.compile(r"(?:[\w-]++\.)*+[\w-]++:\d{2,5}|\d{1,3}(?:\.\d{1,3}){3}(?::\d{2,5}|/\d{1,2})?")
_VERSION = re.compile(r"v\d+(?:\.\d+)*|v?\d+(?:\.\d+)+(?:[-+.]?(?:a|b|rc|dev|post|alpha|beta)[.\d]*)?", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?\d{3,}|0x[0-9A-Fa-f]+|#\d+|\d+[/:]\d+")
_FLAG = re.compile(r"--[A-Za-z][\w-]+")
_HASH = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ERROR = re.compile(
    r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Failure|Fault|Warning|Panic)|E(?:CONN|NO|ADDR|PERM|ACCES|AGAIN|TIMED|PIPE|EXIST|INVAL|ISDIR|HOST|NET|BUSY)[A-Z]*|SIG[A-Z]{3,}"
)
_IDENTIFIER = re.compile(
    r"[A-Za-z_$]\w+(?:\.[A-Za-z_]\w+)+|\$?[A-Za-z]\w*_\w+|_{1,2}[A-Za-z]\w+|[a-z]+\d*[A-Z]\w*|(?:[A-Z][a-z\d]+){2,}[A-Z]?|[A-Z]{2,10}-\d+"
    r"|[A-Za-z]\w*(?:::\w+)+|\$[A-Z_]{2,}|@[\w./-]{2,}"
)


@cached_words(entries=16_384, chars=200)
def kind_of(chunk: str) -> tuple[str, str] | None:
    """(kind, text without outer punctuation) of a match of `CHUNK`; None for a plain word."""
    text = _ESCAPES.sub("", chunk).rstrip(_EDGES).lstrip(":%+")
    file, colon, line = text.partition(":")
    if colon and line[:1].isdigit() and _EXTENSION.fullmatch(file.rpartition("/")[2]):
        text = file
    if len(text) < 2 or len(chunk) > 200 or (text.isalpha() and text[1:].islower()):
        return None
    for kind, pattern in _SHAPES:
        if pattern.fullmatch(text):
            return None if kind == "path" and _is_either_or(text) else (kind, text)
    return None


def _is_either_or(text: str) -> bool:
    """Whether the text is two words of prose with a slash between them, as in "and/or"."""
    return bool(_ALTERNATIVES.fullmatch(text)) and text.partition("/")[0] not in _DIRECTORIES


def parts_of(chunk: str) -> list[str]:
    """The parts of a list joined by colons, such as a search path; any other chunk is its only part."""
    return chunk.split(":") if ":/" in chunk and "://" not in chunk and not kind_of(chunk) else [chunk]


_SHAPES = (
    ("error", _ERROR),
    ("plain", _NUMBER),
    ("number", _ADDRESS),
    ("number", _VERSION),
    ("path", _EXTENSION),
    ("path", _PATH),
    ("identifier", _FLAG),
    ("identifier", _HASH),
    ("identifier", _IDENTIFIER),
)
