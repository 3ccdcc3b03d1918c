"""A second try for tests that start processes of a whole site, and the last line of a run that needed one.

A dozen processes on a busy machine may be late once. Every other test has one try.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

STARTERS = frozenset({"Cluster", "Site", "Town", "LoudSite", "serving", "fleet", "command_of"})
"""Names of what starts processes: a test or a fixture that uses one of these starts some."""


def starts_processes(item: pytest.Item) -> bool:
    """Whether the test, one of its fixtures, or a function of their modules that they call, starts a process."""
    if not isinstance(item, pytest.Function):
        return False
    fixtures = [found.func for all in item._fixtureinfo.name2fixturedefs.values() for found in all]
    return any(_starts(function, set()) for function in (item.function, *fixtures))


def _starts(function: Callable[..., Any], seen: set[FunctionType]) -> bool:
    function = getattr(function, "__wrapped__", function)
    if not isinstance(function, FunctionType) or function in seen or "site-packages" in function.__code__.co_filename:
        return False
    seen.add(function)
    names = set(_names(function.__code__))
    called = [function.__globals__.get(name) for name in names]
    return bool(names & STARTERS) or any(
        _starts(one, seen) for one in called if getattr(one, "__module__", None) == function.__module__
    )


def _names(code: CodeType) -> Iterator[str]:
    """All that the function names, and what is defined in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def told(names: list[str]) -> str:
    """The last line of a run; empty where every test passed or failed at its first try."""
    if not names:
        return ""
    return f"{len(names)} {'test' if len(names) == 1 else 'tests'} needed a second try: {', '.join(names)}"


def tell(config: pytest.Config) -> None:
    """Write the line below everything else, and into the file that SECOND_TRIES names."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput"):
        return
    line = told(list(dict.fromkeys(report.nodeid for report in reporter.stats.get("rerun", []))))
    if line:
        reporter.write_line(line)
        if path := os.environ.get("SECOND_TRIES"):
            with Path(path).open("a") as file:
                file.write(f"{line}\n")
