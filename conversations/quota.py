"""Limits what one person may store: 1 MB of a packed import can become 100 MB of rows.

Characters of messages and of tools' results count, and the bytes of files. Only what is large is checked: imports,
uploads, and texts of LARGE characters; the rate of requests bounds the rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from django.conf import settings
from django.db.models import Sum
from django.db.models.functions import Length

from conversations.errors import Refused
from conversations.models import Attachment, Message, ToolCall
from conversations.runtime.bounded_cache import BoundedCache

MB = 1_000_000
LARGE = 50_000
"""Characters of a text from which it is checked."""
KEPT_SECONDS = 600.0
"""Seconds for which a person's sum is used again; it is counted anew before anything is refused."""

_known: BoundedCache[int, tuple[float, int]] = BoundedCache(10_000)


class StorageFull(Refused):
    """The person has stored as much as one person may; `detail` holds the figures in MB."""

    code = "storage_full"
    status = 413

    def __init__(self, used: int) -> None:
        most = settings.STORAGE_PER_USER_MB
        super().__init__(
            f"You have stored {used / MB:,.0f} MB, and one person may store {most:,} MB. Delete conversations or files "
            "that you no longer need.",
            used_mb=round(used / MB, 1),
            limit=most,
        )


def used_by(owner_id: int) -> int:
    """The characters and bytes that a person has stored."""
    own = {"conversation__owner_id": owner_id}
    messages = Message.objects.filter(**own).aggregate(sum=Sum(Length("content")))["sum"]
    results = ToolCall.objects.filter(message__conversation__owner_id=owner_id).aggregate(sum=Sum(Length("result")))
    files = Attachment.objects.filter(owner_id=owner_id).aggregate(sum=Sum("size"))["sum"]
    return (messages or 0) + (results["sum"] or 0) + (files or 0)


def require_storage(owner_id: int, more: int) -> None:
    """Note that a person stores `more` characters or bytes. Raises StorageFull beyond STORAGE_PER_USER_MB."""
    if not (most := MB * settings.STORAGE_PER_USER_MB):
        return
    moment, used = _known.get(owner_id) or (0.0, most)
    if used + more > most or time.monotonic() - moment > KEPT_SECONDS:
        moment, used = time.monotonic(), used_by(owner_id)
    if used + more > most:
        _known.put(owner_id, (moment, used))
        raise StorageFull(used)
    _known.put(owner_id, (moment, used + more))


def require_storage_for(owner_id: int, texts: Iterable[str]) -> None:
    """The same for texts, if together they are LARGE."""
    more = sum(map(len, texts))
    if more >= LARGE:
        require_storage(owner_id, more)
