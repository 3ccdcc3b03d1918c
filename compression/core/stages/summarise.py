"""Stage 3: the passages, one after the other, each folding in the summary of those before it."""

from __future__ import annotations

from asyncio import to_thread
from dataclasses import replace

from compression.core.errors import CompactionFailed
from compression.core.goal import Progress, parse, unmarked, without
from compression.core.language import differs
from compression.core.ports import OnPart, OnStage, Summariser, TokenCounter, nobody
from compression.core.quoting import marks_of
from compression.core.retention import GATE_FACTS
from compression.core.substance import require_substance
from compression.core.summary_text import accepted
from compression.core.trimming import trimmed
from compression.core.values import Draft, Passage

FROM_PERCENT, TO_PERCENT = 20, 85


async def summarise(
    draft: Draft, *, summariser: Summariser, count: TokenCounter, on_stage: OnStage, on_part: OnPart = nobody
) -> Draft:
    """The summary of everything that is condensed and of the earlier one. Raises CompactionFailed."""
    summary, marks = "", Progress()
    parts, replaced = len(draft.passages), draft.condensed_tokens + draft.transcript.context_tokens
    for number, passage in enumerate(draft.passages):
        await on_part(number, parts, replaced)
        await on_stage("summarise", FROM_PERCENT + (TO_PERCENT - FROM_PERCENT) * number // parts)
        answer = await summariser.summarise(replace(passage, earlier=summary or passage.earlier))
        text = accepted(answer)
        _require_language(text, passage)
        if summariser.marks_progress:  # a model's: the others can only write words of the source
            await to_thread(require_substance, text, replace(passage, earlier=summary or passage.earlier))
        if summariser.marks_progress:
            text, said = parse(text) if passage.goal else (unmarked(text), Progress())
            marks += said
        # Each one is trimmed: the next passage was cut to fit beside a summary of this length.
        summary = await to_thread(trimmed, text, draft.facts[:GATE_FACTS], max_tokens=draft.max_tokens, count=count)
    await on_part(parts, parts, replaced)
    if marks:  # one that stands in what was summarised was copied from there
        turns = [turn for passage in draft.passages for turn in passage.turns]
        marks = without(marks, await to_thread(marks_of, turns, draft.passages[0].earlier))
    return replace(draft, summary=summary, marks=marks)


def _require_language(summary: str, passage: Passage) -> None:
    """One that flips to another language makes the replies flip too; unless a person asked for it."""
    said = "\n".join(turn.content for turn in passage.turns if turn.role in ("user", "assistant"))
    if not (passage.instructions or passage.prompt) and (written := differs(summary, said)):
        raise CompactionFailed("validate", f"the summary is in another language than the conversation ({written})")
