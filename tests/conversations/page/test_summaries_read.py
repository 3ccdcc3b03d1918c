"""A summary as its person reads it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from compression.core.citations.check import cited
from compression.core.values import Turn
from conversations.page.markup.citations import rendered_for_person

pytestmark = pytest.mark.once

SUMMARY = (
    "## Summary\nUser: The port is 5433.\n\n## Context\n### 9 November 2026\n{imported}: Logs go to /var/log/alpha. "
    "User: is a word here.\nAssistant: Noted.\n\n## Kept facts\n- User, 2026-11-09: Retries stay at 4."
)


@pytest.mark.parametrize("imported", ["Imported", "Imported user"])
def test_the_person_is_called_you_and_nobody_else_is(imported: str) -> None:
    summary = SUMMARY.format(imported=imported)
    said = ["The port is 5433. Retries stay at 4.", "Logs go to /var/log/alpha. User: is a word here.", "Noted."]
    turns = [
        Turn(str(at), "assistant" if at == 2 else "user", text, datetime(2026, 11, 9, 9, at, tzinfo=UTC), 9)
        for at, text in enumerate(said)
    ]
    sources = {turn.id: (at, turn.content) for at, turn in enumerate(turns, 1)}
    for citations in (cited(summary, turns), None):
        html = rendered_for_person(summary, citations, sources)
        assert "Imported" not in html and html.count("You") == 3
        assert "You: The port" in html and "You: Logs" in html and "You, 2026-11-09: Retries" in html
        assert "User: is a word here" in html and "Assistant: Noted" in html
    assert 'href="#source-2"' in rendered_for_person(summary, cited(summary, turns), sources)
