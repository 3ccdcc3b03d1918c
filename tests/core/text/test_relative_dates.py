"""Days, months and years that depend on the day of a text, in the languages of the tables."""

from __future__ import annotations

from datetime import date

import pytest

from compression.core.text.relative_dates import relative_days, resolve

MONDAY = date(2023, 5, 8)


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("the day after tomorrow", "10 May"),
        ("the day before yesterday", "6 May"),
        ("last night", "7 May"),
        ("this past Friday", "5 May"),
        ("twelve days ago", "26 April"),
        ("next year", "2024"),
        ("gestern Abend", "2023-05-07"),
        ("übermorgen", "2023-05-10"),
        ("morgen früh", "2023-05-09"),
        ("letzten Dienstag", "2023-05-02"),
        ("am kommenden Sonnabend", "2023-05-13"),
        ("im letzten Monat", "2023-04"),
        ("vor drei Tagen", "2023-05-05"),
        ("vor einem Jahr", "2022"),
        ("hier soir", "2023-05-07"),
        ("avant-hier", "2023-05-06"),
        ("mardi dernier", "2023-05-02"),
        ("lundi prochain", "2023-05-15"),
        ("l'année dernière", "2022"),
        ("il y a trois jours", "2023-05-05"),
        ("ayer por la tarde", "2023-05-07"),
        ("pasado mañana", "2023-05-10"),
        ("el martes pasado", "2023-05-02"),
        ("el mes que viene", "2023-06"),
        ("hace dos años", "2021"),
        ("ieri sera", "2023-05-07"),
        ("dopodomani", "2023-05-10"),
        ("domenica prossima", "2023-05-14"),
        ("il mese scorso", "2023-04"),
        ("tre giorni fa", "2023-05-05"),
        ("anteontem", "2023-05-06"),
        ("terça-feira passada", "2023-05-02"),
        ("ano que vem", "2024"),
        ("há 3 meses", "2023-02"),
        ("вчера вечером", "2023-05-07"),
        ("в прошлый вторник", "2023-05-02"),
        ("в следующем месяце", "2023-06"),
        ("два года назад", "2021"),
        ("昨天", "2023-05-07"),
        ("上周三", "2023-05-03"),
        ("下星期天", "2023-05-21"),
        ("两个月前", "2023-03"),
        ("去年", "2022"),
        ("明後日", "2023-05-10"),
        ("先週の火曜日", "2023-05-02"),
        ("3日前", "2023-05-05"),
        ("eergisteren", "2023-05-06"),
        ("wczoraj", "2023-05-07"),
        ("three days from now", "11 May"),
        ("in two weeks or in two days' time", "10 May"),
        ("The exam is in ten days", "18 May"),
        ("we'll move in two months", "July 2023"),
        ("She leaves in a year", "2024"),
        ("Die Prüfung ist in drei Tagen", "2023-05-11"),
        ("heute in acht Tagen", "2023-05-16"),
        ("Wir gehen in zwei Monaten", "2023-07"),
        ("dans trois jours", "2023-05-11"),
        ("dentro de un año", "2024"),
        ("fra due mesi", "2023-07"),
        ("daqui a três dias", "2023-05-11"),
    ],
)
def test_a_relative_date_gets_that_of_the_calendar(text: str, resolved: str) -> None:
    assert resolve(text, MONDAY) == f"{text} ({resolved})"
    days = [f"{day.day} {day:%B}" if "-" not in resolved else str(day) for day, _ in relative_days(text, MONDAY)]
    assert days == ([resolved] if resolved.count("-") == 2 or resolved[-1].isalpha() else [])


@pytest.mark.parametrize(
    "text",
    [
        "Guten Morgen!",
        "Heute Morgen war es kalt.",
        "Morgen, kannst du mir helfen?",
        "Hier ist der Plan für das Auto.",
        "Por la mañana corro.",
        "Esta mañana llovió.",
        "目前天气很好",
        "今后天气会更热",
        "上周一起吃饭了",
        "5月3日前に出す",
        "Der vorige Absatz, vor drei Türen.",
        "I built it in three days.",
        "It is old. In three days the work was done.",
        "Rome was not built in a day.",
        "Ich habe es in drei Tagen geschafft.",
        "I learned to code in three months. It is amazing what we did in two days.",
        "She is in a year of transition, and it is due in a year or two.",
        "Er ist in drei Tagen nach Rom gelaufen. Man kann das in zwei Tagen schaffen.",
        "dans une année difficile, dans un mois de mai pluvieux",
        "Estoy dentro de casa, tra amici, dans le train.",
        "the last word, next to this chair",
    ],
)
def test_words_that_only_look_so_are_no_dates(text: str) -> None:
    assert resolve(text, MONDAY) == text


def test_each_date_of_a_text_is_resolved_once_in_its_place() -> None:
    text = "Gestern und vorgestern, 昨日も。 Yesterday, ieri."
    assert resolve(text, MONDAY) == (
        "Gestern (2023-05-07) und vorgestern (2023-05-06), 昨日 (2023-05-07)も。 Yesterday (7 May), ieri (2023-05-07)."
    )
    assert [place for _, place in relative_days(text, MONDAY)] == [0, 12, 24, 29, 40]


def test_a_word_of_two_languages_is_read_in_that_of_its_text() -> None:
    assert resolve("Hier, je suis allé avec elle dans la ville.", MONDAY).startswith("Hier (2023-05-07), je")


def test_the_calendar_ends() -> None:
    text = "gestern, il y a deux ans, last month, позавчера, 3年前"
    assert resolve(text, date(1, 1, 1)) == text
