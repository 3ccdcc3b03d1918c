"""Regular expressions of the product that take exponential time: found in their automata, then tried.

python -m tests.torture.expressions

A loop that can read one text in two ways is ambiguous: Python tries all ways before it gives up, and each repeat of the
text doubles them. Glushkov's automaton has one state for each character of an expression; a loop is ambiguous if two
different paths lead from a state back to it over the same characters (Weideman et al., 2016, "Analyzing matching time
behavior of backtracking regular expression matchers by using ambiguity of NFA"). A text that is found so is repeated
and searched: possessive and bounded loops are ambiguous too and end soon.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import re
import re._constants as sre
import re._parser as parser  # type: ignore[import-untyped]
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from itertools import combinations, product
from pathlib import Path
from typing import Any, get_args

ROOT = Path(__file__).parents[2]
PACKAGES = ("compression", "conversations", "chatsite")
REPEATS = 24
SLOW = 0.1
"""Seconds that a search of a repeated text may take."""
PATIENCE = 60.0
"""Seconds to look for ambiguity in one expression."""
FEW = 4
"""A group that may be repeated this often or more is read as a loop without end."""
ENDINGS = ("\0", " ~~", "", ".", " zzz qqq")
SAMPLES = "aZz09_ \n\t.,:;!?'\"-()[]{}*#`/|\\<>=+@$%^&~é中а«»“”’…–。、あ\u00a0\u2028\0"
"""Characters that stand for those that no expression names."""
SEARCH = """
import json, re, sys, time
expression, flags, text = json.load(sys.stdin)
compiled = re.compile(expression, flags)
begin = time.perf_counter()
compiled.search(text)
print(time.perf_counter() - begin)
"""

type Counts = dict[int, int]
"""How many ways lead to a state: one, or 2 for more."""
type Part = tuple[int, Counts, Counts]
"""How many ways a part of an expression can match nothing, its first states, its last ones."""


def main() -> None:
    slow = {
        f"{place}: {text[:60]!r} in {expression[:100]!r}"
        for expression, flags, place in _compiled()
        for text in _slow_texts(expression, flags)
    }
    print("\n".join(sorted(slow)) or "No expression takes exponential time.")
    sys.exit(bool(slow))


def _compiled() -> list[tuple[str, int, str]]:
    """All expressions that the product compiles, each with its flags and the file that does."""
    places: dict[tuple[str, int], str] = {}
    compile_one = re.compile

    def noted(expression: Any, flags: Any = 0) -> Any:
        caller = Path(sys._getframe(1).f_code.co_filename)
        if isinstance(expression, str) and caller.is_relative_to(ROOT) and ".venv" not in caller.parts:
            places.setdefault((expression, int(flags)), str(caller.relative_to(ROOT)))
        return compile_one(expression, flags)

    re.compile = noted  # type: ignore[assignment]
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()
    for package in PACKAGES:
        for module in pkgutil.walk_packages([str(ROOT / package)], f"{package}."):
            if ".migrations" not in module.name and not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    _compile_languages()
    re.compile = compile_one
    return [(expression, flags, place) for (expression, flags), place in places.items()]


def _compile_languages() -> None:
    """Compile the expressions of sentences, which wait until a sentence is read."""
    from compression.core.lazy_pattern import _LazyPattern
    from compression.core.ledger import english, patterns, withdrawals
    from compression.core.text import relative_dates

    for name, one in patterns.expressions("english").items():
        if isinstance(one, str):
            english._pattern(name)
    for table in patterns.TABLES.glob("*.toml"):
        if table.stem != "english":
            patterns.language(table.stem)
    for form in get_args(withdrawals.Form):
        withdrawals._pattern(form)
    for pattern in [one for one in gc.get_objects() if isinstance(one, _LazyPattern)]:
        _ = pattern.search
    for language in relative_dates._languages():
        _ = language._expression


def _slow_texts(expression: str, flags: int) -> Iterator[str]:
    """Texts that an expression searches for longer than `SLOW` seconds."""
    whole = parser.parse(expression, flags)
    parts = [(whole, whole.state.flags)]
    while parts:
        automaton = Automaton(*parts.pop(), whole)
        parts += automaton.looked_at
        if found := automaton.ambiguous():
            way, repeated = found
            texts = (way + repeated * REPEATS + ending for ending in ENDINGS)
            yield from (text for text in texts if _seconds(expression, flags, text) > SLOW)


def _seconds(expression: str, flags: int, text: str) -> float:
    task = json.dumps([expression, flags, text])
    try:
        done = subprocess.run([sys.executable, "-c", SEARCH], input=task, capture_output=True, text=True, timeout=5)
    except subprocess.TimeoutExpired:
        return 5.0
    return float(done.stdout or 0)


class Automaton:
    """The states of an expression, each with the characters that it matches and the states that may follow it."""

    def __init__(self, part: Any, flags: int, whole: Any) -> None:
        self.alphabet = list(dict.fromkeys((*SAMPLES, *_characters(whole))))
        self.matches: list[frozenset[str]] = []
        self.follows: list[Counts] = []
        self.looked_at: list[tuple[Any, int]] = []
        """What the expression looks ahead or back for: automata of their own."""
        self.first = self._sequence(part, flags)[1]

    def ambiguous(self) -> tuple[str, str] | None:
        """A text that leads into an ambiguous loop and one that the loop reads in two ways."""
        end = time.monotonic() + PATIENCE
        for loop in _loops(range(len(self.matches)), self.follows.__getitem__):
            for one, other in product(loop, loop):
                if self.follows[one].get(other, 0) > 1 and self.matches[other]:
                    path = _path([other], partial(_within, self.follows.__getitem__, loop), one)
                    return self._way_to(one), self._text((state, state) for state in path)

            def steps(pair: tuple[int, int], loop: frozenset[int] = loop) -> Iterator[tuple[int, int]]:
                if time.monotonic() > end:
                    raise TimeoutError("An expression has too many states.")
                one, other = ([to for to in self.follows[state] if to in loop] for state in pair)
                same = pair[0] == pair[1]
                for to in (*combinations(one, 2), *zip(one, one, strict=True)) if same else product(one, other):
                    if self.matches[to[0]] & self.matches[to[1]]:
                        yield min(to), max(to)

            for pairs in _loops([(state, state) for state in loop], steps):
                together = next((pair for pair in pairs if pair[0] == pair[1]), None)
                apart = next((pair for pair in pairs if pair[0] != pair[1]), None)
                if together and apart:
                    within = partial(_within, steps, pairs)
                    path = _path([together], within, apart)[1:] + _path([apart], within, together)[1:]
                    return self._way_to(together[0]), self._text(path)
        return None

    def _way_to(self, state: int) -> str:
        return self._text((one, one) for one in _path(self.first, self.follows.__getitem__, state))

    def _text(self, path: Iterable[tuple[int, int]]) -> str:
        return "".join(min(self.matches[one] & self.matches[other], default="") for one, other in path)

    def _sequence(self, parts: Any, flags: int) -> Part:
        whole: Part = (1, {}, {})
        for kind, value in parts:
            whole = self._then(whole, self._part(kind, value, flags))
        return whole

    def _then(self, before: Part, after: Part) -> Part:
        for state, ways in before[2].items():
            self.follows[state] = _sum(self.follows[state], _times(after[1], ways))
        first = _sum(before[1], _times(after[1], before[0]))
        return min(2, before[0] * after[0]), first, _sum(after[2], _times(before[2], after[0]))

    def _part(self, kind: Any, value: Any, flags: int) -> Part:
        if kind in (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN, sre.GROUPREF):
            return self._state(kind, value, flags)
        if kind is sre.SUBPATTERN:
            return self._sequence(value[3], (flags | value[1]) & ~value[2])
        if kind is sre.ATOMIC_GROUP:
            return self._sequence(value, flags)
        if kind is sre.BRANCH:
            nothing, first, last = zip(*(self._sequence(one, flags) for one in value[1]), strict=True)
            return min(2, sum(nothing)), reduce(_sum, first), reduce(_sum, last)
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            return self._repeated(*value, flags)
        if kind in (sre.ASSERT, sre.ASSERT_NOT):
            self.looked_at.append((value[1], flags))
        return 1, {}, {}

    def _state(self, kind: Any, value: Any, flags: int) -> Part:
        self.matches.append(frozenset(one for one in self.alphabet if _is_matched(one, kind, value, flags)))
        self.follows.append({})
        state = {len(self.matches) - 1: 1}
        return 0, state, state

    def _repeated(self, least: int, most: int, parts: Any, flags: int) -> Part:
        if most >= FEW:
            nothing, first, last = self._then((1, {}, {}), self._sequence(parts, flags))
            self._then((0, {}, last), (0, first, {}))
            return int(least == 0 or nothing > 0), first, last
        whole: Part = (1, {}, {})
        for place in range(most, 0, -1):
            whole = self._then(self._sequence(parts, flags), whole)
            if place > least:
                whole = (1, *whole[1:])
        return whole


def _characters(parts: Any) -> Iterator[str]:
    """Each character that an expression names."""
    if isinstance(parts, int) and not isinstance(parts, bool) and 0 <= parts <= sys.maxunicode:
        yield chr(parts)
    elif isinstance(parts, (list, tuple, parser.SubPattern)):
        for part in parts:
            yield from _characters(part)


def _is_matched(one: str, kind: Any, value: Any, flags: int) -> bool:
    cases = {one, one.lower(), one.upper()} if flags & re.IGNORECASE else {one}
    if kind is sre.ANY:
        return one != "\n" or bool(flags & re.DOTALL)
    if kind is sre.GROUPREF:
        return True
    if kind is not sre.IN:
        return (chr(value) in cases) == (kind is sre.LITERAL)
    negated = value[0][0] is sre.NEGATE
    return negated != any(_is_in(case, *item) for case in cases for item in value[negated:])


def _is_in(one: str, kind: Any, value: Any) -> bool:
    if kind is sre.LITERAL:
        return one == chr(value)
    if kind is sre.RANGE:
        return value[0] <= ord(one[0]) <= value[1]
    name = str(value)
    found = one.isdigit() if "DIGIT" in name else one.isspace() if "SPACE" in name else one.isalnum() or one == "_"
    return found != ("NOT" in name)


def _sum(one: Counts, other: Counts) -> Counts:
    return one | {state: min(2, ways + one.get(state, 0)) for state, ways in other.items()}


def _times(ways: Counts, factor: int) -> Counts:
    return {state: min(2, one * factor) for state, one in ways.items() if factor}


def _within[State](
    steps: Callable[[State], Iterable[State]], states: frozenset[State], state: State
) -> Iterator[State]:
    return (to for to in steps(state) if to in states)


def _path[State](starts: Iterable[State], steps: Callable[[State], Iterable[State]], goal: State) -> list[State]:
    """A shortest way to a state, with its beginning; empty if there is none."""
    before: dict[State, State | None] = dict.fromkeys(starts)
    waiting = deque(before)
    while waiting and goal not in before:
        state = waiting.popleft()
        for to in steps(state):
            if to not in before:
                before[to] = state
                waiting.append(to)
    path: list[State] = []
    at: State | None = goal if goal in before else None
    while at is not None:
        path.append(at)
        at = before[at]
    return path[::-1]


def _loops[State](starts: Iterable[State], steps: Callable[[State], Iterable[State]]) -> Iterator[frozenset[State]]:
    """The sets of states that reach each other (Tarjan, 1972)."""
    index: dict[State, int] = {}
    lowest: dict[State, int] = {}
    stack: list[State] = []
    done: set[State] = set()
    for start in starts:
        if start in index:
            continue
        path: list[tuple[State, Iterator[State]]] = []
        entered: State | None = start
        while entered is not None or path:
            if entered is not None:
                index[entered] = lowest[entered] = len(index)
                stack.append(entered)
                path.append((entered, iter(steps(entered))))
                entered = None
            state, following = path[-1]
            for to in following:
                if to not in index:
                    entered = to
                    break
                if to not in done:
                    lowest[state] = min(lowest[state], index[to])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[state])
                if lowest[state] == index[state]:
                    loop: set[State] = set()
                    while state not in loop:
                        loop.add(stack.pop())
                    done |= loop
                    yield frozenset(loop)


if __name__ == "__main__":
    main()
