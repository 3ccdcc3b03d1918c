"""Stage 2: the condensed messages as passages, none larger than the summariser can read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from compression.core.aging import LEAST, SEPARATOR, aged_tokens, cost
from compression.core.context import FRAME, summaries
from compression.core.errors import CompactionFailed, CompactionSkipped
from compression.core.facts import find_facts
from compression.core.policy import Policy
from compression.core.ports import Summariser, TokenCounter
from compression.core.quoting import escaped, is_plain, quoted
from compression.core.retention import REPAIR_SHARE
from compression.core.said import label_of, said_before, said_by, speaker_of
from compression.core.values import Draft, Passage, Steering, Turn

COMPACT, MODERATE, DETAILED = 1, 2, 3
SMALLEST_SUMMARY = 60
"""Tokens: the headings and a sentence. Where not even that saves anything, there is nothing to gain."""
NEWEST_SHARE = 1 / 3
"""Of the room that all summaries have: the new one may take that, and more where the older ones leave it."""
WORDING = 1_200
"""Tokens kept free in a summariser's window for its instructions."""
USUAL_DENSITY = 4
"""Facts in 100 tokens at which a summary has the length that the policy names."""

ORIGINS = {"import": "imported", "planner": "for the planner", "summary": "from an earlier conversation"}
"""What the transcript says of words that nobody typed here."""
HEADER = 20
"""Tokens that the rendering adds to a message: its speaker and date."""


def prepare(draft: Draft, policy: Policy, steering: Steering, *, summariser: Summariser, count: TokenCounter) -> Draft:
    """Decide level and length, and split what is condensed. Raises CompactionSkipped where nothing can be saved."""
    earlier = summaries(draft.folded)
    facts = find_facts([*said_before(earlier), *(said for turn in draft.condensed for said in said_by(turn))])
    max_tokens = summary_tokens(draft, policy, count, facts=None if summariser.fills_budget else len(facts))
    level = policy.level or level_for(draft.condensed_tokens)
    # What is folded in: the earlier summary, and later the one of the passages so far.
    asked = "\n".join((steering.instructions, draft.transcript.goal, steering.prompt or policy.prompt))
    beside = max(count(earlier), max_tokens) + count(asked)
    room = _room(summariser, max_tokens, beside=beside)
    pieces = [piece for turn in draft.condensed for piece in _pieces(_whole(turn, count), room, count)]
    passages = tuple(
        Passage(
            turns=part,
            text=render(part),
            earlier=earlier if number == 0 else "",
            max_tokens=max_tokens,
            level=level,
            instructions=steering.instructions,
            goal=draft.transcript.goal,
            prompt=steering.prompt or policy.prompt,
        )
        for number, part in enumerate(_packed(pieces, room, count))
    )
    return replace(draft, level=level, passages=passages, max_tokens=max_tokens, facts=facts)


def level_for(tokens: int) -> int:
    """How detailed a summary is, by the size of what it condenses."""
    return COMPACT if tokens > 3_000 else MODERATE if tokens > 2_000 else DETAILED


def render(turns: tuple[Turn, ...]) -> str:
    """The transcript as a summariser reads it: who, when, the words, and what tools were asked and answered."""
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


def summary_tokens(draft: Draft, policy: Policy, count: TokenCounter, *, facts: int | None) -> int:
    """`summary_max_tokens`, times .5 to 1.5 by the density of facts, within the budget and a share of what it replaces.

    None for the number of facts: as much as there is room for. Raises CompactionSkipped where nothing can be saved.
    """
    frame = count(FRAME) + SEPARATOR
    replaced = _replaced(draft)
    # What is folded in was condensed once already, and need not shrink again.
    whole = replaced - draft.condensed_tokens if draft.folded else 0
    saving = (replaced - whole) // policy.least_reduction + whole - frame
    most = policy.most_of_summary(replaced - whole) + whole
    tokens = int(min(_newest_room(draft, draft.room - frame), saving, most) / (1 + REPAIR_SHARE))
    if tokens < SMALLEST_SUMMARY:
        number = len(draft.condensed)
        raise CompactionSkipped(
            f"What could be condensed ({number} message{'s' * (number != 1)}) takes {draft.condensed_tokens:,} tokens: "
            "a summary would not be smaller."
        )
    if facts is None:
        return tokens
    density = 100 * facts / max(replaced, 1)
    asked = int(policy.summary_max_tokens * min(0.5 + density / USUAL_DENSITY, 1.5))
    return max(min(tokens, asked), SMALLEST_SUMMARY)


def _replaced(draft: Draft) -> int:
    """Tokens of the messages and summaries that the new one stands for.

    Over the budget also what the older ones give up by ageing; else they do not age for a few short messages.
    """
    crowded = draft.before is not None and draft.before.over_budget
    stays = aged_tokens(draft.older) if crowded else cost(draft.older)
    return draft.condensed_tokens + draft.transcript.context_tokens - stays


def _newest_room(draft: Draft, budget: int) -> int:
    """What the older summaries leave of `budget` once they are aged; at least a third of it: they shrink for it.

    However small the budget, a new summary of the smallest kind fits, and a word of the older ones.
    """
    if not draft.older:
        return budget
    smallest = int(SMALLEST_SUMMARY * (1 + REPAIR_SHARE))
    room = max(budget - aged_tokens(draft.older), int(budget * NEWEST_SHARE), smallest)
    return min(room, budget - LEAST - SEPARATOR)


def _room(summariser: Summariser, max_tokens: int, *, beside: int) -> int | None:
    """Tokens of transcript that one request to the summariser can hold; None where any number can."""
    if summariser.window is None:
        return None
    room = summariser.window - WORDING - 2 * max_tokens - beside
    if room < max_tokens:
        raise CompactionFailed("prepare", f"{summariser.name}'s window of {summariser.window} tokens is too small")
    return room


def _whole(turn: Turn, count: TokenCounter) -> Turn:
    """The turn with what it takes as text in full, where it is sent without its tools' results, or with images."""
    is_other = turn.elided or turn.images or not is_plain(turn)
    return replace(turn, tokens=count(render((turn,))), elided=False) if is_other else turn


def _pieces(turn: Turn, room: int | None, count: TokenCounter) -> Iterator[Turn]:
    """The turn, or parts of it that fit: all of its text, cut where that is needed."""
    if room is None or turn.tokens <= room // 2:
        yield turn
        return
    words = "\n".join((turn.told, *(f"{use.name} {use.arguments}\n{use.result or ''}" for use in turn.tools)))
    for part in _parts(words, room // 2, count):
        # Where in a part its quotations are is not known any more: nothing of it counts as typed.
        places = ((0, len(part)),) if turn.quoted else ()
        whole = replace(turn, content=part, tools=(), images=(), quoted=places)
        yield replace(whole, tokens=count(part if is_plain(whole) else render((whole,))))


def _parts(text: str, limit: int, count: TokenCounter) -> Iterator[str]:
    if count(text) <= limit:
        yield text
        return
    middle = len(text) // 2
    quarter = len(text) // 4
    # After a line, else after a word, else anywhere: nothing is left out.
    cut = text.rfind("\n", quarter, middle) + 1 or text.rfind(" ", quarter, middle) + 1 or middle
    yield from _parts(text[:cut], limit, count)
    yield from _parts(text[cut:], limit, count)


def _packed(pieces: list[Turn], room: int | None, count: TokenCounter) -> Iterator[tuple[Turn, ...]]:
    part: list[Turn] = []
    taken = 0
    for piece in pieces:
        tokens = piece.tokens + HEADER
        if part and room is not None and taken + tokens > room:
            yield tuple(part)
            part, taken = [], 0
        part.append(piece)
        taken += tokens
    yield tuple(part)
