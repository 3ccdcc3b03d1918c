from __future__ import annotations

import pytest

from compression.core.stages.answered_requests import without_answered
from tests.core.conversations import dialogue, turn

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


@pytest.mark.parametrize(
    "written",
    [
        "## Open tasks\n1. Send a test ping to node-7\n2. Rotate the keys",
        "## Open tasks\n* [ ] Send a test ping to node-7",
        "## Open tasks\n• Send a test ping to node-7",
        "## Open tasks\n1) Send a test ping to node-7.",
        "**Open tasks**\n- Send a test ping to node-7",
        "**Open tasks:**\n- Send a test ping to node-7",
        "Open tasks:\n- Send a test ping to node-7",
        "**Open tasks:** send a test ping to node-7",
        "Open tasks: send a test ping to node-7",
        "# Open tasks\n- Send a test ping to node-7",
        "#### Open tasks\n- Send a test ping to node-7",
        "## Offene Aufgaben\n- Send a test ping to node-7",
        "## Tâches en cours\n- Send a test ping to node-7",
        "## Tareas pendientes\n- Send a test ping to node-7",
        "## 待办事项\n- Send a test ping to node-7",
        "## Nächste Schritte\n- Send a test ping to node-7",
        "## Attività in sospeso\n- Send a test ping to node-7",
        "## Tarefas pendentes\n- Send a test ping to node-7",
        "## Открытые задачи\n- Send a test ping to node-7",
        "## 未完了のタスク\n- Send a test ping to node-7",
        "## Next steps\n- Sending a test ping to node-7",
        "## Next steps\n- The user asked to send a test ping to node-7.",
        "## Next steps\n- User wants a test ping sent to node-7",
        "## Open items\n- Test ping to node-7 (requested)",
        "## Open items\n- **Test ping**: send it to node-7",
        "## Open questions\n- send a test ping to node-7",
        "## State\nRemaining: send a test ping to node-7.",
        "## State\nTODO: send a test ping to node-7.",
        "## State\nNext steps: send a test ping to node-7.",
        "## State\nStill open: send a test ping to node-7.",
        "## State\nOpen task: send a test ping to node-7.",
        "## State\nOffen: send a test ping to node-7.",
        "## Open tasks\nSend a test ping to node-7.",
        "## Open tasks\nThe assistant still has to send a test ping to node-7.",
        "## State\nThe user asked the assistant to send a test ping to node-7, which is pending.",
        "## State\nA test ping to node-7 is still to be sent.",
        "| Task | State |\n|---|---|\n| Send a test ping to node-7 | open |",
    ],
)
def test_it_is_not_open_in_whatever_form_the_summary_says_so(written: str) -> None:
    assert "ping" not in without_answered(written, dialogue(*PING)).casefold()


@pytest.mark.parametrize(
    "written",
    [
        "## Tasks\n- [x] Send a test ping to node-7",
        "## Completed tasks\n- Send a test ping to node-7",
        "## State\nTasks done: send a test ping to node-7.",
        "## Tasks\n- ✅ Send a test ping to node-7",
        "## Tasks\n- Send a test ping to node-7 (done)",
        "## Open tasks\n- Send a test ping to node-8",
        "## Open tasks\n- Send a test ping to node-7 every 30 minutes",
        "## Next\n- Rotate the keys.\n\n## Context\n- A test ping to node-7 was sent.",
        "Open tasks:\n- Rotate the keys.\n\nContext:\n- Send a test ping to node-7 was the first order.",
        "## State\nThe test ping to node-7 took 3 ms.",
        "| Task | State |\n|---|---|\n| Send a test ping to node-7 | done |",
        "## State\nThe port is still open.",
    ],
)
def test_all_else_stays(written: str) -> None:
    assert without_answered(written, dialogue(*PING)) == written


def test_an_answer_to_a_question_leaves_its_statement() -> None:
    turns = dialogue("Is the cut-over of the billing service pending?", "Yes, since Monday.")
    written = "## State\nThe cut-over of the billing service is pending."
    assert without_answered(written, turns) == written


def test_the_last_part_of_a_reply_counts_and_only_the_last_request_is_answered() -> None:
    parts = [turn(PING[0]), turn("I'll send it.", role="assistant"), turn(PING[1], role="assistant")]
    assert "ping" not in without_answered("## Open tasks\n- Send a test ping to node-7", parts)
    two = [turn(PING[0]), turn("Which port?"), turn("5433.", role="assistant")]
    assert "ping" in without_answered("## Open tasks\n- Send a test ping to node-7", two)


def test_a_request_that_its_reply_puts_off_stays_open() -> None:
    put_off = dialogue(PING[0], "I will send it tomorrow, once the window opens.")
    assert without_answered("## State\nPending: send a test ping to node-7.", put_off).endswith("node-7.")
    unanswered = dialogue(PING[0])
    assert without_answered("## State\nPending: send a test ping to node-7.", unanswered).endswith("node-7.")
