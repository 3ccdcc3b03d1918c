"""/api/search: finds titles and messages of all the person's conversations."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import Query, Router

from conversations.api.auth import Request
from conversations.api.paging import Cursor, Limit
from conversations.api.schemas.fields import described
from conversations.api.schemas.search import HitPage
from conversations.messages import search

router = Router(tags=["conversations"])

Words = Annotated[
    str,
    Query(
        min_length=1,
        max_length=search.MAX_QUERY_CHARS,
        description='Any of them makes a hit; "words in quotes" must occur as they stand.',
    ),
]


@router.get("/search", operation_id="search_find", response=described(HitPage), summary="Search every message")
def search_messages(request: Request, q: Words, cursor: Cursor = None, limit: Limit = search.LIMIT) -> dict[str, Any]:
    """Finds words in all of your chats, archived ones and compacted messages included. Case does not matter.

    Titles come first, the latest change first, then messages, the best match first. Replaced messages are not found.
    """
    found = search.find_hits(request.auth, q, after=cursor, limit=limit)
    return {"items": [_hit_json(hit) for hit in found.hits], "next": found.next, "incomplete": found.is_incomplete}


def _hit_json(hit: search.SearchHit) -> dict[str, Any]:
    conversation, message = hit.conversation, hit.message
    return {
        "conversation": {"id": str(conversation.pk), "title": conversation.title, "archived": conversation.archived},
        "message": message
        and {
            "id": str(message.pk),
            "role": message.role,
            "state": hit.state,
            "created_at": message.created_at.isoformat(),
        },
        "snippet": hit.snippet,
    }
