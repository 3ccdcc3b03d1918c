"""Stage 2: splits the condensed messages into passages that fit the summariser, and sets the summary's length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from compression.core.citations.marks import without_marks
from compression.core.context import FRAME, FRAME_TOKENS, join_summaries
from compression.core.error_codes import ErrorCode
from compression.core.errors import CompactionFailed, CompactionSkipped
from compression.core.facts.fact_counts import most_important
from compression.core.facts.file_acts import file_states
from compression.core.facts.file_lines import files_in, merged_states
from compression.core.facts.find import find_facts
from compression.core.merging import MIN_PARTS, MergeStrategy, packed
from compression.core.plan.aging import LEAST_TOKENS, SEPARATOR_TOKENS, cost, least_cost, total_original_tokens
from compression.core.plan.policy import Policy
from compression.core.plan.retention import REPAIR_SHARE
from compression.core.ports import Summariser
from compression.core.text.quoting import escaped, is_plain, quoted
from compression.core.text.statements import Statement, label_of, speaker_of, statements_in_summary, statements_of
from compression.core.tokens import TokenCounter
from compression.core.values import MESSAGE_OVERHEAD, Draft, Passage, Steering, Turn

COMPACT, MODERATE, DETAILED = 1, 2, 3
MIN_NEW_SUMMARY_TOKENS = 60
"""Tokens of the headings and one sentence. If even that would save nothing, the compaction is skipped."""
NEWEST_SHARE, NEWEST_WEIGHT = 1 / 6, 2
"""The new summary's guaranteed share of the summaries' room, and its weight: a multiple of its fair share by the tokens
that it covers. It gets more if the older ones leave room."""
WORDING_TOKENS = 1_200
"""Tokens kept free in a summariser's window for its instructions."""
WINDOW_SHARE = 1 / 8
"""The most of a summariser's own window that its summary takes, even if the conversation's window has more room."""
USUAL_DENSITY = 4
"""Facts per 100 tokens at which a summary has the policy's length; it grows and shrinks with the density."""

ORIGINS = {"import": "imported", "planner": "for the planner", "summary": "from an earlier conversation"}
"""The label in a transcript for messages of a turn's origin, which nobody typed in this conversation."""


def prepare(draft: Draft, policy: Policy, steering: Steering, *, summariser: Summariser, count: TokenCounter) -> Draft:
    """Decide the summary's level and length, and split the condensed messages into passages.

    Raises CompactionSkipped if no tokens can be saved, CompactionFailed if the summariser's window is too small.
    """
    earlier = "" if draft.originals else without_marks(join_summaries(draft.folded))
    turns = draft.originals + draft.condensed
    statements = [*statements_in_summary(earlier), *(statement for turn in turns for statement in statements_of(turn))]
    facts = find_facts(map(_without(draft.transcript.taken_back), statements))
    limit = summary_limit(draft, policy, count)
    max_tokens = summary_tokens(draft, policy, limit, facts=None if summariser.fills_budget else len(facts))
    if summariser.window is not None:
        max_tokens = min(max_tokens, max(MIN_NEW_SUMMARY_TOKENS, int(WINDOW_SHARE * summariser.window)))
    least = int((1 + REPAIR_SHARE) * max_tokens)
    target = least if policy.has_budget else _left_by_target(draft, policy)  # a flow's own budget is its target
    limit = min(limit, max(least, target))
    level = policy.level or level_for(draft.condensed_tokens)
    # Each passage may be sent with a summary to fold in: the earlier one, then that of the passages before it.
    instructions = "\n".join((steering.instructions, draft.transcript.goal, steering.prompt or policy.prompt))
    beside = max(count(earlier), max_tokens) + count(instructions)
    room = _room(summariser, max_tokens, beside=beside)
    pieces = [piece for turn in turns for piece in _pieces(_whole(turn, count), room, count)]
    parts, part_tokens, merging = list(packed(pieces, room)), max_tokens, None
    if summariser.window is not None and len(parts) >= MIN_PARTS:
        beside_text = WORDING_TOKENS + count(instructions)
        independent = MergeStrategy(summariser.window - beside_text, max_tokens, earlier, count(earlier))
        if (divided := independent.divided(pieces)) and len(divided[1]) > 1:
            (part_tokens, parts), merging = divided, independent
    counted = most_important(
        facts,
        draft.condensed_tokens + total_original_tokens(draft.folded),
        known=sum(len(one.facts or ()) for one in draft.folded),
    )
    passages = tuple(
        Passage(
            turns=part,
            text=render_transcript(part),
            earlier=earlier if number == 0 and not merging else "",
            max_tokens=part_tokens,
            level=level,
            instructions=steering.instructions,
            goal=draft.transcript.goal,
            prompt=steering.prompt or policy.prompt,
            facts=counted,
            taken_back=draft.transcript.taken_back,
            number=number,
        )
        for number, part in enumerate(parts)
    )
    return replace(
        draft,
        level=level,
        passages=passages,
        merging=merging,
        max_tokens=max_tokens,
        limit=limit,
        target=target,
        facts=counted,
        files=merged_states(files_in(earlier), file_states(turns)),
    )


def _without(taken_back: Sequence[str]) -> Callable[[Statement], Statement]:
    """Removes withdrawn sentences from a statement, so that their facts are not restored."""

    def left(statement: Statement) -> Statement:
        text = statement.text
        for sentence in taken_back:
            text = text.replace(sentence, " ")
        return statement._replace(text=text)

    return left


def level_for(tokens: int) -> int:
    """The level of detail of a summary, by the tokens of the messages that it condenses."""
    return COMPACT if tokens > 3_000 else MODERATE if tokens > 2_000 else DETAILED


def render_transcript(turns: tuple[Turn, ...]) -> str:
    """The transcript as a summariser reads it: speaker, date, text, tool calls and their results."""
    return "\n\n".join(_rendered(turn) for turn in turns)


def _rendered(turn: Turn) -> str:
    name = speaker_of(turn) if turn.name else ""
    speaker = f"{turn.role} ({name})" if name and name != label_of(turn) else turn.role
    origin = f", {ORIGINS[turn.origin]}" if turn.origin in ORIGINS else ""
    lines = [f"[{speaker}{origin}, {turn.created_at:%Y-%m-%d %H:%M}]", quoted(turn)]
    for use in turn.tools:
        result = escaped(use.result or "none recorded")
        lines += [f"[call of {escaped(use.name)}] {escaped(use.arguments)}", f"[its result] {result}"]
    return "\n".join(line for line in lines if line)


def summary_limit(draft: Draft, policy: Policy, count: TokenCounter) -> int:
    """The maximum tokens of the new summary with its restored facts.

    It stays within the summaries' room, and small enough to save tokens.
    """
    frame = count(FRAME) + SEPARATOR_TOKENS
    replaced = _replaced(draft)
    # Folded summaries were condensed once already; their share of the new summary need not shrink again.
    whole = replaced - draft.condensed_tokens if draft.folded else 0
    saving = (replaced - whole) // policy.min_reduction + whole - frame
    covered = draft.condensed_tokens + total_original_tokens(draft.folded)
    most = policy.max_new_summary_tokens(draft.transcript.window, covered)
    return int(min(_newest_room(draft, draft.room - frame), saving, most))


def summary_tokens(draft: Draft, policy: Policy, limit: int, *, facts: int | None) -> int:
    """The tokens asked of the new summary: the policy's `summary_max_tokens`, times 0.5 to 1.5 by the density of facts.

    REPAIR_SHARE of them fits the limit beside it. `facts` None asks for all the room there is. Raises CompactionSkipped
    if no tokens can be saved.
    """
    tokens = int(limit / (1 + REPAIR_SHARE))
    if tokens < MIN_NEW_SUMMARY_TOKENS:
        number = len(draft.condensed)
        raise CompactionSkipped(
            f"What could be compacted ({number} message{'s' * (number != 1)}) takes {draft.condensed_tokens:,} tokens: "
            "a summary would not be smaller."
        )
    if facts is None:
        return tokens
    density = 100 * facts / max(_replaced(draft), 1)
    wanted = int(policy.new_summary_tokens(draft.transcript.window) * min(0.5 + density / USUAL_DENSITY, 1.5))
    return max(min(tokens, wanted), MIN_NEW_SUMMARY_TOKENS)


def _left_by_target(draft: Draft, policy: Policy) -> int:
    """Tokens that the new summary can take in a request of the policy's target, passages recalled for it included."""
    transcript, window = draft.transcript, draft.transcript.window
    verbatim = sum(turn.tokens for turn in draft.kept + draft.tail)
    beside = transcript.system_tokens + MESSAGE_OVERHEAD + FRAME_TOKENS + cost(draft.older) + SEPARATOR_TOKENS
    return int(policy.target(window) / window.correction) - verbatim - beside - policy.recall_budget(window)


def _replaced(draft: Draft) -> int:
    """Tokens of the messages and summaries that the new summary replaces.

    If the request is over its budget, the tokens that the older summaries can lose count too. Otherwise they do not,
    so that a few short messages do not shorten the older summaries.
    """
    crowded = draft.before is not None and draft.before.over_budget
    stays = least_cost(draft.older) if crowded else cost(draft.older)
    return draft.condensed_tokens + draft.transcript.context_tokens - stays


def _newest_room(draft: Draft, budget: int) -> int:
    """Tokens of `budget` for the new summary: the rest that the older ones leave, at least its own share.

    However small the budget is, there is room for the smallest new summary and one older headline.
    """
    if not draft.older:
        return budget
    covered = draft.condensed_tokens
    fair = NEWEST_WEIGHT * covered / (NEWEST_WEIGHT * covered + total_original_tokens(draft.older) or 1)
    smallest = int(MIN_NEW_SUMMARY_TOKENS * (1 + REPAIR_SHARE))
    room = max(budget - cost(draft.older), int(budget * max(fair, NEWEST_SHARE)), smallest)
    return max(min(room, budget - LEAST_TOKENS - SEPARATOR_TOKENS), min(smallest, budget * 3 // 4))


def _room(summariser: Summariser, max_tokens: int, *, beside: int) -> int | None:
    """Tokens of transcript that one request to the summariser can hold; None: no limit.

    `beside` is the size of the texts sent with each passage. Raises CompactionFailed if the window is too small.
    """
    if summariser.window is None:
        return None
    room = summariser.window - WORDING_TOKENS - 2 * max_tokens - beside
    if room < max_tokens:
        reason = f"{summariser.name}'s window of {summariser.window} tokens is too small"
        raise CompactionFailed("prepare", reason, code=ErrorCode.WINDOW_TOO_SMALL)
    return room


def _whole(turn: Turn, count: TokenCounter) -> Turn:
    """The turn with the tokens of its full rendered text.

    They differ from its stored tokens if it is sent without its tools' results, has images or needs quoting.
    """
    differs = turn.elided or turn.images or not is_plain(turn)
    return replace(turn, tokens=count(render_transcript((turn,))), elided=False) if differs else turn


def _pieces(turn: Turn, room: int | None, count: TokenCounter) -> Iterator[Turn]:
    """The turn, or the parts into which its whole text is cut so that each fits half of `room`."""
    if room is None or turn.tokens <= room // 2:
        yield turn
        return
    text = "\n".join((turn.captioned, *(f"{use.name} {use.arguments}\n{use.result or ''}" for use in turn.tools)))
    for part in _parts(text, room // 2, count):
        # The quotations' places do not survive the cut: a part of a turn with quotations counts as quoted entirely.
        places = ((0, len(part)),) if turn.quoted else ()
        piece = replace(turn, content=part, tools=(), images=(), quoted=places, boilerplate=())
        yield replace(piece, tokens=count(part if is_plain(piece) else render_transcript((piece,))))


def _parts(text: str, limit: int, count: TokenCounter) -> Iterator[str]:
    """The whole text in parts of at most `limit` tokens."""
    if count(text) <= limit:
        yield text
        return
    middle = len(text) // 2
    quarter = len(text) // 4
    # Cut after a line, else after a word, else anywhere.
    cut = text.rfind("\n", quarter, middle) + 1 or text.rfind(" ", quarter, middle) + 1 or middle
    yield from _parts(text[:cut], limit, count)
    yield from _parts(text[cut:], limit, count)
