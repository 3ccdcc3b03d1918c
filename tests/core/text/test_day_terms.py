"""Days that texts name: the same term for "yesterday" of 8 May and for "7 May 2023"."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from compression.core.recall.recall import SAID_THEN, PastMessage, days_of, passages
from compression.core.text.day_terms import day_term, day_terms, days_asked
from compression.core.text.relative_dates import resolve
from compression.core.values import Turn

MONDAY = date(2023, 5, 8)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("I went there yesterday.", ["20230507"]),
        ("Two days ago the pipe burst.", ["20230506"]),
        ("We met last Tuesday, and next Friday again.", ["20230502", "20230512"]),
        ("The rent is due on 3 March 2024.", ["20240303"]),
        ("Due 2024-03-03, said on March 1st.", ["20240303", "20230301"]),
        ("Gestern war es kalt, vorgestern nicht.", ["20230507", "20230506"]),
        ("Nous sommes partis avant-hier.", ["20230506"]),
        ("昨天下雨了。", ["20230507"]),
        ("Вчера мы переехали.", ["20230507"]),
        ("On 30 February 2023 or in the year 2023, last month.", []),
        ("A yesterdayish thing, gesterns.", []),
        ("Back on January 2.", ["20230102"]),
        ("Am 7. März 2024 ziehen wir um.", ["20240307"]),
        ("Le 1er août, ou le 14 juillet 2022.", ["20230801", "20220714"]),
        ("El 7 de septiembre de 2022 y el 3 de enero.", ["20220907", "20230103"]),
        ("Il 2 giugno e l'8 dicembre 2021.", ["20230602", "20211208"]),
        ("No dia 12 de fevereiro de 2024.", ["20240212"]),
        ("Встретимся 3 марта 2024 года, а не 9 мая.", ["20240303", "20230509"]),
        ("我们5月1日搬家，2022年3月4日签的合同。", ["20230501", "20220304"]),
        ("我们五月七日搬家，二〇二二年十二月二十五号签的合同，5月9号见。", ["20230507", "20221225", "20230509"]),
        ("十一月三十日に会議があります。", ["20221130"]),
        ("2022년 3월 4일에 계약했고 5월 1일에 이사했어요.", ["20220304", "20230501"]),
        ("三个月七天，每月三十一日，第一月台十号，3월", []),
        ("Im März 2023, en mayo de 2024, 2022年3月.", []),
        ("Mars has 2 moons, and 7 maids may swim.", []),
    ],
)
def test_the_days_of_a_text(text: str, days: list[str]) -> None:
    own = day_term(MONDAY)
    assert sorted(day_terms(text, MONDAY)) == sorted({own, *(f"_d{day}" for day in days)})


def test_letters_that_only_look_alike_name_no_day() -> None:
    text = "ye\u017fterday, la\u017ft \u017funday, two days ago, GE\u017fTERN, \u0131er\u0131; gestern, ieri, yesterday"
    assert set(day_terms(text, MONDAY)) == {day_term(MONDAY), "_d20230506", "_d20230507"}
    assert "la\u017ft \u017funday, two days ago (6 May)" in resolve(text, MONDAY)


def test_a_date_without_a_year_is_the_nearest_one() -> None:
    assert "_d20221231" in day_terms("It was on December 31.", date(2023, 1, 4))
    assert "_d20240102" in day_terms("On January 2, we leave.", date(2023, 12, 20))


def test_a_question_may_name_a_weekday_alone() -> None:
    assert days_asked("What did I say on Tuesday?", MONDAY) == ["_d20230502"]
    for question in (
        "Was habe ich am Dienstag gesagt?",
        "Qu'ai-je dit mardi ?",
        "¿Qué dije el martes?",
        "Cosa ho detto martedì?",
        "O que eu disse na terça-feira?",
        "Что я сказал во вторник?",
        "我周二说了什么？",
        "火曜日に何と言いましたか。",
    ):
        assert days_asked(question, MONDAY) == ["_d20230502"], question
    assert days_asked("这个一周一次，每周二都有吗？", MONDAY) == []
    assert days_asked("And the plan of 8 May?", date(2023, 5, 20)) == ["_d20230508"]
    assert days_asked("What is the port?", MONDAY) == []
    at_first = date(1, 1, 1)
    assert days_asked("on Monday, on \u017funday, yesterday, last Monday, 3 days ago, gestern", at_first) == []


def test_passages_of_the_day_and_those_that_name_it_count() -> None:
    asked = Turn("q", "user", "What happened on 7 May?", datetime(2023, 6, 1, tzinfo=UTC), 9)
    terms = list(days_of(asked))
    text = "We bought the boat yesterday. " + "And so on. " * 60
    said = PastMessage("1", 1, "user", "", text, datetime(2023, 5, 8, 9, tzinfo=UTC))
    counts = [count for _, count in passages(said, terms, 6_000, 300)]
    assert counts[0] == {"_d20230507": 1} and not any(counts[1:])
    then = replace(said, content="And so on. " * 60, created_at=datetime(2023, 5, 7, 9, tzinfo=UTC))
    assert all(count == {"_d20230507": SAID_THEN} for _, count in passages(then, terms, 6_000, 300))
    later = replace(then, created_at=datetime(2023, 5, 9, 9, tzinfo=UTC))
    assert not any(count for _, count in passages(later, terms, 6_000, 300))
