"""Learns a model's token correction and its true window from what its server reports after each request.

`ModelProfile.window_evidence` has what must outlive a process, and is written only when it changes: `low`, counts in a
row that were too low; `usage`, that the server counts tokens; of the mark at the head of requests `heard`, the largest
request whose mark came back, `missed`, those in a row without it, and `deaf`, that the model does not repeat it at all.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from conversations.llm import windows
from conversations.llm.profiles import learn_correction
from conversations.llm.window_evidence import STRIKES, Evidence, Report, judged
from conversations.llm.window_queries import is_own_server
from conversations.llm.windows import Identity, Source, identity
from conversations.models import ModelProfile
from conversations.runtime import queue
from conversations.runtime.bounded import BoundedCache

MARK_GROWTH = 1.25
"""The mark of a request counts as missing only beyond this many times the largest request whose mark was heard."""

_evidence: BoundedCache[Identity, Evidence] = BoundedCache(windows.MAX_PROFILES)


def learn(profile: ModelProfile, owner_id: int, *, thread: Hashable, estimated: int, reported: int) -> None:
    """Learn from one request: `estimated` tokens by our count, `reported` ones by its server; 0: nothing is known.

    A count that is too low does not teach the correction. The first one has the server asked for its window, the
    second one in a row lowers the window to what the server is known to read.
    """
    if not is_own_server(profile):
        learn_correction(profile, owner_id, estimated=estimated, reported=reported)
        return
    known = _evidence.get(identity(profile)) or Evidence()
    known = replace(known, low=tuple(profile.window_evidence.get("low", ())))
    report = Report(thread, estimated, reported)
    is_learned = bool(profile.token_reports)
    now, is_true = judged(known, report, correction=profile.token_correction, is_learned=is_learned)
    if now.window:
        windows.lower(profile, now.window, source=Source.COUNTED)
        now = replace(now, low=())
    elif len(now.low) > len(known.low):
        windows.ask_later(profile)
    _evidence.put(identity(profile), now)
    counts = True if profile.window_source in (Source.DEFAULT, Source.MARK) else profile.window_evidence.get("usage")
    windows.note(profile, low=list(now.low) or None, usage=counts)
    if is_true:
        learn_correction(profile, owner_id, estimated=estimated, reported=reported)


def learn_mark(profile: ModelProfile, *, estimated: int, heard: bool) -> None:
    """Learn from a reply to a request of `estimated` tokens whether the head of the request was read.

    After the second miss in a row, two requests of our own check whether the model forgets or the server drops.
    """
    if estimated <= 0 or not windows.mark_for(profile):
        return
    evidence = profile.window_evidence
    most, missed = evidence.get("heard", 0), evidence.get("missed", 0)
    if heard:
        windows.note(profile, missed=None, heard=estimated if estimated > MARK_GROWTH * most else most)
    elif estimated > MARK_GROWTH * most:
        windows.note(profile, missed=missed + 1)
        if missed + 1 >= STRIKES:
            queue.enqueue("check_window", str(profile.pk), str(estimated))
