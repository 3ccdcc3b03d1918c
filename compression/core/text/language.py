"""Detects a text's main language by its script or its most common words; None if in doubt."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache

from compression.core.text.stopwords import words

SAMPLE_CHARS = 20_000
"""Only this many characters of a text are examined."""
MIN_LETTERS = 25
"""Texts with fewer letters, or fewer Latin words, have no detected language."""
DOMINANT_SHARE = 0.6
"""The least share of letters in a text's main script."""
MIN_COMMON_SHARE = 0.08
"""The least share of words that are among the language's most common."""
MIN_LEAD = 1.4
"""The factor by which the first language's common words must outnumber the second's."""

COMMON = {
    "English": words("the and of to is that it was for with are this have from not you they but were which would"),
    "German": words("der die und ist nicht das ich ein eine mit auf für den dem wir auch wird sind aber sich zu"),
    "French": words("le la les et est dans une des que pas pour sur avec nous vous qui sont mais ce je il du au"),
    "Spanish": words("el la los y es en una que no por con para las se del lo pero más como está su al un"),
    "Italian": words("il la di e è che non un una per con sono ma si del della nel anche come più gli le lo"),
    "Portuguese": words("o a os e é em uma que não por com para as se do da no na mas mais como está um foi"),
    "Dutch": words("de het een en is niet dat van ik op met voor zijn wordt ook maar naar deze er aan te"),
    "Polish": words("i w nie na jest się że z do to jak ale o co po od są dla tak już był przez"),
}

ASKED = {
    "English": words("a an as no be if or at by so all he she his her what when where who "
                     "why how did does do i my me we our about there has had can could"),
    "German": words("was wann wo wer wie warum wieso welche welcher welches welchen welchem hat haben hast habe hatte "
                    "war waren um nach alle aus dass oder wenn nur noch uhr bei mein meine "
                    "meinen wir unser uns mir mich dir im am zum zur vom des kann wurde als"),
    "French": words("quel quelle quels quelles quand où qui quoi comment pourquoi combien mon ma mes notre nos "
                    "je à au fait faire sont se si a ai ont été avait chez aux ces cette"),
    "Spanish": words("qué cuál cuáles cuándo dónde quién cómo cuánto cuántos mi mis nuestro nuestra tengo tiene ha he "
                     "hay fue era sobre cuando esta este"),
    "Italian": words("quale quali quando dove chi cosa come perché quanto quanti mio mia miei nostro nostra ho ha hai "
                     "i con fino si fa era stato al alla dal dalla nella sul questo questa"),
    "Portuguese": words("qual quais quando onde quem como quanto quantos meu minha nosso nossa tenho tem há ao à às "
                        "nos nas pelo pela isso esta este eu você"),
    "Dutch": words("wat wanneer waar wie waarom hoe welke mijn onze heeft heb had hebben was waren bij ik we wij kan"),
    "Polish": words("co kiedy gdzie kto jak dlaczego który która które ile mój moja nasz jest był była mam masz czy"),
}  # fmt: skip
"""Further words that show the language of a short text, for example a question."""
LETTERS = {
    "German": "äöüß",
    "French": "èêëîïûœù",
    "Spanish": "ñ¿¡",
    "Italian": "ìò",
    "Portuguese": "ãõ",
    "Polish": "ąęłńśźż",
}
"""The letters that a language alone has of those in COMMON, or nearly so: each counts as a common word."""
SHORT_CHARS = 600
"""Only this many characters of a text are read for its likely language."""

_WORD = re.compile(r"[^\W\d_]+")
_CYRILLIC = re.compile("[\u0400-\u04ff]{3}")
_ALIKE = {"HIRAGANA": "CJK", "KATAKANA": "CJK"}


def language(text: str) -> str | None:
    """The Unicode name of the text's script ("CYRILLIC"), or for Latin a key of `COMMON`; None if in doubt."""
    sample = text[:SAMPLE_CHARS]
    scripts = Counter(_script(letter) for letter in sample if letter.isalpha())
    letters = sum(scripts.values())
    if letters < MIN_LETTERS:
        return None
    script, count = scripts.most_common(1)[0]
    if count < DOMINANT_SHARE * letters:
        return None
    return _by_words(sample) if script == "LATIN" else script


def likely_language(text: str) -> str:
    """The language that most common words and letters of a text's beginning are of; "" if in doubt.

    Cyrillic is "Russian".
    """
    sample = text[:SHORT_CHARS].lower()
    if _CYRILLIC.search(sample):
        return "Russian"
    counts = Counter(name for word in _WORD.findall(sample) for name in _by_word().get(word, ()))
    counts.update({name: sum(map(sample.count, letters)) for name, letters in LETTERS.items()})
    (first, most), (_, second) = (counts.most_common(2) + [("", 0)] * 2)[:2]
    return first if most > second else ""


def common_words(language: str) -> frozenset[str]:
    """The most common words of a language, those of questions included."""
    return COMMON.get(language, frozenset()) | ASKED.get(language, frozenset())


@cache
def _by_word() -> dict[str, tuple[str, ...]]:
    """The languages of each common word."""
    found: dict[str, list[str]] = {}
    for name in COMMON:
        for word in common_words(name):
            found.setdefault(word, []).append(name)
    return {word: tuple(names) for word, names in found.items()}


def differs(summary: str, source: str) -> str | None:
    """The summary's language if it clearly differs from its source's, else None."""
    detected = language(summary)
    return detected if detected and detected != (language(source) or detected) else None


def _script(letter: str) -> str:
    name = unicodedata.name(letter, "?").split()[0]
    return _ALIKE.get(name, name)


def _by_words(sample: str) -> str | None:
    tokens = [word.lower() for word in _WORD.findall(sample)]
    if len(tokens) < MIN_LETTERS:
        return None
    counts = Counter(tokens)
    shares = sorted(((sum(counts[word] for word in common), name) for name, common in COMMON.items()), reverse=True)
    (most, name), (second, _) = shares[:2]
    return name if most >= MIN_COMMON_SHARE * len(tokens) and most >= MIN_LEAD * second else None
