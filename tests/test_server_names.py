"""The servers' undocumented names that this site builds on are there, and are all listed."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest
from django.utils.module_loading import import_string

from chatsite.servers.undocumented import NAMES

pytestmark = pytest.mark.once

SERVERS = Path(__file__).parents[1] / "chatsite" / "servers"
PAIRS = [(path, name) for path, names in NAMES.items() for name in names]


def found(path: str) -> Any:
    try:
        return import_string(path)
    except ImportError:
        return __import__(path, fromlist=["_"])


def sources(of: Any) -> str:
    classes = of.__mro__[:-1] if isinstance(of, type) else ()
    return "".join(inspect.getsource(each) for each in classes)


@pytest.mark.parametrize(("path", "name"), PAIRS)
def test_what_the_servers_are_patched_at_is_there(path: str, name: str) -> None:
    owner = found(path)
    assert hasattr(owner, name) or f"self.{name}" in sources(owner), f"{path} has no {name} any more"


@pytest.mark.parametrize("file", ["daphne.py", "uvicorn.py"])
def test_every_private_name_that_is_touched_is_listed(file: str) -> None:
    tree = ast.parse((SERVERS / file).read_text())
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    own |= {
        node.target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    own |= {
        name.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for name in node.targets
        if isinstance(name, ast.Name)
    }
    touched = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr.startswith("_")}
    private = {name for name in touched - own if not name.startswith("__")}
    assert private <= {name for _, name in PAIRS}, "list it in chatsite/servers/undocumented.py"
