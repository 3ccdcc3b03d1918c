"""Collects the texts of the pages, and keeps the catalogs of their translations: `python -m tests.catalogs`.

The catalogs are gettext's, in `conversations/locale`: `django.po` for templates and Python, `djangojs.po` for scripts.
The command adds new texts, without a translation, removes those that are gone, and compiles the catalogs.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import django
from babel.messages import Catalog, Message
from babel.messages.extract import extract_javascript
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation import override
from django.utils.translation.template import templatize

from compression.core.error_codes import ErrorCode
from compression.core.instructions import PLACEHOLDERS
from compression.policy_fields import FIELDS

ROOT = Path(__file__).parents[1]
LOCALE = ROOT / "conversations" / "locale"
LANGUAGES = {"de": "de", "es": "es", "fr": "fr", "zh_Hans": "zh_Hans_CN"}
"""The folders of the catalogs, with Babel's names of the languages."""
ENGLISH = ("api_docs", "diagram")
"""Templates for programs, which have English alone."""
BEGUN = datetime(2026, 11, 26, tzinfo=UTC)
PLACEHOLDER = re.compile(r"%\(\w+\)s")
_STRING = r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_CALL = re.compile(rf"\b(_|gettext|ngettext)\(\s*u?{_STRING}(?:\s*,\s*u?{_STRING})?")
_NAMES = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext"}

type Text = str | tuple[str, str]
"""A text, or its singular and plural."""


def templates() -> Iterator[Path]:
    """The templates whose texts are translated."""
    for path in sorted((ROOT / "templates").rglob("*.html")):
        if path.relative_to(ROOT / "templates").parts[0].removesuffix(".html") not in ENGLISH:
            yield path


def of_templates() -> Iterator[Text]:
    for path in templates():
        for name, one, several in _CALL.findall(templatize(path.read_text(encoding="utf-8"))):
            texts = ast.literal_eval(one), ast.literal_eval(several) if several else ""
            yield (texts[0], texts[1]) if name == "ngettext" else texts[0]


def of_python() -> Iterator[Text]:
    yield from PLACEHOLDERS.values()
    yield from (code.replace("_", " ") for code in (*ErrorCode, "other"))
    for field in FIELDS:
        yield from filter(None, (field.label, field.unit, field.unset, *field.choices.values()))
    for path in sorted((ROOT / "conversations").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _NAMES:
                texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
                if texts:
                    yield (texts[0], texts[1]) if node.func.id == "ngettext" else texts[0]


def of_models() -> Iterator[Text]:
    """The names, help texts and choices of fields that the administration shows."""
    from conversations.admin import admin, labels  # once Django is set up

    with override("en"):
        yield from labels.texts(admin.site._registry)


def of_scripts() -> Iterator[Text]:
    for path in sorted((ROOT / "static").glob("*.js")):
        with path.open("rb") as file:
            for _, name, found, _ in extract_javascript(
                file, {"gettext": None, "ngettext": None}, (), {"encoding": "utf-8", "parse_template_string": True}
            ):
                yield (found[0], found[1]) if name == "ngettext" else found if isinstance(found, str) else found[0]


def texts(domain: str) -> list[Text]:
    """The texts of a domain, each once, in the order in which the files have them."""
    found = list(of_scripts() if domain == "djangojs" else chain(of_templates(), of_python(), of_models()))
    plurals = {text[0]: text for text in found if isinstance(text, tuple)}
    return list(dict.fromkeys(plurals.get(text, text) if isinstance(text, str) else text for text in found))


def catalog(folder: str, domain: str) -> Catalog:
    """A catalog as it is stored; empty where there is none yet."""
    path = LOCALE / folder / "LC_MESSAGES" / f"{domain}.po"
    if not path.exists():
        return Catalog(locale=LANGUAGES[folder])
    with path.open("rb") as file:
        return read_po(file, locale=LANGUAGES[folder])


def write(folder: str, domain: str, translations: Catalog) -> None:
    """Store a catalog with the present texts of its domain, and compile it."""
    # Dates and names in the header would change the files of each run.
    fresh = Catalog(locale=LANGUAGES[folder], project="chatsite", version="1", fuzzy=False)
    fresh.creation_date = fresh.revision_date = BEGUN
    fresh.last_translator = fresh.language_team = fresh.msgid_bugs_address = ""
    fresh.header_comment = "# Translations of chatsite's pages."
    for text in texts(domain):
        known = translations.get(text if isinstance(text, str) else text[0])
        fresh.add(text, known.string if known else None)
    place = LOCALE / folder / "LC_MESSAGES"
    place.mkdir(parents=True, exist_ok=True)
    with (place / f"{domain}.po").open("wb") as file:
        write_po(file, fresh, omit_header=False, width=120)
    with (place / f"{domain}.mo").open("wb") as file:
        write_mo(file, fresh)


def strings_of(message: Message) -> tuple[str, ...]:
    """The translations of a message: one, or one for each plural form."""
    return (message.string,) if isinstance(message.string, str) else tuple(message.string or ())


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatsite.settings")
    django.setup()
    for folder in LANGUAGES:
        for domain in ("django", "djangojs"):
            write(folder, domain, catalog(folder, domain))
            missing = [message.id for message in catalog(folder, domain) if message.id and not all(strings_of(message))]
            print(f"{folder} {domain}: {len(missing)} of {len(texts(domain))} without a translation")


if __name__ == "__main__":
    main()
