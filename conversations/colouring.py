"""Code with its colours, as HTML, in a process of its own: many patterns take longest on what is no code."""

from __future__ import annotations

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

_formatter = HtmlFormatter[str](nowrap=True)


def work(asked: tuple[str, str]) -> str | None:
    """None for a language that is not known."""
    code, language = asked
    try:
        return highlight(code, get_lexer_by_name(language, stripnl=False), _formatter)
    except ClassNotFound:
        return None
