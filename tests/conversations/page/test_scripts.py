"""The modules of static/: how pages link them, and what they import and export."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from conversations.models import Conversation
from tests.conversations.pages import BACKEND

pytestmark = pytest.mark.once

MODULES = {path.name: path.read_text() for path in (Path(settings.BASE_DIR) / "static").glob("*.js")}
LINK = re.compile(r'<link rel="modulepreload" href="/static/([\w.]+)">|<script src="/static/([\w.]+)" type="module">')
IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./([\w.]+)";$', re.MULTILINE)
LATER = {name for text in MODULES.values() for name in re.findall(r"import\(\"\./([\w.]+)\"\)", text)}
"""Modules that are fetched when they are needed: no page links them."""
EXPORT = re.compile(r"^export const (.+)$", re.MULTILINE)


def imported_names(module: str) -> dict[str, set[str]]:
    """The names that a module imports, by the module that exports them."""
    return {source: set(names.split(", ")) for names, source in IMPORT.findall(MODULES[module])}


def exported_names(module: str) -> set[str]:
    """Of `export const thread = find("#thread"), panel = find("#panel");` both, and of a function its own alone."""
    return {name for line in EXPORT.findall(MODULES[module]) for name in re.findall(r"(?:^|\), )(\w+) = ", line)}


def linked_modules(page: str) -> list[str]:
    return [preloaded or run for preloaded, run in LINK.findall(page)]


@pytest.fixture
def pages(client: Client, conversation: Conversation) -> dict[str, str]:
    """Some whole pages, by their addresses."""
    client.force_login(conversation.owner, backend=BACKEND)
    addresses = reverse("home"), reverse("settings"), reverse("import"), reverse("chat", args=[conversation.pk])
    return {address: client.get(address).content.decode() for address in addresses}


def test_a_page_links_each_module_that_its_modules_import_and_before_them_so_that_none_waits_for_another(pages) -> None:
    linked_anywhere: set[str] = set()
    for path, page in pages.items():
        linked = linked_modules(page)
        assert len(linked) == len(set(linked)) > 8, path
        for place, module in enumerate(linked):
            assert set(imported_names(module)) <= set(linked[:place]), f"{module} on {path}"
        assert page.count("<script ") + page.count("modulepreload") == len(linked) + 2, f"{path} has two files of htmx"
        linked_anywhere |= set(linked)
    assert linked_anywhere | LATER | {"print.js", "passkeys.js"} == set(MODULES)  # the last two: on other pages


def test_every_import_names_an_export_and_every_export_is_imported() -> None:
    imports = [item for module in MODULES for item in imported_names(module).items()]
    imported = {(source, name) for source, names in imports for name in names}
    imported |= {(module, name) for module in LATER for name in exported_names(module)}
    exported = {(module, name) for module in MODULES for name in exported_names(module)}
    assert imported == exported
    assert len(exported) >= 20


def test_each_module_says_its_subject_and_its_events_first() -> None:
    for name, text in MODULES.items():
        head = text.partition("\nimport ")[0].partition("\n\n")[0].replace("\n// ", " ")
        assert head.startswith("// ") and "Listens to " in head, name
        assert ("nothing" in head) == ("addEventListener" not in text), name
