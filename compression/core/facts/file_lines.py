"""Puts the files that tools touched under a summary's `## Files`, each with its acts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from compression.core.facts.file_acts import CHANGES, READ, Paths
from compression.core.sections import FILES
from compression.core.text.quoting import disarmed, escaped
from compression.core.text.sentences import one_line
from compression.core.tokens import TokenCounter

SHARE = 0.5
"""The share of the free tokens that lines of files take at most; the rest is for facts that are put back."""
_LINE = re.compile(r"[-*+] +(\S[^\n]*?):(?: +([^\n]*))?")


def files_in(summary: str) -> dict[str, str]:
    """The acts on each path by the summary's `## Files`."""
    return {named[0]: named[1] for line in _section(summary) if (named := _named(line))}


def merged_states(earlier: Mapping[str, str], later: Mapping[str, str]) -> dict[str, str]:
    """The acts on each file of both, the file that was touched last at the end; later acts follow earlier ones."""
    states = dict(earlier)
    paths = Paths(earlier)
    for path, acts in later.items():
        path = paths.known(path)
        before = states.pop(path, "")
        done = [act for act in before.split(", ") if act not in ("", READ, *acts.split(", "))]
        states[path] = before if acts == READ and before else ", ".join([*done, acts])
    return states


def with_files(summary: str, states: Mapping[str, str], *, budget: int, count: TokenCounter) -> str:
    """The summary with a line for each file that it does not name, within `budget` tokens.

    Changed files come before those that were only read, the latest first. A line that is there, and does not have the
    last act on its file, gets it.
    """
    standing = files_in(summary)
    changed = [path for path, acts in states.items() if acts != READ]
    read = [path for path, acts in states.items() if acts == READ]
    text, lines = summary, list[str]()
    for path in (*reversed(changed), *reversed(read)):
        if path not in standing:
            lines.append(_line(path, states[path]))
        elif (last := states[path].rpartition(", ")[2]).startswith(CHANGES) and last.split()[0] not in standing[path]:
            text = _amended(text, path, last)
    own = count(summary)
    while (result := _with_lines(text, lines)) != summary and count(result) - own > budget:
        if not lines:
            return summary
        del lines[-max(len(lines) // 8, 1) :]
    return result


def _named(line: str) -> tuple[str, str] | None:
    """(path, the rest) of a line of the section; None for any other line."""
    found = _LINE.fullmatch(line.strip())
    return (found[1].strip("`*"), found[2] or "") if found else None


def _line(path: str, acts: str) -> str:
    return f"- {escaped(one_line(f'{path}: {acts}'))}"


def _amended(summary: str, path: str, last: str) -> str:
    """The summary with the last act at the end of the line of the path."""

    def amended(line: str) -> str:
        named = _named(line)
        return f"{line.rstrip().rstrip('.')}, then {escaped(one_line(last))}" if named and named[0] == path else line

    before, after = _around(summary)
    return "\n".join([*before, *map(amended, _section(summary)), *after])


def _with_lines(summary: str, lines: Iterable[str]) -> str:
    if not (new := list(lines)):
        return summary
    before, after = _around(summary)
    standing = [line for line in _section(summary) if line.strip() not in ("", "-", "- none", "- None")]
    head = before if before and before[-1] == FILES else [*before, *([""] if before else []), FILES]
    return "\n".join([*head, *standing, *disarmed("\n".join(new)).splitlines(), *([""] if after else []), *after])


def _section(summary: str) -> list[str]:
    """The lines below `## Files`, up to the next heading."""
    lines, inside = list[str](), False
    for line in summary.splitlines():
        if line.startswith("## "):
            inside = line == FILES
        elif inside:
            lines.append(line)
    return lines


def _around(summary: str) -> tuple[list[str], list[str]]:
    """The lines up to `## Files`, with it, and those from the next heading on."""
    lines = summary.splitlines()
    if FILES not in lines:
        return lines, []
    at = lines.index(FILES)
    end = next(_headings(lines, at + 1), len(lines))
    return lines[: at + 1], lines[end:]


def _headings(lines: list[str], start: int) -> Iterator[int]:
    return (at for at in range(start, len(lines)) if lines[at].startswith("## "))
