"""What only a planner is offered: to hand a task to an executor, and to go on with it. `agents.plan` carries it out."""

from __future__ import annotations

from conversations.llm.tools import spec

DELEGATE, CONTINUE = "delegate_task", "continue_task"
NAMES = (DELEGATE, CONTINUE)
MOST_TURNS = 10
"""That planner and executor talk about one task."""
LONGEST_TASK = 20_000
"""Characters of what the planner says to the executor at once."""

SPECS = (
    spec(
        DELEGATE,
        "Hand a task to an executor, who has tools and sees nothing of this conversation but what you write. It "
        "answers with a result, or with a partial result and a question.",
        task={"type": "string", "minLength": 1, "maxLength": LONGEST_TASK,
              "description": "All it needs to know: the goal, the facts, what to give back."},
    ),
    spec(
        CONTINUE,
        "Answer the executor's partial result: clarify, or say what to do next. The task stays the same.",
        message={"type": "string", "minLength": 1, "maxLength": LONGEST_TASK},
    ),
)  # fmt: skip
