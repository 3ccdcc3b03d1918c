"""The files that the documents for contributors name are there, and the definitions in them too."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[1]
PATH = re.compile(r"`((?:chatsite|conversations|compression|docs|tests|benchmarks)/[\w./]+)`(?: \(`(\w+)`\))?")
NAMED = re.compile(r"`([\w.]+)` in\s+`((?:conversations|compression)/[\w./]+\.py)`")


TOP = """
    .ci .djlint_rules.yaml .dockerignore .env.example .gitattributes .github .gitignore .oxlintrc.json .python-version
    CHANGELOG.md CONTRIBUTING.md Dockerfile LICENSE Makefile README.md SECURITY.md benchmarks chatsite compose.yaml
    compression conversations deploy docs manage.py mkdocs.yml pyproject.toml requirements-bench.lock
    requirements-builtin.lock requirements-dev.lock requirements.lock static templates tests
"""


def _defines(source: str, name: str) -> bool:
    """Whether a module has a function, a method, a class or a constant of this name."""
    return bool(
        re.search(rf"^\s*(?:(?:async )?def {name}\(|class {name}\b|{name}(?:: [^=]+)? = )", source, re.MULTILINE)
    )


def test_the_top_level_has_only_its_own_files() -> None:
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    assert {name.partition("/")[0] for name in listed.stdout.split("\0") if name} - set(TOP.split()) == set()


@pytest.mark.parametrize("name", ["docs/architecture.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_every_file_and_function_that_is_named_is_there(name: str) -> None:
    text = (ROOT / name).read_text()
    named = PATH.findall(text)
    assert named, "no file is named"
    functions = [(path, function) for path, function in named if function]
    functions += [(path, function) for function, path in NAMED.findall(text)]
    assert [path for path, _ in named if not (ROOT / path).exists()] == []
    assert [
        f"{path}: {function}"
        for path, function in functions
        if not all(_defines((ROOT / path).read_text(), part) for part in function.split("."))
    ] == []


def test_the_answers_of_a_newcomer_are_in_at_most_34_files() -> None:
    table = (ROOT / "docs/architecture.md").read_text().partition("## Where do I")[2]
    rows = re.findall(r"^\| (?:find|add) .*\| *(.+?) *\| (\d+) \|$", table, re.MULTILINE)
    assert len(rows) == 12
    assert [answer for answer, files in rows if len(set(re.findall(r"[\w/]+\.(?:py|md)", answer))) > int(files)] == []
    assert sum(int(files) for _, files in rows) <= 34
