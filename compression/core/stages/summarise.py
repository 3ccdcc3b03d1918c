"""Stage 3: has the passages summarised in order; each request includes the summary of the passages before it."""

from __future__ import annotations

from asyncio import to_thread
from dataclasses import replace

from compression.core.citations.check import doubted_in, marked_within, unfound_in, without_unsupported
from compression.core.citations.marks import without_marks
from compression.core.citations.values import Unsupported
from compression.core.counted_facts import GATE_FACTS
from compression.core.error_codes import ErrorCode
from compression.core.errors import CompactionFailed
from compression.core.extractive.language import differs
from compression.core.goal import Progress, parse_marks, unmarked, without_quoted_marks
from compression.core.ports import OnPart, OnStage, Summariser, ignore_parts
from compression.core.quoting import marks_of
from compression.core.substance import require_substance
from compression.core.summary_text import accepted, require_headings
from compression.core.tokens import TokenCounter
from compression.core.trimming import trimmed
from compression.core.values import Draft, Passage

FROM_PERCENT, TO_PERCENT = 20, 85


async def summarise(
    draft: Draft,
    *,
    summariser: Summariser,
    unsupported: Unsupported,
    count: TokenCounter,
    on_stage: OnStage,
    on_part: OnPart = ignore_parts,
) -> Draft:
    """The draft with the summary of all condensed messages and folded checkpoints. Raises CompactionFailed."""
    summary, marks = "", Progress()
    parts, replaced = len(draft.passages), draft.condensed_tokens + draft.transcript.context_tokens
    for number, passage in enumerate(draft.passages):
        await on_part(number, parts, replaced)
        await on_stage("summarise", FROM_PERCENT + (TO_PERCENT - FROM_PERCENT) * number // parts)
        answer = await summariser.summarise(replace(passage, earlier=summary or passage.earlier))
        text = accepted(answer)
        if summariser.marks_progress:  # only a model can write words, or a language, that the source does not have
            _require_language(text, passage)
            # The facts of all passages are known, and only the last summary is of all of them.
            facts = draft.facts if number == parts - 1 else ()
            await to_thread(require_substance, text, replace(passage, earlier=summary or passage.earlier), facts=facts)
            text, reported = parse_marks(text) if passage.goal else (unmarked(text), Progress())
            marks += reported
        if number < parts - 1:
            # The next passage was cut to fit beside a summary of this length.
            summary = await to_thread(trimmed, text, draft.facts[:GATE_FACTS], max_tokens=draft.max_tokens, count=count)
    draft = await to_thread(_supported, draft, text, summariser, unsupported, count)
    await on_part(parts, parts, replaced)
    if marks:  # a mark that occurs in the source was copied from it
        turns = [turn for passage in draft.passages for turn in passage.turns]
        marks = without_quoted_marks(marks, await to_thread(marks_of, turns, draft.passages[0].earlier))
    return replace(draft, marks=marks)


def _supported(draft: Draft, text: str, summariser: Summariser, unsupported: Unsupported, count: TokenCounter) -> Draft:
    """The draft with its summary, whose statements are checked against all messages, within its length.

    A selection of sentences has nothing of its own: only what an earlier summary had is looked for.
    """
    first, last = draft.passages[0], draft.passages[-1]
    doubted = doubted_in(draft.folded)
    unfound: frozenset[str] = frozenset()
    if summariser.marks_progress or doubted:
        turns = draft.originals + draft.condensed
        beside = (first.earlier, first.goal, first.instructions, first.prompt)
        is_steered = bool(first.instructions or first.prompt)
        unfound = unfound_in(text, turns, beside=beside, doubted=doubted, is_steered=is_steered)
        unfound = unfound if summariser.marks_progress else unfound & doubted
    text, dropped = without_unsupported(text, unfound) if unsupported == "drop" else (without_marks(text), 0)
    if dropped:
        require_headings(text)
        require_substance(text, last, facts=draft.facts)
    facts = draft.facts[:GATE_FACTS]

    def shortened(limit: int) -> str:
        return trimmed(text, facts, max_tokens=limit, count=count)

    marked = unfound if unsupported == "mark" else frozenset[str]()
    summary = marked_within(shortened, draft.max_tokens, unfound=marked, count=count)
    return replace(draft, summary=summary, unfound=unfound, dropped=dropped)


def _require_language(summary: str, passage: Passage) -> None:
    """Raise CompactionFailed if the summary is in another language than its source, unless a person steered it.

    A summary in another language makes the assistant's replies change language too.
    """
    source = "\n".join(turn.content for turn in passage.turns if turn.role in ("user", "assistant"))
    if not (passage.instructions or passage.prompt) and (language := differs(summary, source)):
        reason = f"the summary is in another language than the conversation ({language})"
        raise CompactionFailed("validate", reason, code=ErrorCode.OTHER_LANGUAGE)
