"""Replaces the marks that ChatGPT writes for sources, names and pictures by links and words.

A mark is private characters around a kind and its arguments: U+E200 `cite` U+E202 `turn0search3` U+E201. An older one
is `【8†source】`. ChatGPT's page showed the `content_references` and `citations` of the message in their place.
"""

from __future__ import annotations

import json
import re
from typing import Any

from conversations.exchange.formats import foreign_text

OPENING, CLOSING, BETWEEN = "\ue200", "\ue201", "\ue202"
_MARK = re.compile(r"\ue200[^\ue200\ue201]*\ue201|【(\d{1,6})(?::\d{1,6})?†[^【】\n]{0,200}】")
_SPANS = re.compile(r"[\ue200-\ue206]")
"""Single private characters: the beginning and the end of a cited passage, and halves of broken marks."""
WITH_WORDS = ("url", "link_title")
"""Kinds of marks whose first argument is words of the reply."""
ENTITY = "entity"
SOURCES = ("items", "sources", "supporting_websites")


def without_marks(text: str, metadata: dict[str, Any]) -> str:
    """The text with each mark replaced by what its reference shows: a link, a name, or nothing."""
    if OPENING not in text and "【" not in text:
        return text
    known = {
        mark: _shown(one)
        for one in foreign_text.objects(metadata.get("content_references"))
        if (mark := foreign_text.stored(one.get("matched_text"))).strip()
    }
    numbered = dict(map(_numbered, foreign_text.objects(metadata.get("citations"))))

    def replaced(mark: re.Match[str]) -> str:
        if (words := known.get(mark[0])) is not None:
            return words
        return numbered.get(mark[1], mark[0]) if mark[1] else _of_itself(mark[0])

    shown = _MARK.sub(replaced, text)
    return _SPANS.sub("", shown) if OPENING in text else shown


def _shown(reference: dict[str, Any]) -> str:
    """The Markdown of a reference: its own, else links to its sources, else its name."""
    alt = reference.get("alt")
    if isinstance(alt, str):
        return foreign_text.stored(alt)
    listed = [one for name in SOURCES for one in foreign_text.objects(reference.get(name))]
    if links := foreign_text.links([reference, *listed]):
        return links
    name = foreign_text.stored(reference.get("name") or reference.get("title"))
    return foreign_text.file(name) if reference.get("type") == "file" else name


def _numbered(citation: dict[str, Any]) -> tuple[str, str]:
    """(the number in an older mark, a link to its source), ("", "") for a citation without an address."""
    source = foreign_text.as_object(citation.get("metadata"))
    number = foreign_text.as_object(source.get("extra")).get("cited_message_idx")
    links = foreign_text.links([source])
    return (str(number), f" {links}") if links and isinstance(number, int) else ("", "")


def _of_itself(mark: str) -> str:
    """The words within a mark that no reference explains: the text of a link, the name of an entity."""
    kind, *arguments = mark.strip(OPENING + CLOSING).split(BETWEEN)
    if not arguments:
        return ""
    if kind in WITH_WORDS:
        return arguments[0]
    return _entity(arguments[0]) if kind == ENTITY else ""


def _entity(argument: str) -> str:
    """The name in `["company", "OpenAI", 0]`."""
    try:
        found = json.loads(argument)
    except (ValueError, RecursionError):
        return ""
    is_named = isinstance(found, list) and len(found) > 1 and isinstance(found[1], str)
    return found[1] if is_named else ""
