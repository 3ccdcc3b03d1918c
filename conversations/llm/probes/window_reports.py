"""Learns a model's token correction and its true window from what its server reports after each request.

What people send never lowers a window by itself: it only has the site check the server by requests of its own.

`ModelProfile.window_evidence` keeps the following, and is written only when it changes. `low`: counts in a row that
were too low. `usage`: the server counts tokens. `read`: the largest request, in tokens, that a check of the site has
seen read whole. `ended`: the tokens of the last request and reply together whose reply ended at a limit, and those of
the request. `full`: a sum that two different requests ended at, in tokens. `missed`: for each person, replies in a row
without the mark. `deaf`: the model never repeats the mark. `by_hand`: the window that an administrator set, in tokens,
before it was lowered. `found`: what the server was found to read, in tokens, if that is less than half of `by_hand`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from conversations.llm.profiles import learn_correction
from conversations.llm.windows import windows
from conversations.llm.windows.window_evidence import MIN_REPORTED, STRIKES, Report, WindowEvidence, judged
from conversations.llm.windows.window_queries import is_own_server
from conversations.llm.windows.windows import Identity, Source, identity
from conversations.models import ModelProfile
from conversations.runtime import queue
from conversations.runtime.bounded_cache import BoundedCache

GROWTH = 1.25
"""A request is suspected only above this many times the largest request that a check has seen read whole."""
END_SHARE = 0.95
"""A reply that ends above this share of the window ends where it should."""
MAX_PEOPLE = 20
"""The most people whose missed marks are counted, the latest ones."""

_evidence: BoundedCache[Identity, WindowEvidence] = BoundedCache(windows.MAX_PROFILES)


def learn(profile: ModelProfile, owner_id: int, *, thread: Hashable, estimated: int, reported: int) -> None:
    """Learn from one request: `estimated` tokens by our count, `reported` ones by its server; 0: nothing is known.

    A count that is too low does not teach the correction. The first one has the server asked for its window, the
    second one in a row has the site check the server by requests of its own.
    """
    if not is_own_server(profile):
        learn_correction(profile, owner_id, estimated=estimated, reported=reported)
        return
    known = _evidence.get(identity(profile)) or WindowEvidence()
    known = replace(known, low=tuple(profile.window_evidence.get("low", ())))
    report = Report(thread, estimated, reported)
    is_learned = bool(profile.token_reports)
    now, is_true = judged(known, report, correction=profile.token_correction, is_learned=is_learned)
    if now.window:
        now = replace(now, low=())
        is_checked = windows.FOUND_SMALLER in profile.window_evidence
        if not is_checked and estimated > GROWTH * profile.window_evidence.get("read", 0):
            queue.enqueue("check_window", str(profile.pk), str(estimated))
    elif len(now.low) > len(known.low):
        windows.ask_later(profile)
    _evidence.put(identity(profile), now)
    counts = True if profile.window_source in (Source.DEFAULT, Source.MARK) else profile.window_evidence.get("usage")
    windows.note(profile, low=list(now.low) or None, usage=counts)
    if is_true:
        learn_correction(profile, owner_id, estimated=estimated, reported=reported)


def learn_end(profile: ModelProfile, *, prompt: int, completion: int) -> None:
    """Learn from a reply that ended at a limit; both counts are the server's, in tokens.

    A server without room for more ends every reply at the same sum. Two equal sums of different requests have the site
    check the server by requests of its own.
    """
    total, last = prompt + completion, profile.window_evidence.get("ended", [0, 0])
    if not is_own_server(profile) or total < MIN_REPORTED or total > END_SHARE * profile.window:
        return
    is_new = last[0] == total and last[1] != prompt and windows.FOUND_SMALLER not in profile.window_evidence
    if is_new and GROWTH * total > profile.window_evidence.get("read", 0):
        windows.note(profile, full=total)
        queue.enqueue("check_window", str(profile.pk), str(round(GROWTH * total)))
    windows.note(profile, ended=[total, prompt])


def learn_mark(profile: ModelProfile, owner_id: int, *, estimated: int, heard: bool) -> None:
    """Learn from a reply to a person's request of `estimated` tokens whether the head of the request was read.

    After the second miss in a row, of one person or of several, requests of our own check whether the model forgets or
    the server drops. A mark in a reply clears the misses of its person only: people can have the model write it.
    """
    if estimated <= 0 or not windows.mark_for(profile):
        return
    missed = dict(profile.window_evidence.get("missed", {}))
    own = missed.pop(str(owner_id), 0)
    if heard:
        windows.note(profile, missed=missed or None)
    elif estimated > GROWTH * profile.window_evidence.get("read", 0):
        missed = dict([*missed.items()][-(MAX_PEOPLE - 1) :]) | {str(owner_id): own + 1}
        windows.note(profile, missed=missed)
        if sum(missed.values()) >= STRIKES:
            queue.enqueue("check_window", str(profile.pk), str(estimated))
