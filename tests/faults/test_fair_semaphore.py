"""Places of requests are shared fairly by person and by address."""

from __future__ import annotations

import asyncio
import threading

import pytest
from asgiref.sync import sync_to_async

from chatsite.fair_semaphore import FairSemaphore, QueueFull, Requester, requester
from chatsite.request_threads import PARSED_AT_ONCE, Kind, request_thread

MOST = 8


def person(name: str, address: str = "") -> Requester:
    return Requester(name, address or f"at {name}")


async def holding(places: FairSemaphore, who: Requester, count: int) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(places.take(MOST, who)) for _ in range(count)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def test_one_person_with_many_requests_leaves_places_for_others() -> None:
    places = FairSemaphore()
    greedy = await holding(places, person("greedy"), 50)
    assert sum(task.done() for task in greedy) == 6 == places.taken
    async with asyncio.timeout(0.1):
        await places.take(MOST, person("other"))
    for task in greedy:
        task.cancel()
    await asyncio.gather(*greedy, return_exceptions=True)


async def test_a_free_place_goes_to_who_has_fewest_though_others_wait_longer() -> None:
    places = FairSemaphore()
    greedy = await holding(places, person("greedy"), 30)
    second = await holding(places, person("second"), 2)
    late = await holding(places, person("late"), 1)
    assert all(task.done() for task in second) and not late[0].done()
    places.leave(person("greedy"))
    await asyncio.wait_for(late[0], 1)
    assert sum(task.done() for task in greedy) == 6
    for task in greedy:
        task.cancel()
    await asyncio.gather(*greedy, return_exceptions=True)


async def test_many_forged_sessions_of_one_address_come_after_another_address() -> None:
    places = FairSemaphore()
    forged = [(await holding(places, person(f"forged {n}", "one"), 1))[0] for n in range(40)]
    other = await holding(places, person("honest", "two"), 1)
    assert sum(task.done() for task in forged) == MOST and not other[0].done()
    places.leave(person("forged 0", "one"))
    await asyncio.wait_for(other[0], 1)
    for task in forged:
        task.cancel()
    await asyncio.gather(*forged, return_exceptions=True)


async def test_one_person_cannot_fill_the_queue() -> None:
    places = FairSemaphore(waiting=20)
    greedy = await holding(places, person("greedy"), 60)
    assert sum(task.done() and task.exception() is not None for task in greedy) == 60 - 6 - 15
    other = await holding(places, person("other"), 3)
    await asyncio.sleep(0)
    assert not (other[2].done() and isinstance(other[2].exception(), QueueFull))
    for task in (*greedy, *other):
        task.cancel()
    await asyncio.gather(*greedy, *other, return_exceptions=True)


async def test_every_place_comes_back() -> None:
    places = FairSemaphore()
    for round in range(20):
        tasks = await holding(places, person(f"p{round % 3}"), 20)
        for task in tasks[::2]:
            task.cancel()
        done = await asyncio.gather(*tasks[:6], return_exceptions=True)
        for _ in range(sum(one is None for one in done)):
            places.leave(person(f"p{round % 3}"))
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks[6:], return_exceptions=True)
        for _ in range(sum(one is None for one in ended)):
            places.leave(person(f"p{round % 3}"))
    assert places.taken == 0 and not places._waiting and not places._taken


@pytest.mark.parametrize(
    ("headers", "same"),
    [
        ([(b"cookie", b"sessionid=abc")], False),
        ([(b"authorization", b"Bearer cs_123")], False),
        ([], True),
        ([(b"cookie", b"theme=dark")], True),
    ],
)
def test_a_person_is_known_by_session_or_key_else_by_address(headers: list[tuple[bytes, bytes]], same: bool) -> None:
    who = requester(headers, "10.0.0.1")
    assert (who.person == who.address == "10.0.0.1") is same
    assert "abc" not in who.person and "cs_123" not in who.person


async def test_many_calls_of_the_gateway_are_parsed_by_few_threads() -> None:
    async def parsed(turn: int) -> int:
        async with request_thread(Kind.GATEWAY, person(f"{turn}")) as thread:
            await thread.take()
            used = await sync_to_async(threading.get_ident)()
            await thread.let_go()
            return used

    used = await asyncio.gather(*(parsed(turn) for turn in range(30)))
    assert len(set(used)) <= PARSED_AT_ONCE
