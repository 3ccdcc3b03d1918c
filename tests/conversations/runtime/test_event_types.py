"""Events have one list of kinds: nothing is published outside it, and each kind is drawn, told again and described."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from conversations.api.openapi import EVENT_TYPES
from conversations.models import Conversation, Message
from conversations.page import fragments
from conversations.runtime.event_types import GROWING, EventType, Signal
from conversations.runtime.subscription import Event
from conversations.turns import conversations
from tests.conversations.chat import START

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[3]
HOME = ROOT / "conversations/runtime/event_types.py"
MODULES = [
    path
    for room in ("conversations", "chatsite", "compression")
    for path in sorted((ROOT / room).rglob("*.py"))
    if path != HOME and "migrations" not in path.parts
]
TAKE_A_TYPE = {"publish": 1, "relay_event": 2, "Event": 0}
"""Functions and classes that are given a kind, and the place of it among their arguments."""


def named(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def types_given(path: Path) -> Iterator[tuple[int, ast.expr]]:
    """Line and expression of each kind that a module gives, also through `partial`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        function, *arguments = [node.func, *node.args]
        if named(function) == "partial":
            function, *arguments = node.args
        place = TAKE_A_TYPE.get(named(function))
        if place is not None and len(arguments) > place:
            yield node.lineno, arguments[place]


def test_kinds_are_given_by_name_and_never_as_text() -> None:
    given = [(path, line, kind) for path in MODULES for line, kind in types_given(path)]
    written = [f"{path.relative_to(ROOT)}:{line}" for path, line, kind in given if isinstance(kind, ast.Constant)]
    assert len(given) > 30, "the search finds publishers"
    assert not written


def test_no_other_module_spells_a_kind() -> None:
    spelled = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.value}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in {*EventType, Signal.REPLY_STOP, Signal.ACCESS_CHANGED}
    ]
    assert not spelled


def test_each_kind_is_described() -> None:
    table = (ROOT / "docs/events.md").read_text().partition("## Types")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert [name for row in rows for name in re.findall(r"`([^`]+)`", row)] == list(EventType)
    assert re.findall(r"`([^`]+)`", EVENT_TYPES) == list(EventType)


@pytest.mark.parametrize("kind", EventType)
def test_each_kind_changes_an_open_page(conversation: Conversation, kind: EventType) -> None:
    told_apart = {*GROWING, EventType.MESSAGE_CREATED, EventType.CONVERSATION_DELETED}
    assert (kind in fragments.HANDLERS) != (kind in told_apart)
    if kind not in told_apart:
        return
    row = Message(id=uuid4(), role=Message.Role.USER, content="Hello")
    fields = {name: getattr(row, name) for name in ("role", "name", "content", "status", "is_protected")}
    told = {"id": str(row.pk), "created_at": START.isoformat(), **fields}
    data = {"id": "m", "text": "Hello", "at": 0, "message": told}
    if kind == EventType.CONVERSATION_DELETED:
        conversations.delete(conversation)
    assert fragments.render_event(conversation.pk, Event(kind, data))
