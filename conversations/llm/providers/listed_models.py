"""The models of a server's list, in the forms that servers give it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conversations.llm.providers.choices import Json, as_object

_LISTS = {"data": ("id",), "models": ("name", "id"), "result": ("name", "id")}
"""The field with the list and those with a model's id: of OpenAI, of Cohere and Ollama, of Cloudflare.

The answers of Together and GitHub are the list itself.
"""
_GOOGLE = "models/"
"""The beginning of Google's ids, which requests may leave out."""


def listed_models(body: Any) -> Iterator[tuple[str, Json]]:
    """(the id of a model, all that the server says of it) for each model of an answer; none for another answer."""
    lists = {"data": body} if isinstance(body, list) else as_object(body)
    for field, names in _LISTS.items():
        rows = lists.get(field)
        for row in rows if isinstance(rows, list) else ():
            ids = (as_object(row).get(name) for name in names)
            if id := next((id for id in ids if isinstance(id, str) and id), ""):
                yield id.removeprefix(_GOOGLE), row
