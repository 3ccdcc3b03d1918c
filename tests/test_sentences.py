"""Sentences of code and docs say who does what: patterns that have to be read twice do not come back."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[1]
SOURCES = [path for part in ("compression", "conversations", "chatsite") for path in (ROOT / part).rglob("*.py")]
DOCS = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]

PATTERNS = {
    r"\bso (?:many|much|few|long) that\b": "say until when, or how many",
    r"\bof which\b": "make two sentences, or name the noun again",
    r"\b(?:for|of|by|to|with|from) whom\b": "name the person or the part that acts",
    r"\b(?:is|are|was|were) to be \w+ed\b": "use must, will, or the active voice",
    r"\bsuch an? (?!as\b)": "use the, or this",
    r"\b(?:named?|known|lists?|rendered) as such\b": "say as what",
    r"\blest\b": "use so that … not",
    r"\b(?:there|here)(?:of|by|in|upon)\b": "name the thing",
    r"\bso that there (?:is|are) (?:none|no)\b": "say what is prevented",
    r"\bwhatever\b": "say any, every, or even if",
    r"\b(?:is|are|was|were) told\b": "say who hears, reads or gets what",
    r"\AWhat (?!for\b)": "begin with a noun or a verb",
    r"\A(?:Of|That|So (?:many|often)) ": "begin with a noun or a verb",
}
"""The patterns, each with what to write in its place. A space stands for any blanks, a line break too."""


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of each docstring, attribute docstring and comment of a module, or a document as a whole."""
    text = path.read_text()
    if path.suffix != ".py":
        yield 1, text
        return
    for node in ast.walk(ast.parse(text)):
        is_string = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_string and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def matches(pattern: str, text: str) -> Iterator[re.Match[str]]:
    return re.finditer(pattern.replace(" ", r"\s+(?:# )?"), text, re.IGNORECASE)


def found(path: Path) -> Iterator[str]:
    for line, text in prose(path):
        for pattern, advice in PATTERNS.items():
            for match in matches(pattern, text):
                place = line + text[: match.start()].count("\n")
                yield f"{path.relative_to(ROOT)}:{place}: {' '.join(match[0].split())!r}: {advice}"


def test_no_sentence_has_to_be_read_twice() -> None:
    assert [one for path in (*SOURCES, *DOCS) if "migrations" not in path.parts for one in found(path)] == []


@pytest.mark.parametrize(
    "sentence", ["The rows, of which two are new.", "It is to be\nremoved.", "Such a row is gone.", "What a row is."]
)
def test_a_sentence_like_that_is_found(sentence: str) -> None:
    assert [match for pattern in PATTERNS for match in matches(pattern, sentence)]


NAMES = re.compile(r"_*(?:tell|told|said|say)(?:_\w+)?")
"""Names of functions that tell nobody what they do: send, publish, add, messages, texts say more."""


def test_functions_are_named_by_what_they_do_or_return() -> None:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    names = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, functions) and NAMES.fullmatch(node.name)
    ]
    assert names == []
