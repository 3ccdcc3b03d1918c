"""What listeners of a conversation hear, in which order, and when."""

from __future__ import annotations

import asyncio
from uuid import UUID, uuid4

import pytest

from conversations.runtime import events
from conversations.runtime.events import MAX_DRAFTS, TICK_SECONDS, Hub
from conversations.runtime.subscription import MAX_JOINED_CHARS, MAX_QUEUED_EVENTS, RESYNC, Event, Listener

pytestmark = pytest.mark.once

ONE, OTHER = uuid4(), uuid4()
SOON = 2.0
"""Seconds to wait for what is due in less than a tenth of one."""


def waiting(listener: Listener) -> list[Event]:
    return [listener.queue.get_nowait() for _ in range(listener.queue.qsize())]


async def heard(listener: Listener) -> Event:
    return await asyncio.wait_for(listener.queue.get(), SOON)


def delta(text: str, at: int, id: str = "m") -> Event:
    return Event("message.delta", {"id": id, "text": text, "at": at})


def ended(id: str = "m") -> Event:
    return Event("message.done", {"message": {"id": id}})


async def test_the_first_words_of_a_reply_are_told_at_once() -> None:
    hub = Hub()
    with hub.listen(ONE) as listener:
        hub.feed(ONE, "m", "Hello", at=0)
        assert waiting(listener) == [delta("Hello", 0)]


async def test_words_that_follow_are_joined_and_told_within_a_tick() -> None:
    hub, loop = Hub(), asyncio.get_running_loop()
    with hub.listen(ONE) as listener:
        for at, text in enumerate("abc"):
            hub.feed(ONE, "m", text, at=at)
        began = loop.time()
        assert waiting(listener) == [delta("a", 0)]
        assert await heard(listener) == delta("bc", 1)
        assert loop.time() - began > TICK_SECONDS / 2
        hub.feed(ONE, "m", "d", at=3)
        assert await heard(listener) == delta("d", 3)


async def test_each_reply_is_sent_in_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "TICK_SECONDS", 0.6)
    hub = Hub()
    with hub.listen(ONE) as one, hub.listen(OTHER) as other:
        for id in (ONE, OTHER):
            hub.feed(id, f"m{id}", "first", at=0)
        waiting(one), waiting(other)
        hub.feed(ONE, f"m{ONE}", "a", at=5)
        await asyncio.sleep(0.3)
        hub.feed(OTHER, f"m{OTHER}", "b", at=5)
        assert (await heard(one)).data["text"] == "a"
        assert not waiting(other)
        assert (await heard(other)).data["text"] == "b"


async def test_nothing_of_many_replies_is_lost_or_out_of_order() -> None:
    hub, ids = Hub(), [uuid4() for _ in range(40)]
    text = "".join(f"{number} " for number in range(60))
    listeners = {id: Listener() for id in ids}
    for id in ids:
        hub.listeners[id].add(listeners[id])
    for at, letter in enumerate(text):
        for id in ids:
            hub.feed(id, str(id), letter, at=at)
        if at % 7 == 0:
            await asyncio.sleep(0.01)
    for id in ids:
        hub.ended(id, str(id))
        written = ""
        for event in waiting(listeners[id]):
            assert event.data["at"] == len(written)
            written += event.data["text"]
        assert written == text


async def test_an_event_is_told_after_the_words_before_it() -> None:
    hub = Hub()
    with hub.listen(ONE) as listener:
        hub.feed(ONE, "m", "a", at=0)
        assert waiting(listener) == [delta("a", 0)]
        hub.feed(ONE, "m", "b", at=1)
        hub.publish(ONE, ended())
        assert [await heard(listener) for _ in range(2)] == [delta("b", 1), ended()]


async def test_the_end_of_a_reply_sends_what_waits_and_the_next_one_begins_at_once() -> None:
    hub = Hub()
    with hub.listen(ONE) as listener:
        for at, text in enumerate("ab"):
            hub.feed(ONE, "m", text, at=at)
        assert waiting(listener) == [delta("a", 0)]
        hub.ended(ONE, "m")
        assert waiting(listener) == [delta("b", 1)]
        hub.feed(ONE, "n", "c", at=0)
        assert waiting(listener) == [delta("c", 0, id="n")]
        hub.feed(ONE, "n", "d", at=1)
        assert await heard(listener) == delta("d", 1, id="n"), "what waited of the first reply would come before it"


async def test_events_of_other_threads_arrive_on_the_loop_in_their_order() -> None:
    hub = Hub()
    with hub.listen(ONE) as listener:
        told = [Event("title.updated", {"title": str(number)}) for number in range(20)]

        def tell() -> None:
            for event in told:
                hub.publish(ONE, event)

        await asyncio.to_thread(tell)
        assert [await heard(listener) for _ in told] == told


async def test_a_slow_listener_is_told_to_fetch_instead_of_all_it_has_missed() -> None:
    hub = Hub()
    with hub.listen(ONE) as listener:
        for _ in range(MAX_QUEUED_EVENTS):
            hub.hear(ONE, ended())
        assert len(waiting(listener)) == MAX_QUEUED_EVENTS
        for _ in range(MAX_QUEUED_EVENTS + 1):
            hub.hear(ONE, ended())
        assert waiting(listener) == [RESYNC]
        hub.hear(ONE, ended())
        assert waiting(listener) == [ended()]


async def test_words_that_wait_for_a_slow_listener_are_joined_as_long_as_they_follow_on_each_other() -> None:
    hub = Hub()
    with hub.listen(ONE) as listener:
        for event in (delta("a", 0), delta("b", 1), delta("late", 7), delta("n", 11, id="n"), ended(), delta("e", 11)):
            hub.hear(ONE, event)
        assert waiting(listener) == [delta("ab", 0), delta("late", 7), delta("n", 11, id="n"), ended(), delta("e", 11)]
        long = "x" * (MAX_JOINED_CHARS + 1)
        hub.hear(ONE, delta(long, 0))
        hub.hear(ONE, delta("y", len(long)))
        assert waiting(listener) == [delta(long, 0), delta("y", len(long))]


async def test_what_was_missed_lets_all_pages_fetch_one_after_the_other() -> None:
    hub, loop = Hub(), asyncio.get_running_loop()
    with hub.listen(ONE) as first, hub.listen(ONE) as second, hub.listen(OTHER) as third:
        hub.hear(ONE, delta("a", 0))
        for listener in (first, second):
            waiting(listener)
        began = loop.time()
        hub.resync_all()
        assert hub.draft("m") == ""
        assert [await heard(listener) for listener in (first, second, third)] == [RESYNC] * 3
        assert loop.time() - began >= 2 * events.RESYNC_INTERVAL_SECONDS * 0.9


async def test_what_nobody_heard_leaves_no_gap_in_what_the_next_listener_hears() -> None:
    hub = Hub()
    with hub.listen(ONE):
        hub.feed(ONE, "m", "a", at=0)
        hub.feed(ONE, "m", "b", at=1)
    hub.feed(ONE, "m", "c", at=2)
    with hub.listen(ONE) as listener:
        hub.feed(ONE, "m", "d", at=3)
        hub.ended(ONE, "m")
        assert waiting(listener) == [delta("d", 3)]


async def test_nobody_listens_nothing_is_kept() -> None:
    hub = Hub()
    hub.feed(ONE, "m", "a", at=0)
    hub.feed(ONE, "m", "b", at=1)
    with hub.listen(ONE) as listener:
        hub.feed(ONE, "m", "c", at=2)
        assert waiting(listener) == [delta("c", 2)]
        hub.feed(ONE, "m", "d", at=3)
        assert await heard(listener) == delta("d", 3), "what was kept would come before it"
    assert hub.listeners == {}


async def test_a_reply_of_another_process_is_known_as_far_as_it_was_heard_from_its_beginning() -> None:
    hub = Hub()
    for event in (delta("ab", 0), delta("c", 2), delta("late", 7, id="n")):
        hub.hear(ONE, event)
    assert (hub.draft("m"), hub.draft("n")) == ("abc", "")
    hub.hear(ONE, delta("e", 4))  # what came between is missing
    assert hub.draft("m") == ""
    hub.hear(ONE, delta("ab", 0))
    hub.hear(ONE, ended())
    assert hub.draft("m") == ""


async def test_of_many_drafts_those_that_were_written_last_are_kept() -> None:
    hub = Hub()
    hub.hear(ONE, delta("a", 0, id="first"))
    hub.hear(ONE, delta("a", 0, id="second"))
    hub.hear(ONE, delta("b", 1, id="first"))
    for number in range(MAX_DRAFTS - 1):
        hub.hear(ONE, delta("c", 0, id=f"m{number}"))
    assert (hub.draft("first"), hub.draft("second")) == ("ab", "")


async def test_a_command_is_carried_out_and_told_to_nobody() -> None:
    hub = Hub()
    done: list[UUID] = []
    hub.commands["reply.stop"] = done.append
    with hub.listen(ONE) as listener:
        hub.hear(ONE, Event("reply.stop"))
        assert not waiting(listener)
    assert done == [ONE]


async def test_a_reader_that_gives_up_takes_nothing_with_it() -> None:
    listener = Listener()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(listener.queue.get(), 0.01)
    listener.put(RESYNC)
    assert await heard(listener) == RESYNC
