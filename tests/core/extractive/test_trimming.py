from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from compression.core.extractive.trimming import trimmed
from compression.core.facts.find import find_facts
from compression.core.sections import SECTIONS
from compression.core.tokens import count_tokens

SUMMARY = """## Summary
Alpha moves to node-7.

## Decisions
- We thought about it for long, and everybody was rather happy
- Port 5433 stays, logs in /var/log/alpha

## State
- Done: the copy of 41 GB to /srv/backup
- Pending: the switch of 12 May, NET-212
- Next: drain node-3, tell billing on port 8443

## Context
- Dana is on call until 18:00 UTC, then Ravi
- runbook https://runbooks.example/alpha"""


def test_a_summary_that_fits_stays_as_it_is() -> None:
    assert trimmed(SUMMARY, (), max_tokens=500, count=count_tokens) == SUMMARY


def test_lines_without_facts_go_first_and_the_rest_stays_word_for_word() -> None:
    facts = find_facts([SUMMARY])
    shorter = trimmed(SUMMARY, facts, max_tokens=count_tokens(SUMMARY) - 10, count=count_tokens)
    assert "rather happy" not in shorter
    assert [line for line in SUMMARY.splitlines() if "rather happy" not in line] == shorter.splitlines()


def test_a_single_long_text_is_selected_from() -> None:
    long = "## Summary\n" + " ".join(f"Service {n} listens on port {5000 + n}." for n in range(400)) + "\n\n## State\n-"
    shorter = trimmed(long, find_facts([long]), max_tokens=120, count=count_tokens)
    assert count_tokens(shorter) <= 120
    assert "listens" in shorter or "port" in shorter


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet=st.characters(codec="utf-8"), max_size=80), max_size=30), st.integers(60, 300))
def test_it_always_fits_and_keeps_its_headings(lines: list[str], limit: int) -> None:
    body = "\n".join(f"- {' '.join(line.split())}" for line in lines)
    summary = f"## Summary\nIt was said.\n\n## Context\n{body}"
    shorter = trimmed(summary, find_facts([summary]), max_tokens=limit, count=count_tokens)
    assert count_tokens(shorter) <= limit
    assert any(f"## {name}" in shorter for name in SECTIONS)
