"""What the core reads of others' texts takes time in proportion to their length, whatever they hold."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compression.core import goal
from compression.core.goal import Decision, Progress, Step
from compression.core.text import summary_forms
from tests.growth import growth, repeated

HEADED = "## Summary\nA port.\n\n## State\n- Done: all\n"
ENDING = "x\n## State\nx"
Make = Callable[[int], str]


@pytest.mark.parametrize(
    "make",
    [
        repeated(" ", before="## Summary", after=ENDING),
        repeated("\t", before="**Summary", after=ENDING),
        repeated(" ", before="** Summary **", after=ENDING),
        repeated(" ", before="## Summary : ", after=ENDING),
        repeated("#", before=HEADED),
        repeated("## Summary\n"),
        repeated("<think>", before=HEADED),
        repeated("</think>", after=HEADED),
        repeated("\n", before=HEADED, after="x"),
    ],
)
def test_a_summary_is_cleaned_in_time_that_grows_with_its_length(make: Make) -> None:
    found = growth(summary_forms.clean, make, largest=200_000)
    assert found.is_linear, found.times


@pytest.mark.parametrize("read", [goal.parse_marks, goal.unmarked])
@pytest.mark.parametrize(
    "make",
    [
        repeated(" ", before="[CHECKPOINT]", after="x"),
        repeated(" ", before="[CHECKPOINT] a", after="x"),
        repeated(" - ", before="[CHECKPOINT] a", after="x"),
        repeated(" - LOCKED", before="[DECISION] a", after="x"),
        repeated("\t", before="[DECISION] a", after="LOCKED x"),
        repeated(" ", before="[ARTIFACT] Created", after="\x0b"),
        repeated("[DECISION] a\n"),
        repeated(" - [ARTIFACT] \n"),
        repeated("- ", after="[CHECKPOINT] x"),
    ],
)
def test_marks_are_read_in_time_that_grows_with_the_text(read: Callable[[str], object], make: Make) -> None:
    found = growth(read, make, largest=200_000)
    assert found.is_linear, found.times


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("## Summary", "## Summary"),
        ("  ###   SUMMARY  :  ", "## Summary"),
        ("**Summary**", "## Summary"),
        ("**Summary:**", "## Summary"),
        ("**Summary** :", "## Summary"),
        ("** Summary **", "** Summary **"),
        ("## Summary of it", "## Summary of it"),
    ],
)
def test_headings_are_told_by_the_whole_line(line: str, heading: str) -> None:
    assert summary_forms.clean(f"{line}\ntext") == f"{heading}\ntext"


def test_marks_are_read_whatever_blanks_surround_them() -> None:
    text = "[CHECKPOINT] \t the port  -  IN-PROGRESS \t\n * [DECISION]\tuse it: cheap  -  LOCKED  \n[ARTIFACT]   \nrest"
    assert goal.parse_marks(text) == (
        "rest",
        Progress((Step("the port", "in-progress"),), (Decision("use it", "cheap", locked=True),)),
    )
    assert goal.unmarked("[DECISION]  a b \t\n[ARTIFACT]  \nrest") == "- a b\n\nrest"
