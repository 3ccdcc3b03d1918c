from __future__ import annotations

import pytest

from compression.core.stages.answered_requests import without_answered
from tests.core.conversations import dialogue

PING = ("Please send a test ping to node-7 now.", "Sent: node-7 answers in 3 ms.", "Good. What is the port?", "5433.")


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("## Open tasks: send a test ping to node-7\n-", "## Open tasks\n-"),
        ("## Open tasks\n- Send a test ping to node-7\n- Rotate the keys", "## Open tasks\n- Rotate the keys"),
        ("## State\nPending: send a test ping to node-7.", "## State"),
        ("## State\nPending: Send a test ping to node-7; rotate the keys.", "## State\nPending: rotate the keys."),
        ("## State\n- Next: rotate the keys of node-7.", "## State\n- Next: rotate the keys of node-7."),
        ("## State\nDone: Sent a test ping to node-7.", "## State\nDone: Sent a test ping to node-7."),
        ("## Context\n- A test ping to node-7 took 3 ms.", "## Context\n- A test ping to node-7 took 3 ms."),
    ],
)
def test_what_was_asked_and_answered_is_not_open(written: str, left: str) -> None:
    assert without_answered(written, dialogue(*PING)) == left


def test_a_request_that_its_reply_puts_off_stays_open() -> None:
    put_off = dialogue(PING[0], "I will send it tomorrow, once the window opens.")
    assert without_answered("## State\nPending: send a test ping to node-7.", put_off).endswith("node-7.")
    unanswered = dialogue(PING[0])
    assert without_answered("## State\nPending: send a test ping to node-7.", unanswered).endswith("node-7.")
