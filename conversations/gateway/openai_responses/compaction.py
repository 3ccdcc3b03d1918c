"""Compactions of OpenAI's Responses: a summary that people can read, in the field that clients pass on."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence

from conversations.errors import Invalid
from conversations.gateway.protocol import Json

PREFIX = "chatsite1."
"""The beginning of this site's text in the field of OpenAI's encrypted text."""


def compaction_item(id: str, text: str, items: Sequence[Json] = ()) -> Json:
    """The item that replaces the compacted part and the `items` after it. `summary` is for people; clients send the
    other field back.
    """
    held = json.dumps({"summary": text, "items": list(items)})
    coded = base64.b64encode(held.encode()).decode()
    return {"id": id, "type": "compaction", "encrypted_content": PREFIX + coded, "summary": text}


def content_of_compaction(place: str, item: Json) -> tuple[str, list[Json]]:
    """(the summary, the items after it) in an item of ours. Raises Invalid for another one, which only its maker can
    read.
    """
    held, field = item.get("encrypted_content"), f"{place}.encrypted_content"
    if not isinstance(held, str) or not held.startswith(PREFIX):
        raise Invalid(f"{field}: was not made by this site, so nobody here can read it.", field=field)
    try:
        content = json.loads(base64.b64decode(held.removeprefix(PREFIX), validate=True))
        text, items = content["summary"], content["items"]
        if isinstance(text, str) and isinstance(items, list) and all(isinstance(each, dict) for each in items):
            return text, items
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise Invalid(f"{field}: was changed since this site made it.", field=field)
