"""How much of work on a machine a summary keeps: distinct paths, identifiers, numbers, errors and commands.

The shapes are the measure's own, not those that the summariser weighs. Nothing is counted twice: what is part of an
address or a path is no identifier or number, an error is no identifier, and a path that begins or ends a longer one
("fields.py" and "/src" of "/src/fields.py", "/list.pl" of "http://host:8000/list.pl") is told by it: of a file that is
named in several ways the longest is wanted. Not counted are rows that are figures for the most part, such as a progress
bar, and the number that leads a line of a listing; all other numerals of file dumps and of tools' own notices are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from statistics import fmean

from benchmarks.conversations import Conversation
from compression.core.values import Turn

_URL = re.compile(r"\b\w+://[^\s\"'`<>()?#|]*[\w/]")
_PATH = re.compile(
    r"(?:[\w.~-]*/)+[\w-]+(?:\.\w+)+"  # a file in its folder
    r"|(?<![\w</])(?:/[\w-][\w.-]+)+|(?<![\w<])[A-Za-z~.][\w.-]*(?:/[\w.-]+){2,}"  # a folder; </body> is none
    r"|\b[\w-]+\.(?:py|pl|md|rst|txt|json|cfg|toml|sh)\b"
)
_ERROR = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Warning)\b")
_IDENTIFIER = re.compile(r"\b(?:[a-z]\w*_\w+|_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)\b")
_NUMBER = re.compile(r"(?<![\w.])(?:\d{2,}(?:\.\d+)*|\d(?:\.\d+)+)(?![\w:]|\.\d)")
SHAPES = ("paths", "identifiers", "numbers", "errors", "commands")

_NO_ROOT = re.compile(r"^(?:[ab](?=/)|\./)")
"""The current folder, and the sides of a diff."""

_WORD = re.compile(r"[^\W_]+")
_FIGURE = re.compile(r"\b\d+\b")
_FENCED = re.compile(r"^```[\w-]*\n(.+)$", re.MULTILINE)


def kept(conversation: Conversation, summary: str) -> dict[str, float]:
    """Share of the distinct values of every shape, and of the commands, that stand in the summary.

    A command is the first line of an assistant's fenced block or tool call; it stands where one line has all its words.
    """
    wanted, there = _values("\n".join(_texts(conversation.turns))), _values(summary)
    wanted["paths"] = {path for path in wanted["paths"] if not any(path in _parts(other) for other in wanted["paths"])}
    there["paths"] |= {part for path in there["paths"] for part in _parts(path)}
    shares = {shape: len(values & there[shape]) / len(values) for shape, values in wanted.items() if values}
    commands = {frozenset(_WORD.findall(command)) for command in _commands(conversation.turns)} - {frozenset()}
    lines = [frozenset(_WORD.findall(line)) for line in summary.splitlines()]
    shares["commands"] = fmean(any(command <= line for line in lines) for command in commands)
    return shares


def _values(text: str) -> dict[str, set[str]]:
    """Values by shape; what one shape took is blanked for those that follow."""
    found: dict[str, set[str]] = {"paths": set()}
    for shape, pattern in (
        ("paths", _URL),
        ("paths", _PATH),
        ("errors", _ERROR),
        ("identifiers", _IDENTIFIER),
        ("numbers", _NUMBER),
    ):
        found.setdefault(shape, set()).update(_NO_ROOT.sub("", value) for value in pattern.findall(text))
        text = pattern.sub(" | ", text)
    return found


def _parts(path: str) -> set[str]:
    """What a path begins or ends with at its slashes, the path itself left out."""
    cuts = [at for at, character in enumerate(path) if character == "/" and at]
    return {part for cut in cuts for part in (path[:cut], path[cut:], path[cut + 1 :])} | {path.lstrip("/")} - {path}


def _texts(turns: Sequence[Turn]) -> Iterator[str]:
    """Lines of messages and of tool calls' arguments that are not figures for the most part."""
    for turn in turns:
        for text in (
            turn.content,
            *(str(value) for tool in turn.tools for value in json.loads(tool.arguments).values()),
        ):
            yield from (
                line for line in text.splitlines() if 2 * len(_FIGURE.findall(line)) <= len(_WORD.findall(line))
            )


def _commands(turns: Sequence[Turn]) -> Iterator[str]:
    for turn in turns:
        if turn.role == "assistant":
            yield from _FENCED.findall(turn.content)
            for tool in turn.tools:
                values = (str(value).partition("\n")[0] for value in json.loads(tool.arguments).values())
                yield " ".join((tool.name, *values))
