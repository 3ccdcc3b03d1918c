"""Numbers, durations and times of day that a summary writes in another form than the message."""

from __future__ import annotations

import pytest

from compression.core.citations.hard_facts import hard_facts
from compression.core.citations.source_texts import SourceTexts

SAME = """
en: an hour and a half | 90 minutes
en: two and a half million | 2.5 million
en: two dozen eggs and thirty-five percent | 24 eggs, 35%
en: 1500 MB, 2 kg, 1.80 m | 1.5 GB, 2000 g, 180 cm
en: at half past seven, quarter to four, 3 in the afternoon and noon | 7:30, 3:45, 15:00, 12:00
de: dreihundert Euro, hundertzwanzig Gramm, tausendfünfhundert Zeilen | 300 Euro, 120 g, 1500 Zeilen
de: zweitausend Seiten und zweieinhalb Millionen | 2.000 Seiten, 2.500.000
de: 1,5 Mio. Euro, drei Prozent, fünfundzwanzig Leute | 1.500.000 Euro, 3 %, 25 Leute
de: anderthalb Stunden, zwei Wochen, eine Viertelstunde | 90 Minuten, 14 Tage, 15 Minuten
de: Um halb acht, Viertel nach drei, 15 Uhr, 16.30 Uhr | 7:30, 15:15, 15:00, 16:30
fr: trois cents euros, soixante-quinze pages, quatre-vingt-dix-sept pages | 300 euros, 75 pages, 97 pages
fr: deux mille lignes et 2,5 millions d'euros | 2 000 lignes, 2 500 000 euros
fr: une heure et demie, une demi-heure, deux semaines | 90 minutes, 30 minutes, 14 jours
fr: à 15h30, à 14 heures | 15:30, 14:00
es: trescientos euros, treinta y cinco páginas, dos mil líneas | 300 euros, 35 páginas, 2.000 líneas
es: una hora y media, el tres por ciento, a las 3 y media | 90 minutos, 3 %, 15:30
it: trecentocinquanta euro, duemila righe, un'ora e mezza, tre per cento | 350 euro, 2.000 righe, 90 minuti, 3 %
pt: trezentos euros, duas mil linhas, uma hora e meia | 300 euros, 2.000 linhas, 90 minutos
ru: триста рублей, две тысячи строк, три процента, полтора часа | 300 рублей, 2000 строк, 3 %, 90 минут
ko: 오후 3시, 세시 반, 오전 10시 30분 | 15:00, 3:30, 10:30
zh: 五月七日搬家，7月9号见 | 5月7日, 7月9日
zh: 三百元，三万五千，百分之三，下午三点半 | 300, 35000, 3%, 15:30
ja: 三百円、午後3時20分 | 300, 15:20
"""
OTHER = """
en: an hour and a half | 80 minutes
en: 1500 MB and half past seven | 2.5 GB
en: at half past seven | 8:30
en: five thirty | 535
de: dreihundert Euro | 400 Euro
de: hundertzwanzig Gramm | 130 g
de: 1,5 Mio. Euro | 15.000 Euro
de: Um halb acht | 8:30
de: Um 15.30 Uhr | 16:30
de: zweitausend Seiten | 3.000 Seiten
fr: trois cents euros | 400 euros
fr: deux mille lignes | 3 000 lignes
es: trescientos euros | 400 euros
it: trecentocinquanta euro | 450 euro
pt: trezentos euros | 400 euros
ru: триста рублей | 400 рублей
zh: 三百元，下午三点 | 400
zh: 五月七日 | 5月8日
ko: 오후 3시 | 16:00
ja: 午後3時20分 | 15:40
"""


def missing(line: str) -> list[str]:
    said, summary = line.partition(": ")[2].split(" | ")
    source = SourceTexts([(said, None)])
    facts = [fact for fact in hard_facts(summary) if fact.kind in ("number", "date")]
    assert facts
    return [fact.text for fact in facts if not source.has(fact)]


@pytest.mark.parametrize("line", SAME.strip().splitlines())
def test_another_form_of_a_number_is_found(line: str) -> None:
    assert missing(line) == []


@pytest.mark.parametrize("line", OTHER.strip().splitlines())
def test_another_number_is_not_found(line: str) -> None:
    assert missing(line)


def test_dates_of_messages_without_a_day_are_known() -> None:
    assert SourceTexts([("We moved on 7. März 2024.", None)]).has(hard_facts("Moved on 2024-03-07")[0])


@pytest.mark.parametrize("said", ["im März 2023", "en marzo de 2023", "mars 2023", "в марте 2023", "in March 2023"])
def test_a_month_of_a_year_is_found_in_another_form(said: str) -> None:
    source = SourceTexts([(f"Moved there {said}.", None)])
    (fact,) = hard_facts("Moved in March 2023")
    assert source.has(fact)
    assert not source.has(fact._replace(text="April 2023"))


@pytest.mark.parametrize(
    "text", ["5 mıl, 3 MİLLION, 2 million\u017f, 7 \u212a", "٣ Tage, ３ミリ秒, 5 mıllionen, halb zwölf, um ٧"]
)
def test_letters_that_only_look_alike_are_no_fault(text: str) -> None:
    for fact in hard_facts(f"{text}. It has 5000 rows and 12:30."):
        assert isinstance(SourceTexts([(text, None)]).has(fact), bool)
