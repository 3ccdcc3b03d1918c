"""What all models behind an HTTP API have in common: the attempts, the limits in time, and how a stream is read."""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from importlib import import_module
from itertools import count
from typing import Any, ClassVar

from conversations import metrics
from conversations.llm import refusals
from conversations.llm.attempts import ATTEMPTS, EXHAUSTED, Attempts, in_words, pause_before_next
from conversations.llm.base import (
    BrokenReply,
    CalledAnyway,
    Delta,
    ModelError,
    NotConfigured,
    OnWritten,
    Reply,
    RequestRefused,
    Unavailable,
)
from conversations.llm.clients import Library, client_for
from conversations.llm.dialects import Dialect, dialect_of, learn
from conversations.llm.faults import Asked, explain
from conversations.llm.images import with_bytes
from conversations.llm.known import host_of
from conversations.llm.reading import Reading
from conversations.llm.storable import Storable
from conversations.prompt import Prompt, sendable

CONNECT_SECONDS = 10.0
LONGEST_REPLY = 1_000_000
"""Characters."""
WHOLE_REPLY = 5
"""How many time-outs a whole reply may take: the one between pieces never ends a server that drips."""


class Provider(ABC):
    """A model behind an address; see `base.Model`. One file a provider says what its API wants and how it answers.

    `timeout` is in seconds, between two pieces of a reply. Each call makes at most `attempts` requests, or what is
    left of the budget that it is given, with short pauses (`sleep`); `stream` makes no further one once a piece has
    been given out. Closing the iterator of `stream`, or cancelling the task that reads it, closes the connection,
    which stops the model.
    """

    library: ClassVar[Library]
    path: ClassVar[str]
    models_path: ClassVar[str]
    home: ClassVar[str]
    """The provider's own address: asked where none is given, and never without a key."""
    key_setting: ClassVar[str]
    reading: ClassVar[type[Reading]]

    def __init__(
        self,
        *,
        name: str,
        model: str,
        base_url: str = "",
        api_key: str = "",
        max_tokens: int | None = None,
        timeout: float = 60.0,
        attempts: int = ATTEMPTS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = name
        self._asked = Asked(name, model, base_url or self.home, timeout, self.library)
        self._api_key = api_key
        self._max_tokens = max_tokens
        self._attempts = attempts
        self._sleep = sleep

    @abstractmethod
    def body(self, prompt: Prompt, *, recurs: bool) -> dict[str, Any]:
        """The messages of a request; `recurs` says that later ones will begin alike."""

    @abstractmethod
    def first_dialect(self) -> Dialect:
        """How to ask a server of which nothing is known yet."""

    @abstractmethod
    def is_home(self) -> bool:
        """Whether the provider itself is asked, rather than another server with its API."""

    async def stream(self, prompt: Prompt, *, attempts: Attempts | None = None) -> AsyncGenerator[Delta]:
        body = self.body(await with_bytes(sendable(prompt)), recurs=True)
        budget = attempts or Attempts(self._attempts)
        for failed in count(1):
            begun = False
            try:
                async with aclosing(self._ask(prompt, body, self._max_tokens, budget)) as deltas:
                    async for delta in deltas:
                        if delta.refused and not begun:
                            raise RequestRefused(f"{self.name}: the provider's content filter stopped the reply.")
                        begun = True
                        yield delta
                return
            except ModelError as error:
                metrics.provider_failed(self.name, error)
                if begun:
                    raise
                await self._pause(error, failed, budget)

    async def complete(
        self, prompt: Prompt, *, max_tokens: int, attempts: Attempts | None = None, on_written: OnWritten | None = None
    ) -> Reply:
        body = self.body(await with_bytes(sendable(prompt)), recurs=False)
        budget = attempts or Attempts(self._attempts)
        limit = self._asked.timeout * WHOLE_REPLY
        try:
            async with asyncio.timeout(limit):
                for failed in count(1):
                    try:
                        return await _whole(self._ask(prompt, body, max_tokens, budget), on_written)
                    except ModelError as error:
                        metrics.provider_failed(self.name, error)
                        await self._pause(error, failed, budget)
        except TimeoutError:
            pass
        late = Unavailable(f"{self.name}: the reply was not whole after {in_words(limit)}.", retryable=False)
        metrics.provider_failed(self.name, late)
        raise late

    def tells_of_tools(self, prompt: Prompt) -> bool:
        """Whether the tools that a prompt offers go with it, as far as is known of the server."""
        body = {refusals.TOOLS: ()} | ({} if prompt.may_call else {refusals.CHOICE: ()})
        refused = refusals.known(self._asked.base_url, self._asked.model)
        return bool(prompt.tools) and refusals.TOOLS in refusals.less(body, refused)

    async def offered(self) -> tuple[str, ...]:
        """The ids of the models that the server says it has, in order; none where, for any reason, it does not say."""
        asked = self._asked
        try:
            self._require_access()
            client = await client_for(asked.library, asked.base_url, self._api_key)
            async with asyncio.timeout(asked.timeout):
                listed = await client.get(self.models_path, cast_to=object)
            return tuple(sorted(str(row["id"]) for row in listed["data"]))
        except Exception:
            return ()

    async def _pause(self, error: ModelError, failed: int, budget: Attempts) -> None:
        """Wait for the next attempt; raises `error` where there is none, however much a shared budget has left."""
        seconds = pause_before_next(error, failed=failed) if budget.left and failed < self._attempts else None
        if seconds is None:
            raise error
        await self._sleep(seconds)

    async def _ask(
        self, prompt: Prompt, body: dict[str, Any], max_tokens: int | None, budget: Attempts
    ) -> AsyncGenerator[Delta]:
        """One attempt: pieces with text, then the last delta."""
        reading, storable = self.reading(self.name, prompt), Storable()
        characters = 0
        try:
            async with await self._open(body, max_tokens, budget) as stream:
                if "html" in stream.response.headers.get("content-type", ""):
                    raise BrokenReply(f"{self.name}: {self._asked.host} sent a web page. Check the base URL.")
                async for event in self._events(stream):
                    if text := storable.take(reading.take(event)):
                        characters += len(text)
                        yield Delta(text)
                    if characters + reading.calls.characters > LONGEST_REPLY:
                        raise BrokenReply(f"{self.name} does not end its reply.", retryable=False)
        except Exception as fault:
            # From None: a provider's own error can quote the key or the conversation.
            # A fault after the reason to finish has cost nothing of the reply.
            if reading.finish_reason is None:
                begun = characters + reading.calls.characters > 0
                raise explain(fault, self._asked, begun=begun) from None
        yield self._last(reading)

    def _last(self, reading: Reading) -> Delta:
        try:
            return reading.end()
        except CalledAnyway:
            # As Ollama does, which does not heed tool_choice.
            refusals.learn(self._asked.base_url, self._asked.model, frozenset({refusals.CHOICE}))
            raise

    async def _events(self, stream: Any) -> AsyncGenerator[Any]:
        """The events of a stream. A comment that keeps the connection alive is none, and does not stay the time-out."""
        events = aiter(stream)
        while True:
            async with asyncio.timeout(self._asked.timeout):
                try:
                    event = await anext(events)
                except StopAsyncIteration:
                    return
            yield event

    async def _open(self, body: dict[str, Any], max_tokens: int | None, budget: Attempts) -> Any:
        """The stream of a request that was accepted; a server that refuses an option is asked without it."""
        self._require_access()
        asked = self._asked
        client = await client_for(asked.library, asked.base_url, self._api_key)
        sdk: Any = import_module(asked.library)
        dialect = dialect_of(asked.base_url, asked.model, first=self.first_dialect())
        refused = refusals.known(asked.base_url, asked.model)
        while budget.take():
            told = refusals.less(body, refused)
            try:
                # Plain JSON both ways: the library's own types cost 0.5 ms a message sent and 0.2 ms a token read.
                stream = await client.post(
                    self.path,
                    body={"model": asked.model, "stream": True} | told | dialect.options(max_tokens),
                    cast_to=object,
                    options={"timeout": sdk.Timeout(asked.timeout, connect=min(CONNECT_SECONDS, asked.timeout))},
                    stream=True,
                    stream_cls=sdk.AsyncStream[object],
                )
            except sdk.APIStatusError as fault:
                complaint = str(fault.body)
                other = dialect.corrected(complaint) if fault.status_code in (400, 422) else None
                found = frozenset() if other else refusals.named(complaint, told, status=fault.status_code)
                if not (other or found) or not budget.left:
                    raise
                dialect, refused = other or dialect, refused | found
            else:
                learn(asked.base_url, asked.model, dialect)
                refusals.learn(asked.base_url, asked.model, refused)
                return stream
        raise Unavailable(f"{self.name} {EXHAUSTED}.", retryable=False)

    def _require_access(self) -> None:
        if not host_of(self._asked.base_url):
            raise NotConfigured(f"The base URL of {self.name} is not an address. It begins with http:// or https://.")
        if not self._api_key and self.is_home():
            raise NotConfigured(f"{self.name} has no API key. Set {self.key_setting}, or the key of this model.")
        if not re.fullmatch(r"[!-~]*", self._api_key):
            raise NotConfigured(f"The API key of {self.name} has blanks or letters that no key has. Copy it again.")


async def _whole(deltas: AsyncGenerator[Delta], on_written: OnWritten | None) -> Reply:
    pieces: list[Delta] = []
    written = 0
    async with aclosing(deltas):
        async for delta in deltas:
            pieces.append(delta)
            written += len(delta.text)
            if on_written:
                on_written(written)
    last = pieces[-1]
    text = "".join(piece.text for piece in pieces)
    return Reply(text, last.finish_reason or "", last.spent, last.refused)
