"""What the benchmarks of memory count: nuggets, ranks, intervals and grades; and that no product line knows them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import mean

import pytest

from benchmarks import intervals, ranks
from benchmarks.measures import content
from benchmarks.questions import digest, nuggets_told, question_of, questions_of, wrong_keys
from tests.conftest import DATA
from tests.llm_server import LlmServer

ROOT = Path(__file__).parents[1]
PRODUCT = ("compression", "conversations", "chatsite", "templates", "static")
BENCHMARKS = re.compile(r"\b(?:BEAM|LoCoMo|LongMemEval|Melanie|Caroline|Joanna)\b", re.IGNORECASE)
BEAM = {
    "kind": "knowledge_update",
    "question": "Which port does billing use?",
    "answer": "It uses port 5433 after Monday.",
    "evidence": [3, 9],
    "rubric": ["LLM response should state: port 5433", "LLM response should mention: after Monday"],
}


def test_no_line_of_the_product_knows_a_benchmark() -> None:
    found = [
        f"{path}:{number}"
        for folder in PRODUCT
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".py", ".html", ".js", ".css", ".toml", ".md"}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if BENCHMARKS.search(line)
    ]
    assert not found


def test_a_nugget_has_the_words_of_the_rubric_that_the_question_has_not() -> None:
    question = question_of(BEAM)
    assert question.ability == "knowledge update" and question.evidence == (3, 9)
    assert question.nuggets == (content("5433"), content("after Monday"))
    assert nuggets_told(question, content("the port is 5433")) == 0.5


def test_an_instruction_is_looked_for_itself_and_what_only_the_reply_can_say_is_not() -> None:
    followed = {**BEAM, "answer": "", "instruction_being_tested": "Always name the port as a number."}
    assert question_of(followed).nuggets == (content("Always name as a number") - content(BEAM["question"]),)
    states = {**BEAM, "rubric": ["LLM response should state: there is contradictory information", "it said 5432"]}
    assert question_of(states).nuggets == (content("said 5432"),)
    assert question_of({**BEAM, "kind": "abstention", "answer": ""}).nuggets == ()


def test_questions_with_a_wrong_key_are_left_out() -> None:
    row = {"question": "Who?", "answer": "Ann", "category": 4, "evidence": []}
    assert len(wrong_keys()) == 58 and len(questions_of({"qa": [row]})) == 1
    if DATA.exists():
        import json

        rows = [row for file in (DATA / "locomo").glob("*.json") for row in json.loads(file.read_text())["qa"]]
        assert sum(digest(row["question"]) in wrong_keys() for row in rows) == 58


def test_recall_at_k_counts_each_one_once_and_mrr_the_first_that_is_wanted() -> None:
    found = ranks.found({"a", "b"}, ["x", "x", "a", "y", "z", "u", "b"])
    assert found == ranks.Found((0.0, 0.5, 1.0), 1 / 2)
    assert ranks.found({"a"}, ["x"]) == ranks.Found((0.0, 0.0, 0.0), 0.0)


def test_an_interval_holds_the_mean_narrows_with_more_values_and_is_the_same_each_time() -> None:
    values = [0.0, 1.0, 1.0, 0.5] * 5
    low, high = intervals.interval(values)
    assert low < mean(values) < high and intervals.interval(values) == (low, high)
    narrower = intervals.interval(values * 25)
    assert narrower[1] - narrower[0] < (high - low) / 3
    assert intervals.interval([0.25]) == (0.25, 0.25)


@pytest.mark.long
@pytest.mark.once
@pytest.mark.skipif(not DATA.exists(), reason="the real conversations are kept beside the checkout")
def test_a_reader_answers_and_a_judge_grades() -> None:
    with LlmServer() as reader, LlmServer() as judge:
        reader.default = reader.default.__class__("The answer is 42.")
        judge.default = judge.default.__class__("1 yes")
        models = {"READER": f"small@{reader.url}", "JUDGE": f"large@{judge.url}", "BENCH": "small"}
        environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"} | models
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.memory"], cwd=ROOT, env=environment, capture_output=True, text=True
        )
    assert done.returncode == 0, done.stderr
    assert len(reader.requests) == len(judge.requests) > 5
    assert "answers graded 1.000" in done.stdout
    assert "The answer is 42." in str(judge.requests[0]) and "numbered criteria" in str(judge.requests[0])


def test_a_model_without_an_address_is_refused() -> None:
    program = "from benchmarks import judging; judging.model('READER')"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=os.environ | {"READER": "gpt"}, capture_output=True, text=True
    )
    assert done.returncode == 1 and "READER=gpt: give it as model@https://host/v1" in done.stderr
