"""Has independent parts summarised several at a time, and their summaries merged into one."""

from __future__ import annotations

from asyncio import TaskGroup
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from compression.core.errors import CompactionFailed
from compression.core.goal import Progress
from compression.core.merging import MergeStrategy, weight
from compression.core.values import Passage, Turn

Write = Callable[[Passage], Awaitable[tuple[Turn, Progress]]]
"""Summarises a passage: the summary as a turn of at most the passage's tokens, and the progress that it reports."""
Plan = Callable[[list[list[float]]], Awaitable[None]]
"""Called with the weights of all requests, a list for each step: the requests of a step do not need each other."""


async def merged(
    passages: Sequence[Passage], merging: MergeStrategy, *, write: Write, plan: Plan, at_once: int
) -> tuple[Passage, Progress]:
    """The passage with the summaries of all the parts, for the last summary, and the progress that they report.

    The order in which the parts' summaries arrive makes no difference. Raises CompactionFailed.
    """
    steps = [[weight(passage.turns, passage.max_tokens) for passage in passages]]
    first, marks, begun = passages[0], Progress(), len(passages)
    await plan(steps + merging.expected(len(passages), first.max_tokens))
    summaries, marks = await _written(passages, write, at_once)
    while not merging.is_last(summaries) and (found := merging.divided(summaries)):
        tokens, groups = found
        merges = [
            _merging(first, group, number=begun + number, max_tokens=tokens) for number, group in enumerate(groups)
        ]
        begun += len(merges)
        steps.append([weight(one.turns, tokens) for one in merges])
        await plan(steps + merging.expected(len(merges), tokens))
        summaries, more = await _written(merges, write, at_once)
        marks += more
    last = _merging(first, summaries, number=begun, max_tokens=merging.max_tokens)
    return replace(last, earlier=merging.earlier), marks


def _merging(first: Passage, summaries: Sequence[Turn], *, number: int, max_tokens: int) -> Passage:
    """The request to merge summaries, steered as that of the `first` part is."""
    of = len(summaries)
    text = "\n\n".join(f"[part {place} of {of}]\n{one.content}" for place, one in enumerate(summaries, start=1))
    return replace(
        first, turns=tuple(summaries), text=text, max_tokens=max_tokens, number=number, merges=True, earlier=""
    )


async def _written(passages: Sequence[Passage], write: Write, at_once: int) -> tuple[list[Turn], Progress]:
    """The passages' summaries in order, and the progress that they report; `at_once` are asked for at a time.

    After a failure no further request begins; running ones are awaited, since they are paid for. Then the first failure
    is raised.
    """
    waiting = iter(enumerate(passages))
    done: dict[int, tuple[Turn, Progress]] = {}
    failed: list[CompactionFailed] = []

    async def work() -> None:
        for number, passage in waiting:
            if failed:
                return
            try:
                done[number] = await write(passage)
            except CompactionFailed as failure:
                failed.append(failure)

    try:
        async with TaskGroup() as group:
            for _ in range(min(at_once, len(passages))):
                group.create_task(work())
    except BaseExceptionGroup as faults:
        raise faults.exceptions[0] from None
    if failed:
        raise failed[0]
    in_order = [done[number] for number in range(len(passages))]
    return [summary for summary, _ in in_order], sum((marks for _, marks in in_order), Progress())
