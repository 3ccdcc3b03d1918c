"""Stage 3: has the passages summarised: independent parts several at a time, others each with the summary before it."""

from __future__ import annotations

from asyncio import to_thread
from dataclasses import dataclass, replace

from compression.core.citation_values import Unsupported
from compression.core.citations.check import doubted_in, marked_within, unfound_in, without_unsupported
from compression.core.citations.marks import without_marks
from compression.core.error_codes import ErrorCode
from compression.core.errors import CompactionFailed
from compression.core.extractive.trimming import trimmed
from compression.core.facts.fact_counts import GATE_FACTS
from compression.core.facts.summary_quality import require_substance
from compression.core.goal import Progress, parse_marks, unmarked, without_quoted_marks
from compression.core.merging import weight
from compression.core.ports import NoPartWatch, OnStage, PartWatch, Summariser
from compression.core.stages.answered_requests import without_answered
from compression.core.stages.parts import merged
from compression.core.text.language import differs
from compression.core.text.quoting import marks_of
from compression.core.text.summary_text import accepted, require_headings
from compression.core.tokens import TokenCounter
from compression.core.values import Draft, Fact, Passage, Turn

FROM_PERCENT, TO_PERCENT = 20, 85


async def summarise(
    draft: Draft,
    *,
    summariser: Summariser,
    unsupported: Unsupported,
    count: TokenCounter,
    on_stage: OnStage,
    watch: PartWatch | None = None,
    at_once: int = 1,
) -> Draft:
    """The draft with the summary of all condensed messages and folded checkpoints. Raises CompactionFailed.

    Of independent parts `at_once` are summarised at a time; the summary is the same however many these are.
    """
    writing = _Writing(draft, summariser, count, on_stage, watch or NoPartWatch(), at_once)
    text, marks, last = await (writing.in_parts() if draft.merging else writing.in_order())
    beside = _beside(draft) if writing.saw_all else ()
    draft = await to_thread(_supported, draft, text, last, beside, summariser, unsupported, count)
    if marks:  # a mark that occurs in the source was copied from it
        turns = [turn for passage in draft.passages for turn in passage.turns]
        marks = without_quoted_marks(marks, await to_thread(marks_of, turns, _earlier(draft)))
    return replace(draft, marks=marks)


def _earlier(draft: Draft) -> str:
    """The earlier summary that the new one continues, if any."""
    return draft.merging.earlier if draft.merging else draft.passages[0].earlier


def _beside(draft: Draft) -> tuple[str, ...]:
    """The texts of a request that are not summarised: older summaries, and messages that stay."""
    stays = (
        text for turn in draft.kept + draft.tail for text in (turn.content, *(use.result or "" for use in turn.tools))
    )
    return (*(one.summary for one in draft.older), *stays)


def _supported(
    draft: Draft,
    text: str,
    last: Passage,
    read: tuple[str, ...],
    summariser: Summariser,
    unsupported: Unsupported,
    count: TokenCounter,
) -> Draft:
    """The draft with its summary, whose statements are checked against all messages and all else that was `read`,
    within its length.

    A selection only quotes: only the statements of an included earlier summary are checked.
    """
    text = without_answered(text, (*draft.originals, *draft.condensed, *draft.tail))
    doubted = doubted_in(draft.folded)
    unfound: frozenset[str] = frozenset()
    if summariser.marks_progress or doubted:
        turns = draft.originals + draft.condensed
        beside = (_earlier(draft), last.goal, last.instructions, last.prompt, *read)
        is_steered = bool(last.instructions or last.prompt)
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


@dataclass(slots=True)
class _Writing:
    """The summaries of one draft in the making, of `expected` requests."""

    draft: Draft
    summariser: Summariser
    count: TokenCounter
    on_stage: OnStage
    watch: PartWatch
    at_once: int
    expected: int = 1
    done: int = 0
    saw_all: bool = False

    async def in_order(self) -> tuple[str, Progress, Passage]:
        """The last of the passages' summaries, each made with the one before it, the marks of all, and its passage."""
        passages, summary, marks = self.draft.passages, "", Progress()
        await self._plan([[weight(passage.turns, passage.max_tokens)] for passage in passages])
        for number, passage in enumerate(passages):
            # The facts of all passages are known, and only the last summary is of all of them.
            facts = self.draft.facts if number == len(passages) - 1 else ()
            text, more = await self._summary(replace(passage, earlier=summary or passage.earlier), facts)
            marks += more
            text = self._without_marks(text, passage)
            if number < len(passages) - 1:
                # The next passage was cut to fit beside a summary of this length.
                summary = await self._trimmed(text, passage)
        return text, marks, passages[-1]

    async def in_parts(self) -> tuple[str, Progress, Passage]:
        """The summary of the summaries of independent parts, the marks of all, and the passage of these summaries."""
        assert self.draft.merging is not None
        last, marks = await merged(
            self.draft.passages, self.draft.merging, write=self._part, plan=self._plan, at_once=self.at_once
        )
        text, more = await self._summary(last, self.draft.facts)
        return self._without_marks(text, last), marks + more, last

    async def _part(self, passage: Passage) -> tuple[Turn, Progress]:
        """A part's summary. It keeps its marks, so that those of other parts can be reported in the same words."""
        text, marks = await self._summary(passage)
        summary = await self._trimmed(text, passage)
        tokens = await to_thread(self.count, summary)
        turn = Turn(str(passage.number), "assistant", summary, passage.turns[0].created_at, tokens)
        return turn, marks

    async def _summary(self, passage: Passage, facts: tuple[Fact, ...] = ()) -> tuple[str, Progress]:
        """The accepted summary of a passage and the progress that it reports; it holds one of the `facts`, if any."""
        await self.watch.begun(passage.number)
        await self.on_stage("summarise", FROM_PERCENT + (TO_PERCENT - FROM_PERCENT) * self.done // self.expected)
        written = await self.summariser.summarise(passage)
        text, marks = accepted(written), Progress()
        self.saw_all |= written.saw_all
        if self.summariser.marks_progress:  # only a model can write words, or a language, that the source does not have
            _require_language(text, passage)
            await to_thread(require_substance, text, passage, facts=facts)
            if passage.goal:
                marks = parse_marks(text)[1]
            else:
                text = unmarked(text)
        self.done += 1
        await self.watch.ended(passage)
        return text, marks

    async def _plan(self, steps: list[list[float]]) -> None:
        self.expected = sum(map(len, steps))
        replaced = self.draft.condensed_tokens + self.draft.transcript.context_tokens
        await self.watch.planned(steps, at_once=self.at_once, tokens=replaced)

    def _without_marks(self, text: str, passage: Passage) -> str:
        return parse_marks(text)[0] if self.summariser.marks_progress and passage.goal else text

    async def _trimmed(self, text: str, passage: Passage) -> str:
        facts = self.draft.facts[:GATE_FACTS]
        return await to_thread(trimmed, text, facts, max_tokens=passage.max_tokens, count=self.count)


def _require_language(summary: str, passage: Passage) -> None:
    """Raise CompactionFailed if the summary is in another language than its source, unless a person steered it.

    A summary in another language makes the assistant's replies change language too.
    """
    source = "\n".join(turn.content for turn in passage.turns if turn.role in ("user", "assistant"))
    if not (passage.instructions or passage.prompt) and (language := differs(summary, source)):
        reason = f"the summary is in another language than the conversation ({language})"
        raise CompactionFailed("validate", reason, code=ErrorCode.OTHER_LANGUAGE)
