"""Stage 1: decides which messages are condensed and which stay verbatim."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate

from compression.core.context import FRAME_TOKENS
from compression.core.errors import CompactionFailed, CompactionSkipped
from compression.core.plan.aging import cost
from compression.core.plan.policy import Policy
from compression.core.request_usage import usage_of
from compression.core.values import Draft, Group, Steering, Transcript, Turn, total_tokens
from compression.core.window import groups, is_protected

LONG_SUMMARIES = 2
"""Messages at least this many times as long as a new summary are worth one, however few they are."""
BOUNDARY_STEPS = 3
"""The most groups by which the tail may grow so that it begins with a person's message."""


def identify(draft: Draft, policy: Policy, steering: Steering) -> Draft:
    """The draft with its condensed messages: those before the tail, without protected and kept ones.

    Raises CompactionSkipped if too few messages are left, CompactionFailed if `steering.up_to` is unknown.
    """
    transcript = draft.transcript
    before = usage_of(transcript)
    settled = groups(transcript.turns[: len(transcript.turns) - transcript.waiting])
    start = _start_of_tail(settled, transcript, policy, steering, forced=before.over_budget)
    kept = {group[0].id for group in settled[:start] if is_protected(group)}
    kept |= _own_words(settled, start, transcript, policy)
    condensed = _turns(group for group in settled[:start] if group[0].id not in kept)
    worth = LONG_SUMMARIES * policy.new_summary_tokens(transcript.window)
    is_long = before.over_budget or sum(map(_text_tokens, condensed)) >= worth
    _require_enough(condensed, 1 if is_long else policy.min_messages)
    stay = _staying(transcript, condensed, policy)
    verbatim = _turns(group for group in settled[:start] if group[0].id in kept)
    tail = _turns(settled[start:]) + _waiting(transcript)
    room = policy.context_budget(transcript.window, verbatim=_counted(verbatim + tail))
    return replace(
        draft,
        condensed=condensed,
        older=transcript.checkpoints[:stay],
        folded=transcript.checkpoints[stay:],
        kept=verbatim,
        tail=tail,
        room=room,
        before=before,
    )


def _own_words(settled: tuple[Group, ...], start: int, transcript: Transcript, policy: Policy) -> set[str]:
    """Ids of the person's latest messages before the tail, as many as the policy keeps and the target has room for."""
    verbatim = _fixed(settled, start, transcript, policy) + sum(total_tokens(group) for group in settled[start:])
    room = policy.target(transcript.window) / transcript.window.correction - verbatim
    spare = policy.verbatim_budget(transcript.window) - _counted_from(settled, start, transcript)
    room, kept = min(room, spare, policy.user_tokens), set()
    for group in reversed(settled[:start]):
        if len(group) == 1 and group[0].role == "user" and not group[0].protected:
            room -= group[0].tokens
            if room < 0:
                break
            kept.add(group[0].id)
    return kept


def _start_of_tail(
    settled: tuple[Group, ...], transcript: Transcript, policy: Policy, steering: Steering, *, forced: bool
) -> int:
    """The index of the first group of the tail, which stays verbatim; `forced`: the request is over its budget."""
    if steering.up_to is not None:
        return _after(settled, steering.up_to)
    start = _keeping(settled, policy.recent if steering.keep_recent is None else steering.keep_recent)
    if not policy.has_budget:  # a flow with a budget has no room for a longer tail
        start = _at_a_turn(settled, start)
    if steering.growth is not None and policy.keeps_to_target:
        start = _up_to_target(settled, start, transcript, policy, growth=steering.growth)
    if steering.keep_recent is None or forced:
        # While tools are being called, the last group waits for an answer: all settled groups may be condensed.
        to_the_end = forced or (policy.has_budget and any(turn.tools for turn in _waiting(transcript)))
        start = _shrunk(settled, start, transcript, policy, last=len(settled) if to_the_end else len(settled) - 1)
    return start


def _up_to_target(
    settled: tuple[Group, ...], start: int, transcript: Transcript, policy: Policy, *, growth: int
) -> int:
    """The index of the first group of the longest tail, of whole turns, with which the request is within the target.

    It is `start` at most. The condensed part before it is at least twice as long as a summary.
    """
    window = transcript.window
    others = window.corrected(_fixed(settled, start, transcript, policy) + policy.recall_budget(window))
    room = (policy.target(window) - growth - others) / window.correction
    worth, least = LONG_SUMMARIES * policy.new_summary_tokens(window), start
    before = [0, *accumulate(0 if is_protected(group) else total_tokens(group) for group in settled)]
    room -= before[-1] - before[start]
    while start > 0 and room >= before[start] - before[start - 1] and before[start - 1] >= worth:
        start -= 1
        room -= before[start + 1] - before[start]
    while start < least and settled[start][0].role != "user":
        start += 1
    return start


def _after(settled: tuple[Group, ...], message_id: str) -> int:
    """The index of the group after the one with this message; raises CompactionFailed for an unknown message."""
    for index, group in enumerate(settled):
        if any(turn.id == message_id for turn in group):
            return index + 1
    raise CompactionFailed("identify", "up_to is not a message of the history after the last compaction")


def _keeping(settled: tuple[Group, ...], keep: int) -> int:
    """The index of the first group of the shortest tail that has at least `keep` messages."""
    start, kept = len(settled), 0
    while start > 0 and kept < keep:
        start -= 1
        kept += len(settled[start])
    return start


def _at_a_turn(settled: tuple[Group, ...], start: int) -> int:
    """The tail's start, moved back at most BOUNDARY_STEPS groups to a person's message, if there is one."""
    for earlier in range(start, max(start - BOUNDARY_STEPS, 0) - 1, -1):
        if earlier == len(settled) or settled[earlier][0].role == "user":
            return earlier
    return start


def _shrunk(settled: tuple[Group, ...], start: int, transcript: Transcript, policy: Policy, *, last: int) -> int:
    """The tail's start, moved on, but not beyond `last`, until the request is within the target."""
    window, fixed = transcript.window, _fixed(settled, start, transcript, policy)
    tail = sum(total_tokens(group) for group in settled[start:])
    counted, max_counted = _counted_from(settled, start, transcript), policy.verbatim_budget(window)
    while start < last and (window.corrected(fixed + tail) > policy.target(window) or counted > max_counted):
        if not is_protected(settled[start]):
            tail -= total_tokens(settled[start])
            counted -= total_tokens(settled[start])
        start += 1
    return start


def _counted_from(settled: tuple[Group, ...], start: int, transcript: Transcript) -> int:
    """Tokens that count towards a flow's own budget once all groups before `start` are condensed."""
    stays = _turns(group for group in settled[:start] if is_protected(group))
    return _counted(stays + _turns(settled[start:]) + _waiting(transcript))


def _counted(turns: Iterable[Turn]) -> int:
    """Tokens of the turns that count towards a flow's own budget: all but the protected ones."""
    return sum(turn.tokens for turn in turns if not turn.protected)


def _fixed(settled: tuple[Group, ...], start: int, transcript: Transcript, policy: Policy) -> int:
    """Tokens of a request without its tail from `start` on, once the groups before it are condensed."""
    return (
        transcript.system_tokens
        + _context_tokens(transcript, policy)
        + total_tokens(_waiting(transcript))
        + sum(total_tokens(group) for group in settled[:start] if is_protected(group))
    )


def _waiting(transcript: Transcript) -> tuple[Turn, ...]:
    """The turns at the end of the transcript that are not answered yet."""
    return transcript.turns[len(transcript.turns) - transcript.waiting :]


def _context_tokens(transcript: Transcript, policy: Policy) -> int:
    """An estimate of the tokens of the new summary and the checkpoints beside it."""
    newest = policy.new_summary_tokens(transcript.window)
    if policy.folds:
        return newest
    budget = policy.context_budget(transcript.window)
    return min(newest + FRAME_TOKENS + cost(transcript.checkpoints), max(newest, budget))


def _staying(transcript: Transcript, condensed: tuple[Turn, ...], policy: Policy) -> int:
    """The number of checkpoints that stay beside the new one.

    If the cut does not move, the new checkpoint includes the last one: no two may end at the same message.
    """
    if policy.folds:
        return 0
    moves = transcript.cut is None or condensed[-1].created_at > transcript.cut
    return len(transcript.checkpoints) - (0 if moves else 1)


def _text_tokens(turn: Turn) -> int:
    """An upper bound of the tokens of a turn's text: an image costs tokens, but leaves nothing to summarise."""
    return min(turn.tokens, len(turn.content) + sum(len(use.arguments) + len(use.result or "") for use in turn.tools))


def _require_enough(condensed: tuple[Turn, ...], least: int) -> None:
    if not condensed:
        raise CompactionSkipped("There is nothing to compact: the latest and the pinned messages are always kept.")
    if len(condensed) < least:
        raise CompactionSkipped(f"Only {len(condensed)} could be compacted; at least {least} messages are needed.")


def _turns(chosen: Iterable[Group]) -> tuple[Turn, ...]:
    return tuple(turn for group in chosen for turn in group)
