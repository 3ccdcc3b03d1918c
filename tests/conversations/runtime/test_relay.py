"""What one process tells the others, over a real Redis: in order, once, and with a notice where some is missing."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer

from conversations.runtime import relay
from conversations.runtime.events import hub
from conversations.runtime.relay import COMMANDS, EVENTS, LAYER, MAX_OUTBOX_EVENTS, Relay
from conversations.runtime.subscription import RESYNC, Event, Listener
from tests.servers import Redis, redis

pytestmark = pytest.mark.once

ID = uuid4()
SOON = 10.0
"""Seconds to wait for what Redis brings in a millisecond, and after it was away in two seconds."""


@pytest.fixture(scope="module")
def server() -> Iterator[Redis]:
    with redis() as started:
        yield started


@pytest.fixture(autouse=True)
def site(server: Redis, settings: Any) -> None:
    settings.REDIS_URL = server.url
    settings.CHANNEL_LAYERS = {
        LAYER: {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [server.url], "prefix": uuid4().hex},
        }
    }


@pytest.fixture
async def here() -> AsyncIterator[Relay]:
    """This process, which has pages."""
    loop = asyncio.get_running_loop()
    mine = relay.attach(loop, hears=True)
    assert mine
    await subscribed(mine)
    yield mine
    relay.detach()
    hub.resync_all()
    await mine.stop()


@pytest.fixture
async def there(here: Relay) -> AsyncIterator[Relay]:
    """Another process, a worker without pages."""
    other = Relay(asyncio.get_running_loop(), hears=False)
    yield other
    await other.stop()


async def subscribed(mine: Relay) -> None:
    layer = get_channel_layer(LAYER)
    async with asyncio.timeout(SOON):
        while len(getattr(layer, "groups", {})) < len(mine.groups):
            await asyncio.sleep(0.01)


async def heard(listener: Listener) -> Event:
    return await asyncio.wait_for(listener.queue.get(), SOON)


def delta(text: str, at: int) -> Event:
    return Event("message.delta", {"id": "m", "text": text, "at": at})


TITLE = Event("title.updated", {"title": "x"})
DONE = Event("message.done", {"message": {"id": "m"}})


async def test_what_another_process_says_is_heard_in_its_order(there: Relay) -> None:
    told = [delta("a", 0), TITLE, delta("b", 1), DONE]
    with hub.listen(ID) as listener:
        for event in told:
            there.put(ID, event)
        assert [await heard(listener) for _ in told] == told


async def test_what_is_put_at_one_moment_is_one_message_for_all_conversations(there: Relay) -> None:
    layer = get_channel_layer(LAYER)
    channel = await layer.new_channel()
    await layer.group_add(EVENTS, channel)
    ids = [uuid4() for _ in range(100)]
    for id in ids:
        there.put(id, TITLE)
    async with asyncio.timeout(SOON):
        message = await layer.receive(channel)
        while not message["events"]:  # a beat of one of the two
            message = await layer.receive(channel)
    assert [UUID(id) for id, _, _ in message["events"]] == ids


async def test_what_is_fed_in_one_process_is_told_there_too_and_comes_back_to_nobody(here: Relay, there: Relay) -> None:
    with hub.listen(ID) as listener:
        hub.feed(ID, "own", "a", at=0)
        hub.publish(ID, TITLE)
        assert [(await heard(listener)).type for _ in range(2)] == ["message.delta", "title.updated"]
        await sync_to_async(relay.relay_event)(EVENTS, ID, "title.updated", title="a later one")
        assert (await heard(listener)).data == {"title": "a later one"}  # what came back would be before it
        there.put(ID, DONE)
        assert await heard(listener) == DONE


async def test_a_gap_in_the_numbers_lets_all_pages_fetch(there: Relay) -> None:
    elsewhere = uuid4()
    with hub.listen(ID) as listener, hub.listen(elsewhere) as other:
        there.put(ID, TITLE)
        assert await heard(listener) == TITLE
        there.number += 1  # as if a message had been lost on its way
        there.put(ID, DONE)
        assert sorted([(await heard(listener)).type for _ in range(2)]) == ["message.done", "resync"]
        assert await heard(other) == RESYNC


async def test_the_first_message_of_a_process_is_no_gap(there: Relay) -> None:
    there.number = 40
    with hub.listen(ID) as listener:
        there.put(ID, TITLE)
        there.put(ID, DONE)
        assert [await heard(listener) for _ in range(2)] == [TITLE, DONE]


async def test_more_than_can_wait_for_redis_is_dropped_and_noticed(there: Relay) -> None:
    with hub.listen(ID) as listener:
        there.put(ID, TITLE)
        assert await heard(listener) == TITLE
        for _ in range(MAX_OUTBOX_EVENTS):
            there.put(uuid4(), TITLE)
        there.put(ID, DONE)
        there.put(ID, DONE)
        assert await heard(listener) == RESYNC
        there.put(ID, TITLE)  # what was dropped would be before it
        assert await heard(listener) == TITLE


async def test_the_text_of_a_reply_written_elsewhere_is_known_here(there: Relay) -> None:
    with hub.listen(ID) as listener:
        there.put(ID, delta("Hello", 0))
        assert await heard(listener) == delta("Hello", 0)
        there.put(ID, delta(", world", 5))
        await heard(listener)
        assert hub.draft("m") == "Hello, world"
        there.put(ID, DONE)
        await heard(listener)
        assert hub.draft("m") == ""


async def test_a_command_reaches_processes_without_pages_too(
    here: Relay, there: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[UUID] = []
    monkeypatch.setitem(hub.commands, "a.command", done.append)
    async with asyncio.timeout(SOON):
        while len(done) < 2:  # the other subscribes in its own time
            done.clear()
            await sync_to_async(relay.relay_event)(COMMANDS, ID, "a.command")
            await asyncio.sleep(0.1)
    assert done == [ID, ID]


async def test_a_process_that_ends_at_once_is_heard_and_leaves_no_gap(there: Relay) -> None:
    with hub.listen(ID) as listener:
        for _ in range(2):
            await sync_to_async(relay.relay_event)(EVENTS, ID, "title.updated", title="x")
        assert [await heard(listener) for _ in range(2)] == [TITLE, TITLE]


async def test_after_redis_was_away_pages_fetch_and_hear_again(there: Relay, server: Redis) -> None:
    with hub.listen(ID) as listener:
        there.put(ID, TITLE)
        assert await heard(listener) == TITLE
        server.stop(signal.SIGKILL)
        try:
            there.put(ID, DONE)
            async with asyncio.timeout(SOON):
                while there.is_up:
                    await asyncio.sleep(0.05)
        finally:
            server.start()
        assert await heard(listener) == RESYNC
        there.put(ID, TITLE)
        while (event := await heard(listener)) == RESYNC:
            pass
        assert event == TITLE
    assert there.is_up


@pytest.mark.parametrize("on_a_loop", [True, False])
async def test_a_process_without_a_part_in_it_is_heard_too(here: Relay, on_a_loop: bool) -> None:
    """As a command that is run by hand."""
    with hub.listen(ID) as listener:
        hub.peers = None
        try:
            if on_a_loop:
                hub.publish(ID, Event("usage.updated", {"total": 1}))
            else:
                await sync_to_async(hub.publish)(ID, Event("usage.updated", {"total": 1}))
        finally:
            hub.peers = here
        assert await heard(listener) == Event("usage.updated", {"total": 1})  # said here
        assert await heard(listener) == Event("usage.updated", {"total": 1})  # and come back over Redis
