"""Patterns that are compiled at their first use behave like those of `re.compile`, and all of them can be compiled."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from typing import Any

import pytest

import compression.core
import conversations.llm
import conversations.page.markup
from compression.core.lazy_pattern import lazy_pattern


def test_a_lazy_pattern_finds_the_same_as_a_compiled_one() -> None:
    text = "One fish, two fish"
    for expression, flags in ((r"(?P<n>\w+) fish", 0), ("ONE|TWO", re.IGNORECASE), ("fish$", 0)):
        lazy, compiled = lazy_pattern(expression, flags), re.compile(expression, flags)
        assert lazy.findall(text) == compiled.findall(text)
        assert [found.span() for found in lazy.finditer(text)] == [found.span() for found in compiled.finditer(text)]
        assert lazy.sub("-", text) == compiled.sub("-", text)
        assert lazy.split(text) == compiled.split(text)
        assert (lazy.pattern, lazy.flags) == (compiled.pattern, compiled.flags)


def test_an_expression_is_compiled_at_its_first_use() -> None:
    broken = lazy_pattern("(")
    with pytest.raises(re.error):
        broken.search("")


def test_every_lazy_pattern_of_the_product_can_be_compiled() -> None:
    packages = (compression.core, conversations.llm, conversations.page.markup)
    for package in packages:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(found.name)
    patterns = [
        pattern
        for name, module in sys.modules.items()
        if name.startswith(tuple(p.__name__ for p in packages))
        for pattern in _lazy(vars(module).values())
    ]
    assert len(patterns) > 150
    for pattern in patterns:
        pattern.search("")


def _lazy(values: Any, depth: int = 3) -> list[re.Pattern[str]]:
    """The lazy patterns among values, and in tuples, lists and dictionaries of them."""
    found: list[re.Pattern[str]] = []
    for value in values:
        if type(value).__name__ == "_LazyPattern":
            found.append(value)
        elif depth and isinstance(value, (tuple, list)):
            found += _lazy(value, depth - 1)
        elif depth and isinstance(value, dict):
            found += _lazy(value.values(), depth - 1)
    return found
