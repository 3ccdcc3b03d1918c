"""The marks of a summary, and what they do to a goal."""

from __future__ import annotations

import json

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
    parse_marks,
    render_goal,
    unmarked,
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


def test_a_mark_of_a_known_checkpoint_changes_that_one_alone() -> None:
    before = Progress((Step("Move the tables"), Step("Switch the traffic")))
    after = advanced(before, Progress((Step("Move the tables", "completed"),)), at=AT)
    assert after.checkpoints == (Step("Move the tables", "completed", AT), Step("Switch the traffic"))
    other = advanced(before, Progress((Step("move the tables", "completed"),)), at=AT)
    assert other.checkpoints[0] == Step("Move the tables")
    assert len(other.checkpoints) == 3


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
