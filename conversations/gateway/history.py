"""A caller's messages as the engine's values: each in a turn, with what it costs and the running hash up to it."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import takewhile

from compression.core.digest import digest_after
from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD, ToolUse, Turn, total_tokens
from conversations.context.transcript import BEGINNING, as_sent, truncated
from conversations.errors import Invalid
from conversations.gateway.messages import (
    ROLES,
    Raw,
    Use,
    as_json,
    calls_of,
    checked,
    odd_parts,
    require_storable,
    said,
    text_of,
)
from conversations.runtime.bounded import BoundedCache

PART_TOKENS = 1_100
"""What an image is taken to cost, and any other part that is not text: as OpenAI's largest images do."""
MAX_MESSAGES = 20_000
MAX_ID_CHARS = 180


@dataclass(frozen=True, slots=True)
class Line:
    """A turn, and the caller's messages that it is made of, untouched. `results` are those of its calls, whole.

    `digest` is the running hash of the history up to and with it.
    """

    turn: Turn
    raw: tuple[Raw, ...]
    results: tuple[str | None, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class History:
    """What a call sends. `lead` are the system messages it begins with; they and the tools cost `fixed_tokens`.

    `fixed` is the text of both. `is_text`: nothing of it has a cost that is only guessed.
    """

    lead: tuple[Raw, ...]
    lines: tuple[Line, ...]
    fixed: str
    fixed_tokens: int
    is_text: bool

    @property
    def tokens(self) -> int:
        """All of it, by our own count."""
        return self.fixed_tokens + total_tokens([line.turn for line in self.lines])

    @property
    def origin(self) -> str:
        """What all histories that begin alike have in common."""
        return self.lines[0].digest if self.lines else ""

    @property
    def places(self) -> dict[str, int]:
        """How many lines each digest covers."""
        return {line.digest: place for place, line in enumerate(self.lines, start=1)}


def parse_history(messages: object, extras: Sequence[object] = (), *, is_storable: bool = False) -> History:
    """`extras`: what is sent beside the messages and counts too, such as tools. Raises Invalid, naming the place.

    `is_storable` says that all text can be stored, as is known of one whose JSON has no escape of what cannot.
    """
    if not isinstance(messages, list) or not messages:
        raise Invalid("messages: must be a list of at least one message.", field="messages")
    if len(messages) > MAX_MESSAGES:
        raise Invalid(f"messages: at most {MAX_MESSAGES:,}.", field="messages", limit=MAX_MESSAGES)
    entries = [checked(place, raw) for place, raw in enumerate(messages)]
    if not is_storable:
        for place, raw in enumerate(entries):
            require_storable(f"messages[{place}]", raw)
    lead = tuple(takewhile(lambda raw: ROLES[raw["role"]] == "system", entries))
    fixed = "\n\n".join([*(text_of(raw) for raw in lead), *(as_json(extra) for extra in extras if extra)])
    tokens = _cost((sha256(fixed.encode()).hexdigest(), 0), lambda: count_tokens(fixed))
    fixed_tokens = tokens + MESSAGE_OVERHEAD * len(lead)
    is_text = not any(extras) and not any(map(odd_parts, entries))
    return History(lead, tuple(_lines(entries[len(lead) :])), fixed, fixed_tokens, is_text)


_counted: BoundedCache[tuple[str, int], int] = BoundedCache(50_000)
"""What turns and tools cost, by hash: a history that comes again and again is counted once."""


def _cost(key: tuple[str, int], count: Callable[[], int]) -> int:
    known = _counted.get(key)
    if known is None:
        _counted.put(key, known := count())
    return known


def _lines(entries: list[Raw]) -> Iterator[Line]:
    digest, start = "", 0
    while start < len(entries):
        raw, calls = entries[start], calls_of(entries[start])
        answers = _answers(entries[start + 1 : start + 1 + len(calls)], calls)
        whole = tuple(text_of(answers[number]) if number in answers else None for number in range(len(calls)))
        role, content, uses = ROLES[raw["role"]], said(raw), _uses(calls, whole)
        digest, group = digest_after(digest, role, content, uses), (raw, *answers.values())
        # The digest knows results only as far as they are summarised; they are sent whole.
        tokens = _cost((digest, hash(whole)), partial(_tokens, group, content, calls, whole))
        # An instruction in the middle stays in force: no summary may swallow it.
        turn = Turn("", role, content, BEGINNING, tokens, "", uses, protected=role == "system")
        yield Line(turn, group, whole, digest)
        start += len(group)


def _answers(later: Sequence[Raw], calls: Sequence[Use]) -> Mapping[int, Raw]:
    """The results that stand right behind the message that made the calls, in order, by the numbers of their calls."""
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
    """As they are summarised: the results cut."""
    ids = _unlike([id[:MAX_ID_CHARS] for id, _, _ in calls])
    return tuple(
        ToolUse(id, name[:200], arguments, None if result is None else truncated(result))
        for id, (_, name, arguments), result in zip(ids, calls, results, strict=True)
    )


def _unlike(ids: Sequence[str]) -> Iterator[str]:
    """As they can be stored: one that was given before is made another one."""
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
    """What the messages cost as they are sent: whole."""
    role = ROLES[group[0]["role"]]  # a caller's system messages stay what they are
    texts = [content if role == "system" else as_sent(role, content), *(result or "" for result in results)]
    texts += [f"{name}{arguments}" for _, name, arguments in calls]
    words = sum(count_tokens(text) for text in texts if text)
    parts = sum(odd_parts(raw) for raw in group)
    return words + MESSAGE_OVERHEAD * (1 + len(calls)) + PART_TOKENS * parts
