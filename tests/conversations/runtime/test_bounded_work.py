"""Work on others' files and texts in processes of their own: ended where it takes too much, and told so."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conversations.errors import Invalid, TooMany
from conversations.exchange.imports import import_conversations
from conversations.messages import images
from conversations.models import Conversation, User
from conversations.page.markup import highlighting
from conversations.page.markup.highlighting import NotColoured, coloured
from conversations.page.markup.markdown import html_of, render_markdown
from conversations.runtime import bounded_process
from conversations.runtime.bounded_process import JobFailed, OverMemory, OverTime, Pool
from conversations.runtime.fair_queue import Busy, FairQueue
from tests.conversations import heavy
from tests.conversations.pictures import picture
from tests.servers import wait_until

pytestmark = pytest.mark.once
WORK = "tests.conversations.bounded_work"


@pytest.fixture
def pool() -> Any:
    made = Pool(WORK, seconds=0.3, megabytes=400)
    yield made
    made.close()
    bounded_process._pools.remove(made)


@pytest.fixture(autouse=True)
def _nothing_lost() -> Any:
    highlighting.lost.forget()
    yield
    highlighting.lost.forget()


def test_a_process_does_one_piece_of_work_after_the_other(pool: Pool) -> None:
    first, second = pool.run("pid"), pool.run("pid")
    assert first == second != os.getpid()
    assert list(pool.stream("three")) == [1, 2, 3]


def test_what_takes_too_long_is_ended_and_the_next_is_done_by_another(pool: Pool) -> None:
    before = pool.run("pid")
    began = time.monotonic()
    with pytest.raises(OverTime):
        pool.run("a pattern")
    assert time.monotonic() - began < 10
    assert pool.run("pid") != before
    assert not Path(f"/proc/{before}").exists()


def test_what_takes_too_much_memory_is_refused(pool: Pool) -> None:
    with pytest.raises(OverMemory):
        pool.run("a gigabyte")
    assert pool.run("pid")


def test_refusals_come_through_and_other_faults_are_named(pool: Pool) -> None:
    with pytest.raises(Invalid, match="file: no") as refused:
        pool.run("refuse")
    assert refused.value.detail == {"field": "file"}
    with pytest.raises(JobFailed, match="KeyError"):
        pool.run("break")
    with pytest.raises(JobFailed):
        pool.run("exit")


def test_what_is_printed_is_no_answer(pool: Pool) -> None:
    assert pool.run("print") == "said"


def test_it_ends_when_it_has_had_nothing_to_do(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_process, "IDLE_SECONDS", 0.1)
    process = Path(f"/proc/{pool.run('pid')}")
    wait_until(lambda: not process.exists(), what="its end", seconds=20)
    assert pool.run("pid")


def test_a_person_does_not_have_all_turns() -> None:
    turns = FairQueue(at_once=2, a_person=3, waiting=10, seconds=20, what="images")
    done = threading.Event()
    order: list[str] = []

    def work(who: str) -> None:
        with turns.turn(who):
            order.append(who)
            done.wait(20)

    with ThreadPoolExecutor(5) as threads:
        futures = [threads.submit(work, "mallory") for _ in range(3)]
        wait_until(lambda: order == ["mallory"] and len(turns._queue) == 2, what="one at work, two that wait")
        with pytest.raises(TooMany, match="3 of your images are being read; at most 3"), turns.turn("mallory"):
            pass
        futures.append(threads.submit(work, "alice"))
        wait_until(lambda: order == ["mallory", "alice"], what="alice's turn")
        done.set()
        for future in futures:
            future.result()


def test_who_waits_too_long_or_behind_too_many_is_told_so() -> None:
    turns = FairQueue(at_once=1, a_person=5, waiting=1, seconds=0.05, what="images")
    with turns.turn("alice"):
        with pytest.raises(Busy) as busy, turns.turn("bob"):
            pass
        assert busy.value.status == 503 and busy.value.detail["retry_after"]
    with turns.turn("bob"):
        pass


@pytest.mark.parametrize("language", heavy.SLOW_CODE)
def test_code_takes_half_a_second_whatever_it_is(language: str) -> None:
    began = time.process_time()
    code = heavy.SLOW_CODE[language]
    html = html_of(f"```{language}\n{code}\n```")
    assert code.strip()[:20] in html or "<span" in html
    assert time.process_time() - began < 0.5  # of this process; the other one is ended by the kernel


@pytest.mark.long
def test_a_language_that_took_too_long_is_plain_for_a_while_and_others_are_not() -> None:
    slow = heavy.SLOW_CODE["easytrieve"]
    with pytest.raises(NotColoured) as refused:
        coloured(slow, "easytrieve")
    assert refused.value.is_final
    with pytest.raises(NotColoured) as refused:
        coloured("* a comment\n", "easytrieve")
    assert not refused.value.is_final
    assert "<span" in coloured("x = 1\n", "python")
    plain = render_markdown("```easytrieve\n* a comment of another\n```")
    highlighting.lost.forget()
    assert render_markdown("```easytrieve\n* a comment of another\n```") != plain, "it stays without colours for ever"


def test_the_rest_of_a_text_that_takes_too_long_is_plain() -> None:
    slow = heavy.SLOW_CODE["easytrieve"]
    began = time.monotonic()
    html = html_of(f"```easytrieve\n{slow}\n```\n\n```python\nx = 1\n```\n" * 10)
    assert "x = 1" in html and time.monotonic() - began < 10


@pytest.mark.long
def test_an_image_that_takes_too_long_is_refused_in_words() -> None:
    with pytest.raises(Invalid, match="could not be read within 4 seconds") as refused:
        images.read_image(heavy.scans())
    assert refused.value.detail["limit"] == 4
    assert images.read_image(picture()).width == 40


@pytest.mark.long
@pytest.mark.django_db
def test_a_large_file_that_unpacks_to_too_much_memory_is_refused_in_words(user: User) -> None:
    with pytest.raises(Invalid, match="could not be read within 800 MB of memory"):
        import_conversations(user, heavy.costly_json())
    assert not Conversation.objects.exists()


@pytest.mark.long
@pytest.mark.django_db
def test_a_large_export_comes_in(user: User) -> None:
    imported = import_conversations(user, heavy.large_export(3_000_000))
    assert len(imported.conversations) > 10 and set(imported.messages) == {40}
    assert Conversation.objects.count() == len(imported.conversations)


@pytest.mark.django_db
def test_a_fault_in_a_large_file_is_named_by_its_place(user: User) -> None:
    broken = heavy.large_export(3_000_000)[:-1] + b', {"title": 1, "messages": []}]'
    imported = import_conversations(user, broken)
    assert [one.reason for one in imported.unread] == ["title: must be text."]
    assert Conversation.objects.count() == len(imported.conversations) > 0
