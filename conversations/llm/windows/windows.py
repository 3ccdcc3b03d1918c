"""Keeps the context window of each profile true: asks its server, stores the answer with its source and its time.

A window set by hand stays, unless its server reads less. Nobody waits for an answer: servers are asked when the site
starts, when a profile is saved, and once after a reply, when a server that loads models on demand has loaded it.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

from asgiref.sync import sync_to_async
from django.db import DatabaseError
from django.db.models import QuerySet
from django.utils import timezone

from conversations.llm import canary
from conversations.llm.known_models import UNKNOWN_WINDOW, known_window
from conversations.llm.windows.window_answers import Window
from conversations.llm.windows.window_queries import ask_window, is_own_server
from conversations.models import ModelProfile
from conversations.runtime import queue
from conversations.runtime.bounded_cache import BoundedCache

logger = logging.getLogger(__name__)

Source, Role = ModelProfile.WindowSource, ModelProfile.Role

UNSURE = (Source.DEFAULT, Source.NAME, Source.INHERITED)
"""Sources that the server's own answer replaces."""
FOUND = (Source.COUNTED, Source.MARK)
"""Sources that have shown that the server reads less than was said."""
BY_HAND = "by_hand"
"""The key of `ModelProfile.window_evidence` for the window that was set by hand, in tokens."""
FOUND_SMALLER = "found"
"""The key for the tokens that the server was found to read, if they are below half of `by_hand`."""
REFUSED = "refused"
"""The key for the tokens that the server named as its limit when it refused a longer request."""
MIN_WINDOW = 1_024
"""The smallest window that conversations work in, in tokens."""
MAX_ASKED_AFTER_REPLIES = 1
"""Times that a process asks a server after a reply, for each profile and address."""
MAX_PROFILES = 1_000
MAX_DISCREPANCY = 64
"""A number in a refusal counts as the limit only if the window is at most so many times larger."""

Identity = tuple[int, str, str]
_asked: BoundedCache[Identity, int] = BoundedCache(MAX_PROFILES)


def identity(profile: ModelProfile) -> Identity:
    """The key of a learned window: the profile, its address and its model."""
    return profile.pk, profile.base_url, profile.model_id


async def ask_all(profiles: QuerySet[ModelProfile]) -> None:
    """Ask the servers of those of the profiles whose window was not set by hand, one after another; of chat first."""
    try:
        async for profile in profiles.exclude(window_source=Source.HAND).order_by("role", "id"):
            await ask(profile.pk)
    except DatabaseError:
        logger.warning("the windows of models could not be asked for: the database cannot be used")


async def ask(profile_id: int) -> Window | None:
    """Ask a profile's server for the window, and store a better answer than what is known; returns the answer."""
    profile = await ModelProfile.objects.filter(pk=profile_id).afirst()
    answer = await ask_window(profile) if profile else None
    if profile and answer:
        await sync_to_async(adopt)(profile, answer)
    return answer


def ask_later(profile: ModelProfile) -> None:
    """Ask a profile's server in the background, if it has a server of its own."""
    if is_own_server(profile):
        queue.enqueue("ask_window", str(profile.pk))


def ask_if_unknown(profile: ModelProfile) -> None:
    """After a reply, ask once more if the window is still not known: now the model is loaded."""
    if profile.window_source not in UNSURE or not is_own_server(profile):
        return
    times = _asked.get(identity(profile)) or 0
    if times < MAX_ASKED_AFTER_REPLIES:
        _asked.put(identity(profile), times + 1)
        ask_later(profile)


def adopt(profile: ModelProfile, answer: Window) -> None:
    """Store a server's answer if it is better than what is known.

    A limit of the model only lowers a window. A window set by hand is only lowered, and one that was found smaller
    than the server says is not raised to what was disproved.
    """
    source, tokens = profile.window_source, max(answer.tokens, MIN_WINDOW)
    if source in FOUND and tokens >= (profile.window_replaced or profile.window):
        return
    is_less = tokens < profile.window
    if source == Source.HAND and not is_less:
        return
    if not answer.in_effect:
        if is_less and source not in FOUND:
            _store(profile, tokens, source=source, server=answer.server)
        return
    replaced = profile.window if source == Source.HAND else None
    _store(profile, tokens, source=Source.ASKED, server=answer.server, replaced=replaced)


def lower(profile: ModelProfile, tokens: int, *, source: ModelProfile.WindowSource) -> None:
    """Store that the server was found to read only `tokens` of a request; it is never asked for more again.

    A window set by hand is not lowered below its half: only its administrator, or the server's own answer, goes lower.
    """
    by_hand = profile.window if profile.window_source == Source.HAND else profile.window_evidence.get(BY_HAND, 0)
    found, tokens = tokens, max(tokens, MIN_WINDOW, by_hand // 2)
    if tokens < profile.window:
        _store(profile, tokens, source=source, replaced=profile.window_replaced or profile.window)
        note(profile, **{BY_HAND: by_hand or None, FOUND_SMALLER: found if found < tokens else None})


async def learn_limit(profile: ModelProfile, tokens: int) -> None:
    """Store the limit that a server names when it refuses a longer request; database errors are ignored."""
    with suppress(DatabaseError):
        await sync_to_async(_limit)(profile, tokens)


def _limit(profile: ModelProfile, tokens: int) -> None:
    if max(MIN_WINDOW, profile.window // MAX_DISCREPANCY) <= tokens < profile.window:
        _store(profile, tokens, source=Source.ASKED, replaced=profile.window_replaced or profile.window)
        note(profile, **{REFUSED: tokens})


def inherit(chat: ModelProfile) -> None:
    """Give the window of a server's first chat model to its models for summaries whose own window is not known."""
    here = ModelProfile.objects.filter(provider=chat.provider, base_url=chat.base_url)
    first = here.filter(role=Role.CHAT, enabled=True).order_by("id").values_list("pk", flat=True).first()
    if chat.pk == first:
        heirs = here.exclude(role=Role.CHAT).filter(window_source__in=(Source.DEFAULT, Source.INHERITED))
        heirs.update(window=chat.window, window_source=Source.INHERITED, window_known_at=timezone.now())


def forgotten(profile: ModelProfile, first: dict[str, Any]) -> dict[str, Any]:
    """The columns of a profile that moved to another server or model; a window set by hand stays as it was set."""
    if profile.window_source == Source.HAND:
        return {}
    fresh = {name: first[name] for name in ("window", "window_source") if name in first}
    return fresh | {"window_server": "", "window_known_at": None, "window_replaced": None, "window_evidence": {}}


def is_disproved(profile: ModelProfile, tokens: int | None) -> bool:
    """Whether the profile's server was found to read less than `tokens`, when these were its window."""
    return tokens is not None and tokens == profile.window_replaced and profile.window < tokens


def set_by_hand(profile: ModelProfile) -> None:
    """Treat the unsaved profile's window as set by hand, and forget earlier findings about its server."""
    profile.window_source, profile.window_known_at = Source.HAND, timezone.now()
    profile.window_server, profile.window_replaced, profile.window_evidence = "", None, {}


def guess(profile: ModelProfile) -> None:
    """Take the unsaved profile's window from its model's name, as nobody named it for its present server."""
    known = known_window(profile.model_id)
    source = Source.NAME if known else Source.DEFAULT
    for name, value in forgotten(profile, {"window": known or UNKNOWN_WINDOW, "window_source": source}).items():
        setattr(profile, name, value)


def mark_for(profile: ModelProfile) -> str:
    """The mark at the beginning of requests; "" if the window is known, or the server counts tokens."""
    evidence = profile.window_evidence
    if profile.window_source not in (Source.DEFAULT, Source.MARK) or not is_own_server(profile):
        return ""
    return "" if evidence.get("usage") or evidence.get("deaf") else canary.mark_of(profile.model_id)


def note(profile: ModelProfile, **facts: object) -> None:
    """Store what suggests that a server reads less; two queries, and none if nothing is new. None deletes a fact.

    The stored evidence is read again first: a request may have taken minutes since its profile was loaded.
    """
    if _merged(profile.window_evidence, facts) != profile.window_evidence:
        stored = _rows(profile).values_list("window_evidence", flat=True).first() or {}
        profile.window_evidence = _merged(stored, facts)
        _rows(profile).update(window_evidence=profile.window_evidence)


def _merged(evidence: dict[str, Any], facts: dict[str, object]) -> dict[str, object]:
    return {name: fact for name, fact in (evidence | facts).items() if fact is not None}


def _store(profile: ModelProfile, tokens: int, *, source: str, server: str = "", replaced: int | None = None) -> None:
    before = profile.window
    columns: dict[str, Any] = {
        "window": tokens,
        "window_source": source,
        "window_server": server,
        "window_known_at": timezone.now(),
        "window_replaced": replaced,
    }
    unchanged = ModelProfile.objects.filter(window=before, window_source=profile.window_source)
    if not (unchanged & _rows(profile)).update(**columns):
        return  # an administrator or another process was faster
    for name, value in columns.items():
        setattr(profile, name, value)
    if profile.role == Role.CHAT:
        inherit(profile)
    if tokens != before:
        about = {"model": profile.name, "window": tokens, "before": before, "source": source, "server": server}
        level, words = (logging.INFO, "known") if tokens > before else (logging.WARNING, "smaller than it was set")
        logger.log(level, "a model's window is %s", words, extra=about)


def _rows(profile: ModelProfile) -> Any:
    return ModelProfile.objects.filter(pk=profile.pk, base_url=profile.base_url, model_id=profile.model_id)
