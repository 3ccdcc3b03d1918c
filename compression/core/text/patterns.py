"""Regular expressions for facts in text.

Every pattern runs in linear time: its repetitions are bounded or possessive, without nested alternatives.
"""

from __future__ import annotations

import re

from compression.core.caching import cached_words
from compression.core.lazy_pattern import lazy_pattern
from compression.core.text.durations import SIGNS, WORDS
from compression.core.text.expressions import one_of
from compression.core.text.stopwords import words

UNSPACED = r"\u0e00-\u0fff\u3040-\ud7ff"
"""Letters of scripts without spaces between words, for a class of characters in an expression."""
_BEGINS, _ENDS = rf"(?<![^\W{UNSPACED}])", rf"(?![^\W{UNSPACED}])"
"""The edges of a word or number, which may touch a letter of these scripts."""
MONTHS = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"
)
OTHER_MONTHS = (
    "januar|jänner|janvier|enero|gennaio|janeiro|январь|января|январе",
    "februar|feber|février|febrero|febbraio|fevereiro|февраль|февраля|феврале",
    "märz|mars|marzo|março|март|марта|марте",
    "april|avril|abril|aprile|апрель|апреля|апреле",
    "mai|mayo|maggio|maio|май|мая|мае",
    "juni|juin|junio|giugno|junho|июнь|июня|июне",
    "juli|juillet|julio|luglio|julho|июль|июля|июле",
    "august|août|agosto|август|августа|августе",
    "september|septembre|septiembre|setiembre|settembre|setembro|сентябрь|сентября|сентябре",
    "oktober|octobre|octubre|ottobre|outubro|октябрь|октября|октябре",
    "november|novembre|noviembre|novembro|ноябрь|ноября|ноябре",
    "dezember|décembre|diciembre|dicembre|dezembro|декабрь|декабря|декабре",
)
"""The names of the months in other languages than English, from January on."""
_OTHER_NAMES = {name for names in OTHER_MONTHS for name in names.split("|")}
_OTHERS = rf"(?i:{one_of(_OTHER_NAMES)})"
_FIRST_LETTERS = "".join(sorted({letter for name in _OTHER_NAMES for letter in (name[0], name[0].upper())}))
_UNITS = (
    r"%|‰|°[CF]|[kKMGTP]i?B(?:/s)?|[kMG]?bit/s|[kMG]bps|[kMG]?Hz|[mµun]?s|min|[kcmµn]?m|[kmµ]?g|[mc]?l|[kM]?W|[kM]?Wh|[mk]?V|mA|dB|px|pt|em|rem|fps|rpm"
    r"|seconds?|minutes?|hours?|days?|weeks?|months?|years?|miles?|dollars?|euros?|pounds?|tokens?|bytes?|users?|people|items?"
    r"|rows?|lines?|files?|requests?|times|pages?|characters?|degrees|percent|am|pm|AM|PM|USD|EUR|GBP|CHF|JPY"
)
_OTHER_UNITS = one_of(word for word in WORDS if len(word) > 2) + (
    r"|prozent|pour cent|por ciento|por cento|per cento|процент\w{0,3}|dólares|dollari|рубл\w{1,3}|руб"
    r"|leute|personen|personnes|personas|persone|pessoas|человека?"
)
_SIGNS = one_of(SIGNS) + "|[百千万萬億亿兆]?(?:美元|欧元|公里|公斤|[元円人岁歳台行页頁倍個]|个(?!月))|[%百千万萬億亿兆]"

URL = lazy_pattern(
    rf"{_BEGINS}(?:https?|ftp|wss?|ssh|git|file|postgres(?:ql)?|mysql|redis|amqp|s3)://"
    rf"(?:[^\s<>\"'`)\]}}|，。、；：！？（）」』】《》{UNSPACED}]|(?<=[/=])[{UNSPACED}]{{1,80}}+){{2,400}}+"
)
"""An address ends before a letter of a script without spaces, unless that begins a part of its path."""
_LETTERS = r"A-Za-z\d\u00c0-\u024f\u0400-\u04ff"
EMAIL = lazy_pattern(
    rf"{_BEGINS}(?<![.+-])[{_LETTERS}_.+-]{{1,64}}+"
    rf"@[{_LETTERS}-]{{1,63}}+(?:\.[{_LETTERS}-]{{1,63}}+){{1,8}}"
)
_OF_DIGITS = (
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:?\d{2})?)?" + _ENDS,
    r"\d{1,2}(?:st|nd|rd|th)? (?:of )?" + MONTHS + r"(?:,? \d{4}\b)?",
    r"\d{1,4}[./]\d{1,2}[./]\d{2,4}" + _ENDS,
    r"\d{1,2}:\d{2}(?::\d{2})?(?: ?[AaPp]\.?[Mm]\b)?",
    r"\d{1,2}(?:\.|º|°|er)? (?:de |d['’])?" + _OTHERS + r"\b(?:(?: de| del)? \d{4}\b)?",
    r"\d{2,4}年(?:\d{1,2}月)?(?:\d{1,2}[日号號])?",
    r"\d{1,2}月\d{1,2}[日号號]",
    r"\d{4}년(?: ?\d{1,2}월)?(?: ?\d{1,2}일)?",
    r"\d{1,2}월 ?\d{1,2}일",
)
_ONE_TO_NINE = "一二三四五六七八九"
_HAN = f"〇零{_ONE_TO_NINE}十"
_IN_HAN = (
    rf"(?<![{_HAN}])(?:[〇零{_ONE_TO_NINE}]{{4}}年)?(?:十[一二]?|[{_ONE_TO_NINE}])月"
    rf"(?:[二三]?十[{_ONE_TO_NINE}]?|[{_ONE_TO_NINE}])[日号號]"
)
_OF_NAMES = (
    r"(?=[JFMASOND])" + MONTHS + r" (?:\d{1,2}(?:st|nd|rd|th)?\b(?:,? \d{4}\b)?|\d{4}\b)",
    _OTHERS + r"(?: de| del)? \d{4}\b",
)
DATE = lazy_pattern(
    rf"(?=\d){_BEGINS}(?:{'|'.join(_OF_DIGITS)})|(?=[{_FIRST_LETTERS}]){_BEGINS}(?:{'|'.join(_OF_NAMES)})"
    rf"|(?=[{_HAN}]){_IN_HAN}"
)
_SPACED = r"[1-9]\d{0,2}(?:[ \u00a0\u202f]\d{3}){1,4}"
MEASURE = lazy_pattern(
    rf"(?=[\d$€£¥₹]){_BEGINS}(?<![.,])"
    r"(?:[$€£¥₹]\s?\d[\d.,]{0,20}+(?:\s?(?:k|K|M|B|bn|million|billion)\b)?"
    rf"|(?:{_SPACED}|\d[\d.,]{{0,20}})\s?(?:(?:{_UNITS}|[$€£¥₹]|(?i:{_OTHER_UNITS})){_ENDS}|{_SIGNS}))"
)
SPACED = lazy_pattern(rf"(?=\d)(?<![\w.,])(?<!\d ){_SPACED}(?= [^\W\d_])")
"""A number with spaces between its thousands and a noun behind it: "2 000 lignes"."""
QUOTED = lazy_pattern(
    r"\"([^\"\n]{3,80}+)\"|“([^”\n]{3,80}+)”|«([^»\n]{3,80}+)»|「([^」\n]{2,80}+)」|《([^》\n]{2,80}+)》|`([^`\n]{2,80}+)`|(?<!\w)'([^'\n]{3,60}+)'(?!\w)"
)
CHUNK = lazy_pattern(r"(?!(?<=<)/)[\w$./~@%:+#\\-]++")
"""A run of characters that may be a path, number or identifier; it does not begin at the "/" of a closing tag."""

_RUN = lazy_pattern(f"[{UNSPACED}]")
_SPACED_LETTER = lazy_pattern(f"[^\\W_{UNSPACED}]")
_RUNS = lazy_pattern(f"[{UNSPACED}]+|[^{UNSPACED}]+")
_ESCAPES = lazy_pattern(r"(?:\\[nrt])++$")
_EDGES = ".:-+#%@"
_EXTENSION = lazy_pattern(
    r"[\w@+-][\w.@+-]*\.(?:py|pyi|js|mjs|ts|tsx|jsx|json|ya?ml|toml|ini|cfg|conf|env|lock|md|rst|txt|log|csv|tsv|html?|css|scss|svg|png|jpe?g|gif"
    r"|webp|pdf|docx?|xlsx?|pptx?|sh|bash|zsh|ps1|bat|sql|db|sqlite3?|c|h|cc|cpp|hpp|rs|go|java|kt|swift|rb|php|pl|lua|r|ipynb|xml|zip|tar|gz|tgz"
    r"|whl|so|dll|exe|pem|key|crt|proto|gradle|mk|tf|vue|svelte)",
    re.IGNORECASE,
)
_PATH = lazy_pattern(
    r"(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@+~#%-]+)+[/\\]?|[\w.@+~%-]+(?:[/\\][\w.@+~#%-]+)+[/\\]?|[\w.-]{2,}/"
)
_ALTERNATIVES = lazy_pattern(r"[^\W\d_]+/[^\W\d_]+|[a-zA-Z]/[a-zA-Z]{1,2}|\d+/\d+")
_DIRECTORIES = words(
    "app apps bin build config core data dist docs etc examples home include lib packages public scripts spec src "
    "static templates test tests tmp tools usr utils var"
)
_ADDRESS = lazy_pattern(r"(?:[\w-]++\.)*+[\w-]++:\d{2,5}|\d{1,3}(?:\.\d{1,3}){3}(?::\d{2,5}|/\d{1,2})?")
_VERSION = lazy_pattern(r"v\d+(?:\.\d+)*|v?\d+(?:\.\d+)+(?:[-+.]?(?:a|b|rc|dev|post|alpha|beta)[.\d]*)?", re.IGNORECASE)
_NUMBER = lazy_pattern(r"[+-]?\d{3,}|0x[0-9A-Fa-f]+|#\d+|\d+[/:]\d+")
_FLAG = lazy_pattern(r"--[A-Za-z][\w-]+")
_HASH = lazy_pattern(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ERROR = lazy_pattern(
    r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Failure|Fault|Warning|Panic)|E(?:CONN|NO|ADDR|PERM|ACCES|AGAIN|TIMED|PIPE|EXIST|INVAL|ISDIR|HOST|NET|BUSY)[A-Z]*|SIG[A-Z]{3,}"
)
_IDENTIFIER = lazy_pattern(
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
    """The parts of a list joined by colons, such as a search path, and the runs of a chunk; else the chunk alone."""
    if ":/" in chunk and "://" not in chunk and not kind_of(chunk):
        return chunk.split(":")
    return runs_of(chunk)


def runs_of(chunk: str) -> list[str]:
    """The runs of letters of scripts with and without spaces between words: "在app.py里" has three.

    The name of a file is one run.
    """
    if chunk.isascii() or not (_RUN.search(chunk) and _SPACED_LETTER.search(chunk)) or _is_file(chunk):
        return [chunk]
    return [run[0] for run in _RUNS.finditer(chunk)]


def _is_file(chunk: str) -> bool:
    """Whether the chunk is a path with names of one script each, before their extensions: "文档/报告.docx"."""
    names = (name.rpartition(".")[0] or name for name in re.split(r"[/\\]", chunk))
    is_mixed = any(_RUN.search(name) and _SPACED_LETTER.search(name) for name in names)
    return not is_mixed and (shape := kind_of(chunk)) is not None and shape[0] == "path"


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
