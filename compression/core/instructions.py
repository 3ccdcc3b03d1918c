"""The wording of a request for a summary, from template texts that are handed in."""

from __future__ import annotations

from string import Template

from compression.core.modes import preserved_in
from compression.core.values import Passage

DETAIL = {
    1: "compactly: only what is needed to go on",
    2: "moderately detailed: decisions with reasons, results, and open questions",
    3: "in detail: every fact that a later question could be about",
}
WORDS_PER_TOKEN = 0.7
MARKS = (
    "Say first what bears on the goal. After the last section, report its progress, a line each, only as it is "
    "stated and only what is new; where something above was reached, repeat its words exactly:\n"
    "[CHECKPOINT] what is to be or was reached - COMPLETED (or IN-PROGRESS, or PENDING)\n"
    "[DECISION] what was decided: its reason - LOCKED (only where it must not be reopened)\n"
    "[ARTIFACT] Created (or Modified, or Deleted) path"
)
"""What is asked of a summary where there is a goal; read by `compression.core.goal`."""


def wording(passage: Passage, *, template: str, mode: str, delimiter: str) -> tuple[str, str]:
    """(system message, user message) that ask for the summary of a passage.

    The delimiter must be one that the quoted text cannot guess.
    """
    system = Template(template).safe_substitute(
        delimiter=delimiter,
        preserve=preserved_in(mode),
        detail=DETAIL[passage.level],
        words=int(passage.max_tokens * WORDS_PER_TOKEN),
    )
    return system, "\n\n".join(_request(passage, delimiter))


def _request(passage: Passage, delimiter: str) -> list[str]:
    parts = []
    if passage.earlier:
        parts += [
            "The summary of what came before, to be folded in: nothing in it may get lost.",
            f"{delimiter}\n{passage.earlier}\n{delimiter}",
        ]
    if passage.goal:
        parts += [f"The goal of this conversation:\n{delimiter}\n{passage.goal}\n{delimiter}", MARKS]
    parts += ["The conversation to condense:", f"{delimiter}\n{passage.text}\n{delimiter}"]
    if passage.instructions:
        parts.append(f"The person asks of this summary: {passage.instructions}")
    parts.append("Now write the summary of all of it, with the headings as given.")
    return parts
