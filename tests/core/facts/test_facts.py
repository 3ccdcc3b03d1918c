import pytest
from hypothesis import given
from hypothesis import strategies as st

from compression.core.extractive.summariser import extract
from compression.core.facts.find import find_facts, kept_facts
from compression.core.facts.restored_facts import repair, with_facts
from compression.core.tokens import count_tokens
from compression.core.values import Fact
from tests.core.conversations import real
from tests.timing import cpu_seconds


def found(*texts: str) -> dict[str, str]:
    return {fact.text: fact.kind for fact in find_facts(texts)}


@pytest.mark.parametrize(
    ("text", "fact", "kind"),
    [
        ("Never restart on Fridays.", "Never restart on Fridays", "rule"),
        ("The port is 5433, never restart on Fridays.", "never restart on Fridays", "rule"),
        ("Please always answer in French!", "Please always answer in French", "rule"),
        ("ok. Do not touch config/prod.yaml; it is live", "Do not touch config/prod.yaml", "rule"),
        ("You must keep the old API.", "You must keep the old API", "rule"),
        ("Bitte niemals am Freitag neu starten.", "Bitte niemals am Freitag neu starten", "rule"),
        ("请不要在周五重启。", "请不要在周五重启", "rule"),
        ("look at src/app/main.py:12 now", "src/app/main.py", "path"),
        ("open ~/notes/todo.md", "~/notes/todo.md", "path"),
        (r"it is in C:\Users\me\file.txt", r"C:\Users\me\file.txt", "path"),
        ("in src/marshmallow it", "src/marshmallow", "path"),
        ("the settings.py file", "settings.py", "path"),
        ("call parse_header() first", "parse_header", "identifier"),
        ("then getUserName(id)", "getUserName", "identifier"),
        ("use os.path.join here", "os.path.join", "identifier"),
        ("run it with --dry-run", "--dry-run", "identifier"),
        ("commit 9fceb02d0ae5 broke it", "9fceb02d0ae5", "identifier"),
        ("ticket ABC-123 is open", "ABC-123", "identifier"),
        ("it listens on 5433", "5433", "number"),
        ("the server db.example.com:5432 is up", "db.example.com:5432", "number"),
        ("it took 35 ms", "35 ms", "number"),
        ("it costs $1,200.50 a year", "$1,200.50", "number"),
        ("we run v2.14.1 there", "v2.14.1", "number"),
        ("a rise of 12 %", "12 %", "number"),
        ("on 8 May 2023 we met", "8 May 2023", "date"),
        ("due March 5, 2026", "March 5, 2026", "date"),
        ("at 2024-11-02T10:30 it fell over", "2024-11-02T10:30", "date"),
        ("see https://example.com/a?b=1.", "https://example.com/a?b=1", "url"),
        ("write to ann@example.org, please", "ann@example.org", "email"),
        ("then I met Amy Ellis Nutt there", "Amy Ellis Nutt", "name"),
        ("she read “Becoming Nicole” twice", "Becoming Nicole", "quoted"),
        ("it raised ValueError again", "ValueError", "error"),
        ("got ECONNREFUSED", "ECONNREFUSED", "error"),
    ],
)
def test_a_fact_is_found_with_its_kind(text: str, fact: str, kind: str) -> None:
    assert found(text).get(fact) == kind


@pytest.mark.parametrize(
    "text",
    [
        "I never thought about it, and I always wanted to.",
        "Don't worry about it. Never mind! He or she, and/or both, advice/assistance.",
        "This is plain text, isn't it? Well, yes i.e. no.",
    ],
)
def test_plain_speech_holds_no_facts(text: str) -> None:
    assert found(text) == {}


def test_rules_come_first_and_then_what_is_said_more_often() -> None:
    facts = find_facts(["see a/b.py and c/d.py", "again c/d.py", "Never push to main."])
    assert [fact.text for fact in facts][:3] == ["Never push to main", "c/d.py", "a/b.py"]


def test_a_fact_is_listed_once_whatever_its_case() -> None:
    assert len(find_facts(["ValueError", "valueerror ValueError"])) == 1


def test_a_fact_is_kept_only_where_it_stands_by_itself() -> None:
    fact = Fact("number", "5433", 1.0)
    assert kept_facts([fact], "port 5433.")
    assert kept_facts([fact], "端口5433是")
    assert not kept_facts([fact], "15433")
    assert not kept_facts([fact], "5433a")
    assert not kept_facts([Fact("number", "1.5", 1.0)], "1.5.3")
    assert kept_facts([Fact("number", "1.5", 1.0)], "it is 1.5.")


def test_a_fact_is_kept_whatever_its_case_and_spacing() -> None:
    assert kept_facts([Fact("rule", "never restart  on Fridays", 1.0)], "Rule: Never\nrestart on fridays!")


def test_a_repair_adds_what_matters_most_within_its_budget() -> None:
    missing = find_facts(["Never restart on Fridays.", "the port is 5433", "see docs/a.md"])
    summary = "## Summary\nText.\n\n## Context\n-"
    text, repaired = repair(summary, missing, budget=17, count=count_tokens)
    assert text.startswith(summary)
    assert "## Kept facts\n- Never restart on Fridays" in text
    assert 0 < len(repaired) < len(missing)
    assert count_tokens(text) - count_tokens(summary) <= 17
    assert kept_facts(repaired, text) == repaired


def test_a_second_repair_adds_to_the_section_of_the_first() -> None:
    missing = find_facts(["the port is 5433", "see docs/a.md"])
    text, _ = repair("## Summary\nText.", missing[:1], budget=50, count=count_tokens)
    text, _ = repair(text, missing[1:], budget=50, count=count_tokens)
    assert text.count("## Kept facts") == 1
    assert kept_facts(missing, text) == missing


def test_a_repair_without_room_changes_nothing() -> None:
    assert repair("Text.", find_facts(["port 5433"]), budget=2, count=count_tokens) == ("Text.", ())


def test_a_repair_takes_a_fact_that_fits_to_the_token() -> None:
    summary, facts = "## Summary\nText.", find_facts(["see docs/a.md and port 5433"])
    cost = count_tokens(with_facts(summary, facts)) - count_tokens(summary)
    assert repair(summary, facts, budget=cost, count=count_tokens)[1] == facts
    assert repair(summary, facts, budget=cost - 1, count=count_tokens)[1] == facts[:1]


@given(st.lists(st.text(st.characters(), max_size=300), max_size=4))
def test_whatever_the_text_facts_are_found_kept_and_repaired(texts: list[str]) -> None:
    facts = find_facts(texts)
    assert facts == find_facts(texts)
    text, repaired = repair("", facts, budget=200, count=count_tokens)
    assert count_tokens(text) <= 200
    assert kept_facts(repaired, text) == repaired
    text.encode()


@pytest.mark.parametrize(
    "hostile",
    [
        "a",
        "A",
        "(",
        "[",
        '"',
        "'",
        "/",
        "\\",
        ".",
        "-",
        "_a",
        "9",
        "9.",
        "never ",
        "@",
        "a@",
        "🙂",
        "字",
        "a ",
        "A ",
        "` ",
        "A1",
        ":/",
    ],
)
def test_hostile_text_of_200_000_characters_takes_linear_time(hostile: str) -> None:
    text = hostile * (200_000 // len(hostile))
    assert cpu_seconds(lambda: kept_facts(find_facts([text]), text)) < 4  # where it is not linear, minutes


def test_a_conversation_of_25_000_tokens_is_validated_within_100_ms() -> None:
    turns = real("locomo/43.json")
    summary = extract(turns, earlier="", max_tokens=2000, count=count_tokens)

    def validate() -> None:
        kept_facts(find_facts(turn.content for turn in turns), summary)

    assert cpu_seconds(validate, rounds=7) < 0.15


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("请修改config.yaml文件中的max_tokens参数，端口8080改为9090", ["config.yaml", "max_tokens", "8080", "9090"]),
        ("増えた35%です。ファイルsrc/app.pyのget_user関数", ["src/app.py", "35%", "get_user"]),
        ("파일 config.yaml을 max_tokens로 5GB를", ["config.yaml", "5GB", "max_tokens"]),
        ("错误ValueError出现了，版本1.2.3的API_KEY", ["ValueError", "1.2.3", "API_KEY"]),
        ("请求/api/users返回404", ["/api/users", "404"]),
        ("速度是100ms，价格是300元，预算300万，有25人", ["100ms", "300元", "300万", "25人"]),
        ("打开文档/报告.docx吧，发到alice@example.com吧，周三15:30开会", ["alice@example.com", "15:30"]),
        ("访问https://example.com/a/b然后看《三体三部曲》", ["https://example.com/a/b", "三体三部曲"]),
        ("Es dauert 48 Stunden, 5 Tage, kostet 30 Prozent", ["48 Stunden", "5 Tage", "30 Prozent"]),
        ("Il y a 2 000 lignes et 2 500 000 euros, 25 personnes", ["2 500 000 euros", "25 personnes", "2 000"]),
        ("Прошло 12 недель, 40 процентов, 300 рублей", ["12 недель", "40 процентов", "300 рублей"]),
    ],
)
def test_facts_beside_letters_of_other_languages_are_found(text: str, facts: list[str]) -> None:
    found = {fact.text for fact in find_facts([text])}
    assert found >= set(facts)
    assert not [fact for fact in found - set(facts) if not fact.isascii() and "." not in fact]


def test_a_row_of_numbers_is_no_number_with_spaces() -> None:
    assert {fact.text for fact in find_facts(["743 100 425\n12 672 100 606"])} == {"743", "100", "425", "672", "606"}
