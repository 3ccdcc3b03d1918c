"""Regular expressions that are compiled when they are first used: most processes start without reading any text.

For expressions that take a millisecond or more to compile; all of them together would take a quarter of the start.
"""

from __future__ import annotations

import re
from typing import Any, cast


def lazy_pattern(expression: str, flags: int = 0) -> re.Pattern[str]:
    """A stand-in for `re.compile(expression, flags)`: it has the methods of a pattern, but `re.sub` does not take it.

    An invalid expression raises re.error at its first use.
    """
    return cast("re.Pattern[str]", _LazyPattern(expression, flags))


class _LazyPattern:
    """A pattern's methods; each is stored at its first use, so that later calls cost what a pattern's own cost."""

    def __init__(self, expression: str, flags: int) -> None:
        self.pattern = expression
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        method = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, method)
        return method
