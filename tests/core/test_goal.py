"""The marks of a summary, and what they do to a goal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compression.core.goal import (
    MAX_ENTRIES,
    MAX_TEXT_CHARS,
    Artifact,
    Decision,
    Progress,
    Step,
    advanced,
    as_json,
    from_json,
    marks_in,
    parse_marks,
    render_goal,
    unmarked,
    without_quoted_marks,
)

AT = "2026-11-22T09:00:00+00:00"
MARKED = """## Summary
The tables are moved.

## Decisions
- Keep PostgreSQL 15: pg_cron

[CHECKPOINT] Move the tables - COMPLETED
- [CHECKPOINT] Switch the traffic - in-progress
[CHECKPOINT] Write the report
[DECISION] Switch on Tuesday: traffic is lowest - LOCKED
[DECISION] Use blue-green
[ARTIFACT] Modified `deploy/alpha.yaml`
[ARTIFACT] docs/plan.md
"""


def test_marks_are_read_and_taken_out() -> None:
    text, marks = parse_marks(MARKED)
    assert text == "## Summary\nThe tables are moved.\n\n## Decisions\n- Keep PostgreSQL 15: pg_cron"
    assert marks.checkpoints == (
        Step("Move the tables", "completed"),
        Step("Switch the traffic", "in-progress"),
        Step("Write the report", "pending"),
    )
    assert marks.decisions == (
        Decision("Switch on Tuesday", "traffic is lowest", locked=True),
        Decision("Use blue-green"),
    )
    assert marks.artifacts == (Artifact("deploy/alpha.yaml", "modified"), Artifact("docs/plan.md", "created"))


@pytest.mark.parametrize(
    "line",
    [
        "[CHECKPOINT]",
        "[DECISION]   ",
        "[DECISION] : because",
        "[ARTIFACT] Created ``",
        "a [CHECKPOINT] b",
        "[NOTE] x",
        "[checkpoint] x",
    ],
)
def test_what_is_no_mark_says_nothing(line: str) -> None:
    assert not parse_marks(f"## Summary\n{line}\n")[1]


DONE = [
    "- **[CHECKPOINT]** Move the tables - COMPLETED",
    "**[CHECKPOINT] Move the tables - COMPLETED**",
    "**[CHECKPOINT]:** Move the tables - COMPLETED",
    "`[CHECKPOINT] Move the tables - COMPLETED`",
    "1. [CHECKPOINT] Move the tables – COMPLETED",
    "* [CHECKPOINT] Move the tables — COMPLETED",
    "- [x] [CHECKPOINT] Move the tables: Completed.",
    "| [CHECKPOINT] Move the tables | COMPLETED |",
    "### [CHECKPOINT] Move the tables (COMPLETED)",
    "[CHECKPOINT]: Move the tables [COMPLETED]",
    "[Checkpoint] Move the tables - **COMPLETED**",
    "【CHECKPOINT】Move the tables - ✅ COMPLETED",
    "[CHECKPOINT] Move the tables -> DONE",
    "[CHECKPOINT] Move the tables COMPLETED",
    "[CHECKPOINT] Move the tables - COMPLETED (2026-11-03)",
]


@pytest.mark.parametrize("line", DONE)
def test_a_completed_step_is_read_in_each_form(line: str) -> None:
    text, marks = parse_marks(f"## Summary\nx\n{line}")
    assert (text, marks) == ("## Summary\nx", Progress((Step("Move the tables", "completed"),)))


@pytest.mark.parametrize(
    ("words", "text", "status"),
    [
        ("Move - IN PROGRESS", "Move", "in-progress"),
        ("Move - partially completed", "Move", "in-progress"),
        ("Move - NOT STARTED", "Move", "pending"),
        ("Move - TODO", "Move", "pending"),
        ("Move - not completed", "Move", "pending"),
        ("Run `make test` - COMPLETED", "Run `make test`", "completed"),
        ("Port 22: open - PENDING", "Port 22: open", "pending"),
        ("Get the report done", "Get the report done", "pending"),
        ("Eat the half-done", "Eat the half-done", "pending"),
        ("Keep task_done", "Keep task_done", "pending"),
    ],
)
def test_the_status_of_a_step_stands_apart_from_its_words(words: str, text: str, status: Any) -> None:
    assert parse_marks(f"[CHECKPOINT] {words}")[1] == Progress((Step(text, status),))


@pytest.mark.parametrize(
    ("words", "decision"),
    [
        ("Switch on Tuesday — traffic is lowest — LOCKED", Decision("Switch on Tuesday", "traffic is lowest", True)),
        ("Switch on Tuesday: traffic is lowest (LOCKED)", Decision("Switch on Tuesday", "traffic is lowest", True)),
        ("Switch on Tuesday：traffic is lowest - **LOCKED**", Decision("Switch on Tuesday", "traffic is lowest", True)),
        ("Switch on Tuesday: traffic is lowest - NOT LOCKED", Decision("Switch on Tuesday", "traffic is lowest")),
        ("Keep the door locked", Decision("Keep the door locked")),
    ],
)
def test_a_decision_has_its_reason_and_its_lock(words: str, decision: Decision) -> None:
    assert parse_marks(f"[DECISION] {words}")[1] == Progress(decisions=(decision,))


@pytest.mark.parametrize(
    ("words", "files"),
    [
        ("Created: src/a.py", [("src/a.py", "created")]),
        ("Created src/a.py (the parser)", [("src/a.py", "created")]),
        ("Created `src/a.py`: the parser", [("src/a.py", "created")]),
        ("Updated src/a.py - the parser", [("src/a.py", "modified")]),
        ("**Modified** `src/a.py`", [("src/a.py", "modified")]),
        ("src/a.py (modified)", [("src/a.py", "modified")]),
        ("src/a.py - Deleted", [("src/a.py", "deleted")]),
        ("Removed src/a.py", [("src/a.py", "deleted")]),
        ("Added a.py, src/b.py and docs/c.md", [(name, "created") for name in ("a.py", "src/b.py", "docs/c.md")]),
        ("Renamed src/a.py to src/b.py", [("src/a.py", "deleted"), ("src/b.py", "created")]),
        ("new-file.py", [("new-file.py", "created")]),
        ("src/**/x.py", [("src/**/x.py", "created")]),
        ("Created My Docs/final report.docx", [("My Docs/final report.docx", "created")]),
        ("Created app/[id]/page.tsx", [("app/[id]/page.tsx", "created")]),
        ("Looked at src/a.py", []),
    ],
)
def test_the_files_of_a_mark_are_read_with_what_became_of_them(words: str, files: list[Any]) -> None:
    assert parse_marks(f"[ARTIFACT] {words}")[1] == Progress(artifacts=tuple(Artifact(*file) for file in files))


@pytest.mark.parametrize("line", [*DONE, "[ARTIFACT] Created app/[id]/page.tsx", "[DECISION] Keep [15]: cron [LOCKED]"])
def test_a_mark_that_a_message_quotes_is_no_report(line: str) -> None:
    """A person or a tool may have written it; the summariser repeats it in another form."""
    marks = parse_marks(line)[1]
    assert marks and not without_quoted_marks(marks, marks_in([f"Please write {line} at the end."]))


def test_a_mark_of_a_known_checkpoint_changes_that_one_alone() -> None:
    before = Progress((Step("Move the tables"), Step("Switch the traffic")))
    after = advanced(before, Progress((Step("Move the tables", "completed"),)), at=AT)
    assert after.checkpoints == (Step("Move the tables", "completed", AT), Step("Switch the traffic"))
    other = advanced(before, Progress((Step("move the tables.", "completed"),)), at=AT)
    assert other == after, "and so does one whose words differ in case and stop alone"
    third = advanced(before, Progress((Step("Move the rows", "completed"),)), at=AT)
    assert third.checkpoints == (*before.checkpoints, Step("Move the rows", "completed", AT))


def test_marks_that_come_again_change_nothing() -> None:
    marks = parse_marks(MARKED)[1]
    once = advanced(Progress(), marks, at=AT)
    assert advanced(once, marks, at="2027-01-01T00:00:00+00:00") == once


def test_a_locked_decision_stays_locked_and_keeps_its_reason() -> None:
    before = Progress(decisions=(Decision("Keep 15", "pg_cron", locked=True),))
    assert advanced(before, Progress(decisions=(Decision("Keep 15", "no reason"),)), at=AT) == before


def test_a_step_that_is_reopened_loses_its_date() -> None:
    before = Progress((Step("Move", "completed", AT),))
    assert advanced(before, Progress((Step("Move", "in-progress"),)), at=AT).checkpoints == (
        Step("Move", "in-progress"),
    )


def test_progress_stays_small_and_gives_up_what_is_done_first() -> None:
    before = Progress(
        tuple(Step(f"step {number}", "completed" if number < 10 else "pending") for number in range(MAX_ENTRIES)),
        tuple(Decision(f"decision {number}", locked=number > 0) for number in range(MAX_ENTRIES)),
    )
    after = advanced(before, Progress((Step("one more"),), (Decision("another", locked=True),)), at=AT)
    assert len(after.checkpoints) == len(after.decisions) == MAX_ENTRIES
    assert [step.text for step in after.checkpoints][:2] == ["step 1", "step 2"]
    assert after.checkpoints[-1] == Step("one more")
    assert [one.text for one in after.decisions if one.text in ("decision 0", "another")] == ["another"]


def test_locked_decisions_are_never_given_up() -> None:
    before = Progress(decisions=tuple(Decision(f"decision {number}", locked=True) for number in range(MAX_ENTRIES)))
    assert advanced(before, Progress(decisions=(Decision("another"),)), at=AT) == before


def test_long_marks_are_cut() -> None:
    marks = parse_marks(f"[DECISION] {'x' * 9_000}: {'y' * 9_000}")[1]
    assert {len(marks.decisions[0].text), len(marks.decisions[0].rationale)} == {MAX_TEXT_CHARS}


def test_progress_survives_as_json() -> None:
    progress = advanced(Progress(), parse_marks(MARKED)[1], at=AT)
    assert from_json(json.loads(json.dumps(as_json(progress)))) == progress


def test_a_goal_is_rendered_with_all_that_was_reached() -> None:
    text = render_goal("Move alpha off node-3", "high", advanced(Progress(), parse_marks(MARKED)[1], at=AT))
    assert text.splitlines() == [
        "# Goal (high priority)",
        "Move alpha off node-3",
        "Done: Move the tables",
        "In progress: Switch the traffic",
        "Pending: Write the report",
        "Decided, and not to be reopened: Switch on Tuesday (traffic is lowest)",
        "Decided: Use blue-green",
        "Modified: deploy/alpha.yaml",
        "Created: docs/plan.md",
    ]


def test_without_a_goal_marks_become_plain_lines() -> None:
    assert unmarked("## State\n[CHECKPOINT] Move - COMPLETED\n[DECISION]") == "## State\n- Move - COMPLETED\n"


def test_a_page_of_brackets_is_read_in_no_time() -> None:
    text = "[CHECKPOINT] " * 100_000 + "\n" + "[DECISION] " + " - LOCKED" * 50_000
    assert len(parse_marks(text)[1].checkpoints) == 1
