"""What all models behind an HTTP API have in common: the attempts, the limits in time, and how a stream is read."""

from __future__ import annotations

import asyncio
import re
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import count
from typing import Any, ClassVar

from conversations import metrics
from conversations.llm import lengths, refusals
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
from conversations.llm.chat_templates import ChatTemplate
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
WRITING = 5
"""A reply that is waited for as a whole may take this many time-outs, which else never end a server that drips …"""
WRITING_SECONDS = 300.0
"""… and at most so long beyond the first of them: a summary that is not there by then is selected from the text."""


def whole_seconds(timeout: float) -> float:
    """How long a whole reply is waited for, from a model that may be silent for `timeout` seconds."""
    return timeout + min((WRITING - 1) * timeout, WRITING_SECONDS)


@dataclass(frozen=True, slots=True)
class Way:
    """How a server is asked for a model, as far as is known of it.

    `dialect` names its options, `refused` lists those that it does not take, `template` is the chat template that the
    messages are shaped for, and `most` the tokens that its longest reply has (None: not known).
    """

    dialect: Dialect
    refused: frozenset[str]
    template: str
    most: int | None


class Provider(ABC):
    """A model behind an address; see `base.Model`. One file a provider says what its API wants and how it answers.

    `timeout` is in seconds, between two pieces of a reply. A reply has at most `max_tokens`, and `most` with what the
    model thinks before it; None: nobody says. Each call makes at most `attempts` requests, or what is
    left of the budget that it is given, with short pauses (`sleep`); `stream` makes no further one once a piece has
    been given out. A request that is put otherwise for the model's chat template is one more beside those; `remember`
    is called with the template that was accepted. Closing the iterator of `stream`, or cancelling the task that reads
    it, closes the connection, which stops the model.
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
        most: int | None = None,
        timeout: float = 60.0,
        attempts: int = ATTEMPTS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chat_template: str = ChatTemplate.FREE,
        remember: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        self.name = name
        self._asked = Asked(name, model, base_url or self.home, timeout, self.library)
        self._api_key = api_key
        self._max_tokens, self._most = max_tokens, most
        self._attempts = attempts
        self._sleep = sleep
        self._template = chat_template
        self._remember = remember

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
        limit = whole_seconds(self._asked.timeout)
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
                if not begun:
                    await self._learn_midway(fault, body)
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
        """The events of a stream. What only keeps the connection alive, as comments do, does not stay the time-out."""
        events, silence = aiter(stream), 0.0
        while True:
            began = time.monotonic()
            async with asyncio.timeout(self._asked.timeout - silence):
                try:
                    event = await anext(events)
                except StopAsyncIteration:
                    return
            silence = 0.0 if self.reading.is_news(event) else silence + time.monotonic() - began
            yield event

    async def _open(self, body: dict[str, Any], max_tokens: int | None, budget: Attempts) -> Any:
        """The stream of a request that was accepted; a server that refuses a way of asking is asked in another one."""
        self._require_access()
        asked, way = self._asked, self._known_way()
        client = await client_for(asked.library, asked.base_url, self._api_key)
        sdk: Any = import_module(asked.library)
        while budget.take():
            sent = self._sent(body, max_tokens, way)
            try:
                # Plain JSON both ways: the library's own types cost 0.5 ms a message sent and 0.2 ms a token read.
                stream = await client.post(
                    self.path,
                    body={"model": asked.model, "stream": True} | sent,
                    cast_to=object,
                    options={"timeout": sdk.Timeout(asked.timeout, connect=min(CONNECT_SECONDS, asked.timeout))},
                    stream=True,
                    stream_cls=sdk.AsyncStream[object],
                )
            except sdk.APIStatusError as fault:
                other = self._other_way(way, str(fault.body), body, sent, status=fault.status_code)
                if other is None:
                    raise
                if other.template != way.template:
                    budget.most += 1  # twice at most, in the life of a model
                elif not budget.left:
                    raise
                way = other
            else:
                await self._learn_way(way)
                return stream
        raise Unavailable(f"{self.name} {EXHAUSTED}.", retryable=False)

    def _known_way(self) -> Way:
        base_url, model = self._asked.base_url, self._asked.model
        return Way(
            dialect=dialect_of(base_url, model, first=self.first_dialect()),
            refused=refusals.known(base_url, model),
            template=self._template,
            most=lengths.least(self._most, lengths.learned(base_url, model)),
        )

    def _sent(self, body: dict[str, Any], max_tokens: int | None, way: Way) -> dict[str, Any]:
        """The messages and options of a request, as `way` puts them."""
        limit = max_tokens and lengths.least(max_tokens, way.most)
        return refusals.less(self.shaped(body, way.template), way.refused) | way.dialect.options(limit, way.most)

    def _other_way(
        self, way: Way, complaint: str, body: dict[str, Any], sent: dict[str, Any], *, status: int
    ) -> Way | None:
        """What a refusal says to do otherwise; None for one that nothing is learned from."""
        if template := self._stricter(way.template, complaint, body, status=status):
            return replace(way, template=template)
        is_bad = status in (400, 422)
        if is_bad and (fewer := lengths.named(complaint, asked=_asked_for(sent))):
            if fewer.is_of_model:
                lengths.learn(self._asked.base_url, self._asked.model, fewer.tokens)
            return replace(way, most=fewer.tokens)
        if is_bad and (dialect := way.dialect.corrected(complaint)):
            return replace(way, dialect=dialect)
        refused = refusals.named(complaint, sent, status=status)
        return replace(way, refused=way.refused | refused) if refused else None

    async def _learn_way(self, way: Way) -> None:
        """The server has accepted this way: it is asked so from now on."""
        learn(self._asked.base_url, self._asked.model, way.dialect)
        refusals.learn(self._asked.base_url, self._asked.model, way.refused)
        await self._learn(way.template)

    def shaped(self, body: dict[str, Any], template: str) -> dict[str, Any]:
        """The body with its messages as the model's chat template takes them; an API with a shape of its own has it."""
        return body

    def _stricter(self, template: str, complaint: str, body: dict[str, Any], *, status: int) -> str | None:
        return None

    async def _learn_midway(self, fault: Exception, body: dict[str, Any]) -> None:
        """Some servers accept a request, and refuse its roles by an event in the stream: the next attempt is right."""
        complaint = getattr(fault, "body", None)
        if complaint and not hasattr(fault, "status_code"):
            stricter = self._stricter(self._template, str(complaint), body, status=400)
            await self._learn(stricter or self._template)

    async def _learn(self, template: str) -> None:
        if template != self._template:
            self._template = template
            if self._remember:
                await self._remember(template)

    def _require_access(self) -> None:
        if not host_of(self._asked.base_url):
            raise NotConfigured(f"The base URL of {self.name} is not an address. It begins with http:// or https://.")
        if not self._api_key and self.is_home():
            raise NotConfigured(f"{self.name} has no API key. Set {self.key_setting}, or the key of this model.")
        if not re.fullmatch(r"[!-~]*", self._api_key):
            raise NotConfigured(f"The API key of {self.name} has blanks or letters that no key has. Copy it again.")


def _asked_for(body: dict[str, Any]) -> int | None:
    """The tokens that a request allows its reply."""
    return body.get("max_tokens") or body.get("max_completion_tokens")


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
