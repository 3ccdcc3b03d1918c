"""Highlights code as HTML in a separate process, since some lexers take very long on text that is not code."""

from __future__ import annotations

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

_formatter = HtmlFormatter[str](nowrap=True)


def work(job: tuple[str, str]) -> str | None:
    """The highlighted HTML of a pair (code, language); None for an unknown language."""
    code, language = job
    try:
        return highlight(code, get_lexer_by_name(language, stripnl=False), _formatter)
    except ClassNotFound:
        return None
