"""Converts a caller's messages to the engine's turns, each with its tokens and the running digest of the history."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import takewhile

from compression.core.digest import digest_after
from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD, ToolUse, Turn, total_tokens
from compression.history import BEGINNING
from conversations.context.instructions import in_force
from conversations.context.transcript import as_sent, truncated
from conversations.errors import Invalid
from conversations.gateway.history_repair import storable
from conversations.gateway.messages import (
    PLAIN,
    ROLES,
    Raw,
    Use,
    as_json,
    calls_of,
    checked,
    odd_parts,
    spoken_text,
    text_of,
)
from conversations.llm.thinking.thoughts import DETAILS, TEXT_FIELDS
from conversations.messages.boilerplate import places_in, without_facts
from conversations.runtime.bounded_cache import BoundedCache

THOUGHTS = (*TEXT_FIELDS, DETAILS)
"""The fields of a message with the thoughts that go back to their model."""
PART_TOKENS = 1_100
"""The assumed tokens of an image, or of any other part that is not text: those of OpenAI's largest images."""
MAX_MESSAGES = 20_000
MAX_ID_CHARS = 180
SHARE_OF_INSTRUCTIONS = 0.2
"""The share of the window that system messages after the first reply may fill word for word."""


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """A turn and the caller's messages that it is made of, unchanged. `results` are those of its calls, whole. `digest`
    is the running hash of the history up to and including it.
    """

    turn: Turn
    raw: tuple[Raw, ...]
    results: tuple[str | None, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class History:
    """The content of a call. `lead` are its first system messages; they and the tools take `fixed_tokens`, and `fixed`
    is the text of both. `is_text`: no token count of it is a guess.
    """

    lead: tuple[Raw, ...]
    lines: tuple[HistoryLine, ...]
    fixed: str
    fixed_tokens: int
    is_text: bool

    @property
    def tokens(self) -> int:
        """The tokens of the whole history, by our own count."""
        return self.fixed_tokens + total_tokens([line.turn for line in self.lines])

    @property
    def origin(self) -> str:
        """The digest that all histories with the same beginning share."""
        return self.lines[0].digest if self.lines else ""

    @property
    def places(self) -> dict[str, int]:
        """The number of lines that each digest covers."""
        return {line.digest: place for place, line in enumerate(self.lines, start=1)}


def parse_history(
    messages: object, extras: Sequence[object] = (), *, is_storable: bool = False, window: int | None = None
) -> History:
    """The history in a call's `messages`, for a model with a window of this many tokens.

    `extras` are other texts of the call that count too, such as tools. `is_storable`: the JSON has no escapes of
    characters that a database cannot store; otherwise these are replaced, only in the rows. Raises Invalid, naming the
    place.
    """
    if not isinstance(messages, list) or not messages:
        raise Invalid("messages: must be a list of at least one message.", field="messages")
    if len(messages) > MAX_MESSAGES:
        raise Invalid(f"messages: at most {MAX_MESSAGES:,}.", field="messages", limit=MAX_MESSAGES)
    entries = [checked(place, raw) for place, raw in enumerate(messages)]
    stored = entries if is_storable else list(map(storable, entries))
    lead = tuple(takewhile(lambda raw: ROLES[raw["role"]] == "system", entries))
    told = [extra if is_storable else storable(extra) for extra in extras if extra]
    fixed = "\n\n".join([*map(text_of, stored[: len(lead)]), *map(as_json, told)])
    tokens = _cost((sha256(fixed.encode()).hexdigest(), 0), lambda: count_tokens(fixed))
    fixed_tokens = tokens + MESSAGE_OVERHEAD * len(lead)
    is_text = not any(map(odd_parts, entries))
    instructions = set(map(spoken_text, stored[: len(lead)]))
    lines = _in_force([*_lines(stored[len(lead) :], entries[len(lead) :], instructions)], window)
    return History(lead, lines, fixed, fixed_tokens, is_text)


_counted: BoundedCache[tuple[str, int], int] = BoundedCache(50_000)
"""The tokens of turns and tools by hash: a history that is sent again and again is counted once."""


def _cost(key: tuple[str, int], count: Callable[[], int]) -> int:
    known = _counted.get(key)
    if known is None:
        _counted.put(key, known := count())
    return known


def _lines(entries: list[Raw], sent: list[Raw], instructions: set[str]) -> Iterator[HistoryLine]:
    """The lines of messages; `sent` are the same as they are forwarded, with characters that no row can hold.

    `instructions` are those before the first line. One that is repeated is not protected once more.
    """
    digest, start = "", 0
    while start < len(entries):
        raw, calls = entries[start], calls_of(entries[start])
        answers = _answers(entries[start + 1 : start + 1 + len(calls)], calls) if calls else {}
        whole = tuple(text_of(answers[number]) if number in answers else None for number in range(len(calls)))
        role, content, uses = ROLES[raw["role"]], spoken_text(raw), _uses(calls, whole)
        digest, group = digest_after(digest, role, content, uses), (raw, *answers.values())
        as_sent_now = tuple(sent[start : start + len(group)])
        # The digest knows results only as far as they are summarised; they are sent whole.
        thoughts = _thoughts(raw)
        tokens = _cost((digest, hash((whole, thoughts))), partial(_tokens, group, content, calls, (*whole, thoughts)))
        # An instruction in the middle stays in force: no summary may swallow it.
        is_new = role == "system" and content not in instructions
        turn = Turn("", role, content, BEGINNING, tokens, "", uses, protected=is_new)
        yield HistoryLine(_with_places(turn), as_sent_now, whole, digest)
        if is_new:
            instructions.add(content)
        start += len(group)


def _in_force(lines: list[HistoryLine], window: int | None) -> tuple[HistoryLine, ...]:
    """The lines, of whose instructions only those in force are protected; a window of None keeps all in force."""
    if window is None:
        return tuple(lines)
    sizes = [line.turn.tokens if line.turn.protected else None for line in lines]
    first_reply = next((at for at, line in enumerate(lines) if line.turn.role == "assistant"), len(lines))
    kept = in_force(sizes, first_reply=first_reply, most=int(window * SHARE_OF_INSTRUCTIONS))
    return tuple(
        line if size is None or number in kept else replace(line, turn=_outdated(line.turn))
        for number, (line, size) in enumerate(zip(lines, sizes, strict=True))
    )


def _outdated(turn: Turn) -> Turn:
    return replace(turn, protected=False, quoted=((0, len(turn.content)),))


def _with_places(turn: Turn) -> Turn:
    """The turn with the places of the program's additions; of a repeated instruction, all of it."""
    if turn.role == "user" and (quoted := places_in(turn.content)):
        return replace(turn, quoted=quoted, boilerplate=without_facts(turn.content, quoted))
    if turn.role == "system" and not turn.protected:
        everywhere = ((0, len(turn.content)),)
        return replace(turn, quoted=everywhere, boilerplate=everywhere)
    return turn


def _thoughts(raw: Raw) -> str:
    """The thoughts that a message returns to the model that wrote them."""
    if raw.keys() <= PLAIN:
        return ""
    found = [raw[name] for name in THOUGHTS if raw.get(name)]
    return "".join(thought if isinstance(thought, str) else as_json(thought) for thought in found)


def _answers(later: Sequence[Raw], calls: Sequence[Use]) -> Mapping[int, Raw]:
    """The results right after the message with the calls, in order, by the numbers of their calls."""
    waiting: dict[str, deque[int]] = defaultdict(deque)
    for number, (id, _, _) in enumerate(calls):
        waiting[id].append(number)
    found = {}
    for raw in later:
        answered = raw.get({"tool": "tool_call_id", "function": "name"}.get(raw["role"], ""))
        if not isinstance(answered, str) or not waiting[answered]:
            break
        found[waiting[answered].popleft()] = raw
    return found


def _uses(calls: Sequence[Use], results: Sequence[str | None]) -> tuple[ToolUse, ...]:
    """The tool uses as they are summarised: with cut results."""
    if not calls:
        return ()
    ids = _unlike([id[:MAX_ID_CHARS] for id, _, _ in calls])
    return tuple(
        ToolUse(id, name[:200], arguments, None if result is None else truncated(result))
        for id, (_, name, arguments), result in zip(ids, calls, results, strict=True)
    )


def _unlike(ids: Sequence[str]) -> Iterator[str]:
    """The ids in order, each repeated one with a number added, so that all can be stored."""
    taken: set[str] = set()
    alike: Counter[str] = Counter()
    for id in ids:
        other = id
        while other in taken:
            alike[id] += 1
            other = f"{id}#{alike[id]}"
        taken.add(other)
        yield other


def _tokens(group: Sequence[Raw], content: str, calls: Sequence[Use], results: Sequence[str | None]) -> int:
    """The tokens of the messages as they are sent: whole."""
    role = ROLES[group[0]["role"]]  # a caller's system messages stay what they are
    texts = [content if role == "system" else as_sent(role, content), *(result or "" for result in results)]
    texts += [f"{name}{arguments}" for _, name, arguments in calls]
    words = sum(count_tokens(text) for text in texts if text)
    parts = sum(odd_parts(raw) for raw in group)
    return words + MESSAGE_OVERHEAD * (1 + len(calls)) + PART_TOKENS * parts
