"""A caller's messages as the engine's values: each in a turn, with what it costs and the running hash up to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import chain, islice, takewhile
from typing import Any

from compression.core.digest import after
from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD, Role, ToolUse, Turn, total_tokens
from conversations.errors import Invalid
from conversations.gateway.remembered import Remembered
from conversations.transcript import BEGINNING, as_sent, truncated

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
PART_TOKENS = 1_100
"""What an image is taken to cost, and any other part that is not text: as OpenAI's largest images do."""
MOST_MESSAGES = 20_000

Raw = dict[str, Any]
Call = tuple[str, str, str]
"""Of a tool: its id, the tool's name, the arguments."""


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


def read(messages: object, extras: Sequence[object] = (), *, is_storable: bool = False) -> History:
    """`extras`: what is sent beside the messages and counts too, such as tools. Raises Invalid, naming the place.

    `is_storable` says that all text can be stored, as is known of one whose JSON has no escape of what cannot.
    """
    if not isinstance(messages, list) or not messages:
        raise Invalid("messages: must be a list of at least one message.", field="messages")
    if len(messages) > MOST_MESSAGES:
        raise Invalid(f"messages: at most {MOST_MESSAGES:,}.", field="messages", limit=MOST_MESSAGES)
    entries = [_checked(place, raw) for place, raw in enumerate(messages)]
    if not is_storable:
        for place, raw in enumerate(entries):
            _require_storable(f"messages[{place}]", raw)
    lead = tuple(takewhile(lambda raw: ROLES[raw["role"]] == "system", entries))
    fixed = "\n\n".join([*(_text(raw) for raw in lead), *(_json(extra) for extra in extras if extra)])
    tokens = _cost(sha256(fixed.encode()).hexdigest(), lambda: count_tokens(fixed))
    fixed_tokens = tokens + MESSAGE_OVERHEAD * len(lead)
    is_text = not any(extras) and not any(map(_odd_parts, entries))
    return History(lead, tuple(_lines(entries[len(lead) :])), fixed, fixed_tokens, is_text)


_counted: Remembered[str, int] = Remembered(50_000)
"""What turns and tools cost, by hash: a history that comes again and again is counted once."""


def _cost(key: str, count: Callable[[], int]) -> int:
    known = _counted.get(key)
    if known is None:
        _counted.put(key, known := count())
    return known


def _lines(entries: list[Raw]) -> Iterator[Line]:
    digest, start = "", 0
    while start < len(entries):
        raw, calls = entries[start], _calls(entries[start])
        answers = _answers(islice(entries, start + 1, None), {call[0] for call in calls}) if calls else []
        results = {answer["tool_call_id"]: _text(answer) for answer in answers}
        whole = tuple(results.get(id) for id, _, _ in calls)
        role, content, uses = ROLES[raw["role"]], _text(raw), _uses(calls, whole)
        digest, group = after(digest, role, content, uses), (raw, *answers)
        tokens = _cost(digest, partial(_tokens, group, content, calls, whole))
        # An instruction in the middle stays in force: no summary may swallow it.
        turn = Turn("", role, content, BEGINNING, tokens, _name(raw), uses, protected=role == "system")
        yield Line(turn, group, whole, digest)
        start += len(group)


def _uses(calls: list[Call], results: Sequence[str | None]) -> tuple[ToolUse, ...]:
    """As they are summarised: the results cut, and an id that was given before made another one."""
    return tuple(
        ToolUse(_unlike(id, number, calls), name[:200], arguments, None if result is None else truncated(result))
        for number, ((id, name, arguments), result) in enumerate(zip(calls, results, strict=True))
    )


def _tokens(group: Sequence[Raw], content: str, calls: list[Call], results: Sequence[str | None]) -> int:
    """What the messages cost as they are sent: whole."""
    first = group[0]
    texts = [as_sent(ROLES[first["role"]], content), _name(first), *(result or "" for result in results)]
    texts += [f"{name}{arguments}" for _, name, arguments in calls]
    words = sum(count_tokens(text) for text in texts if text)
    parts = sum(_odd_parts(raw) for raw in group)
    return words + MESSAGE_OVERHEAD * (1 + len(calls)) + PART_TOKENS * parts


def _checked(number: int, raw: object) -> Raw:
    if not isinstance(raw, dict):
        raise _fault(number, "", "must be an object.")
    if not isinstance(raw.get("role"), str) or raw["role"] not in ROLES:
        raise _fault(number, ".role", f"must be one of {', '.join(ROLES)}.")
    content, calls = raw.get("content"), raw.get("tool_calls")
    if not (content is None or isinstance(content, str) or _is_parts(content)):
        raise _fault(number, ".content", "must be text, or a list of parts that each have a type.")
    if calls is not None and not (isinstance(calls, list) and all(isinstance(call, dict) for call in calls)):
        raise _fault(number, ".tool_calls", "must be a list of objects.")
    return raw


def _fault(number: int, field: str, what: str) -> Invalid:
    place = f"messages[{number}]{field}"
    return Invalid(f"{place}: {what}", field=place)


def _require_storable(place: str, raw: Raw) -> None:
    """Text that no database and no provider takes is refused while its place is known."""
    for text in _strings(raw):
        if "\0" in text:
            raise Invalid(f"{place}: must not contain a NUL character.", field=place)
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Invalid(f"{place}: contains half a character (a lone surrogate).", field=place) from None


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from chain.from_iterable(map(_strings, chain(value, value.values())))
    elif isinstance(value, list):
        yield from chain.from_iterable(map(_strings, value))


def _is_parts(content: object) -> bool:
    return isinstance(content, list) and all(
        isinstance(part, dict) and isinstance(part.get("type"), str) for part in content
    )


def _text(raw: Raw) -> str:
    """Its words; what is no text is named by a hash of it, so that another image makes another history."""
    content = raw.get("content")
    if content is None:
        return str(raw.get("refusal") or "")
    return content if isinstance(content, str) else "\n".join(_part_text(part) for part in content)


def _part_text(part: Raw) -> str:
    text = _words(part)
    return text if text is not None else f"[{part['type']} {sha256(_json(part).encode()).hexdigest()[:12]}]"


def _words(part: Raw) -> str | None:
    text = part.get("text", part.get("refusal"))
    return text if isinstance(text, str) else None


def _odd_parts(raw: Raw) -> int:
    content = raw.get("content")
    return sum(_words(part) is None for part in content) if isinstance(content, list) else 0


def _calls(raw: Raw) -> list[Call]:
    """Id, name and arguments of each call that a message makes, whatever kind of tool it is of."""
    found = []
    for call in raw.get("tool_calls") or ():
        kind = call.get(str(call.get("type") or "function"))
        inner = kind if isinstance(kind, dict) else {}
        found.append((str(call.get("id") or ""), str(inner.get("name") or ""), _argument(inner)))
    if isinstance(old := raw.get("function_call"), dict):
        found.append(("", str(old.get("name") or ""), _argument(old)))
    return found


def _argument(inner: Raw) -> str:
    given = inner.get("arguments", inner.get("input"))
    return given if isinstance(given, str) else _json(given) if given is not None else ""


def _answers(later: Iterable[Raw], ids: set[str]) -> list[Raw]:
    """The results that stand right behind the message that made the calls, one for each."""
    found: dict[str, Raw] = {}
    for raw in later:
        id = raw.get("tool_call_id")
        if raw["role"] != "tool" or not isinstance(id, str) or id not in ids or id in found:
            break
        found[id] = raw
    return list(found.values())


def _unlike(id: str, number: int, calls: list[Call]) -> str:
    """The id as it can be stored: another one than those of the calls before it."""
    alike = sum(other == id for other, _, _ in calls[:number])
    return f"{id[:180]}#{alike}" if alike else id[:180]


def _name(raw: Raw) -> str:
    name = raw.get("name")
    return name[:100] if isinstance(name, str) else ""


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
