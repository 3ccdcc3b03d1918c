"""A program that calls the gateway with a history that grows."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import httpx2
import openai

from tests.faults.serving import Served
from tests.llm_server import LlmServer

Messages = list[dict[str, Any]]
MARK = "[Compressed Message Summary]"
ANSWER = {"role": "assistant", "content": "All right."}
_topics = itertools.count(1)


@dataclass
class Caller:
    served: Served
    topic: int = field(default_factory=lambda: next(_topics))
    key: str = ""

    @cached_property
    def client(self) -> openai.OpenAI:
        """The official client: nothing is set but its base URL and its key."""
        return openai.OpenAI(base_url=self.url, api_key=self.key or self.served.key, max_retries=0)

    @property
    def url(self) -> str:
        return f"{self.served.site.url}/v1"

    def history(self, count: int, *, words: int = 10, part: str = "") -> Messages:
        """A system prompt and `count` messages of a topic of its own, the last a person's; `part` makes them others."""
        said = [
            {
                "role": "assistant" if (count - number) % 2 == 0 else "user",
                "content": f"Topic {self.topic}{part}, message {number}: port {5000 + number}. "
                + f"word{number} " * words,
            }
            for number in range(count)
        ]
        return [{"role": "system", "content": "Answer shortly."}, *said]

    def ask(self, messages: Messages, **more: Any) -> Any:
        """The raw response, with its headers; `.parse()` gives the completion."""
        create = self.client.chat.completions.with_raw_response.create
        return create(**{"model": "scripted", "messages": messages} | more)

    def leave(self, messages: Messages, *, once: Callable[[LlmServer], bool]) -> None:
        """A call whose connection is dropped once the model's server has come so far, however long that takes."""

        async def left() -> None:
            key = self.key or self.served.key
            async with openai.AsyncOpenAI(base_url=self.url, api_key=key, max_retries=0) as client:
                asked: dict[str, Any] = {"model": "scripted", "messages": messages}
                call = asyncio.create_task(client.chat.completions.create(**asked))
                await asyncio.to_thread(self.served.llm.wait_for, once)
                assert not call.done(), "it was answered before it left"
                call.cancel()

        asyncio.run(left())

    def post(self, body: bytes | str, *, path: str = "/chat/completions", **headers: str) -> httpx2.Response:
        """A body as it stands."""
        given = {"Authorization": f"Bearer {self.key or self.served.key}", "Content-Type": "application/json"}
        return httpx2.post(self.url + path, content=body, headers=given | headers, timeout=30)

    @property
    def sent(self) -> Messages:
        """What the model was sent last."""
        return list(self.served.llm.chats[-1].body["messages"])

    @property
    def summaries(self) -> int:
        return len(self.served.llm.summaries)

    def call(self, *, count: int = 1, **columns: Any) -> dict[str, Any]:
        """The last recorded call with these values, once there are `count`: it is recorded after its answer.

        Name a value that only this test's call has where an earlier test's row may still arrive.
        """
        rows: list[dict[str, Any]] = []
        until = time.monotonic() + 5
        while len(rows) < count and time.monotonic() < until:
            every = self.rows("SELECT * FROM conversations_gatewaycall ORDER BY id")
            rows = [row for row in every if columns.items() <= row.items()]
            time.sleep(0.02)
        assert len(rows) >= count, "the call was not recorded"
        return rows[-1]

    def run(self, code: str) -> str:
        """In a process with the site's environment."""
        return self.served.shell.run(code)

    def key_of(self, name: str) -> str:
        """Of another person, who is made for it."""
        make = f"from conversations.models import User; User.objects.create_user('{name}')"
        return self.run(
            f"{make}\nfrom conversations.models import ApiKey\n"
            f"print(ApiKey.make(User.objects.get(username='{name}'), 'tests')[1])"
        ).split()[-1]

    def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """Rows of the site's database."""
        with closing(sqlite3.connect(self.served.site.data / "chatsite.sqlite3", timeout=10)) as database:
            database.row_factory = sqlite3.Row
            found = [dict(row) for row in database.execute(query, values)]
            database.commit()
            return found


def checkpoint(response: Any) -> str:
    return str(response.headers["x-chatsite-checkpoint"])


def tokens(response: Any) -> tuple[int, int]:
    """Before and after."""
    return tuple(int(response.headers[f"x-chatsite-tokens-{when}"]) for when in ("before", "after"))  # type: ignore[return-value]
