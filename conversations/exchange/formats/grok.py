"""Reads Grok's export: conversations with their responses, those of people and those of the model."""

from __future__ import annotations

import json
import re
from typing import Any

from conversations.exchange.document import ImportedMessage, ImportedSource
from conversations.exchange.fields import read_list, read_object
from conversations.exchange.formats import foreign_text
from conversations.exchange.formats.messages import MAX_MESSAGES
from conversations.exchange.formats.tree import latest_leaf, path
from conversations.models import Message

NAME = "Grok's export"
HUMAN = "human"
_OPENING = re.compile(r"<grok:render\b([^<>]{0,2000})>")
_CLOSING = "</grok:render>"
_CARD = re.compile(r'card_id="([^"]{1,100})"')


def recognises(data: object) -> bool:
    return isinstance(data, dict) and "conversation" in data and "responses" in data


def read_conversation(data: dict[str, Any]) -> ImportedSource:
    """The conversation, without empty messages. Raises Invalid, naming the place."""
    head = read_object("conversation", data["conversation"])
    id = foreign_text.stored(head.get("id") or head.get("conversation_id"))
    lines = (_line(place, response) for place, response in _branch(data["responses"], head.get("leaf_response_id")))
    return ImportedSource(
        title=foreign_text.title(head.get("title")),
        system_prompt="",
        lines=tuple(line for line in lines if line.content.strip()),
        results={},
        id=id or None,
        origin=f"grok:{id}"[:220] if id else "",
        started=foreign_text.date(head.get("create_time")),
        updated=foreign_text.date(head.get("modify_time")),
        may_be_empty=False,
    )


def _branch(raw: object, leaf: object) -> list[tuple[str, dict[str, Any]]]:
    """The responses with their places, along the parents of the one that was shown last, else in the file's order."""
    found = []
    for number, entry in enumerate(read_list("responses", raw, limit=MAX_MESSAGES)):
        place = f"responses[{number}]"
        outer = read_object(place, entry or {})
        found.append((place, read_object(f"{place}.response", outer.get("response", outer) or {})))
    by_id = {id: one for one in found if (id := foreign_text.stored(one[1].get("_id") or one[1].get("response_id")))}
    parents = {id: foreign_text.stored(one.get("parent_response_id")) or None for id, (_, one) in by_id.items()}
    if len(by_id) < len(found) or not any(parent in by_id for parent in parents.values()):
        return found
    if not isinstance(leaf, str) or leaf not in by_id:
        dates = {id: foreign_text.date(one.get("create_time")) for id, (_, one) in by_id.items()}
        leaf = latest_leaf(parents, dates, place="responses")
    return [by_id[id] for id in path(parents, leaf, place="responses")]


def _line(place: str, response: dict[str, Any]) -> ImportedMessage:
    is_person = foreign_text.stored(response.get("sender")).lower() == HUMAN
    files = [foreign_text.file(name) for name in _names(response.get("file_attachments"))]
    words = foreign_text.stored(response.get("message"))
    if not is_person:
        words = _with_sources(words, _cards(response.get("card_attachments_json")))
    text = foreign_text.joined(words, *files)
    return ImportedMessage(
        Message.Role.USER.value if is_person else Message.Role.ASSISTANT.value,
        foreign_text.checked_text(f"{place}.message", text),
        foreign_text.date(response.get("create_time")),
        model="" if is_person else foreign_text.stored(response.get("model"))[:200],
    )


def _with_sources(text: str, cards: dict[str, str]) -> str:
    """The text with links in place of the cards that Grok's page drew; a card without a link is left out."""
    shown, at = [], 0
    while opening := _OPENING.search(text, at):
        end = text.find(_CLOSING, opening.end())
        if end < 0:
            break
        card = _CARD.search(opening[1])
        shown += [text[at : opening.start()], cards.get(card[1], "") if card else ""]
        at = end + len(_CLOSING)
    return "".join((*shown, text[at:]))


def _cards(raw: object) -> dict[str, str]:
    """The links of a response's cards by their ids; each card is JSON in a text."""
    found = {}
    for one in raw if isinstance(raw, list) else []:
        try:
            card = foreign_text.as_object(json.loads(one) if isinstance(one, str) else one)
        except (ValueError, RecursionError):
            continue
        if link := foreign_text.links([card]):
            found[foreign_text.stored(card.get("id"))] = f" {link}"
    return found


def _names(files: object) -> list[object]:
    """The names of attached files; older exports have only their ids."""
    listed = files if isinstance(files, list) else []
    return [one.get("name") or one.get("id") if isinstance(one, dict) else one for one in listed]
