"""Any server that speaks OpenAI's chat completions: OpenAI, vLLM, Ollama, llama.cpp, LM Studio, LiteLLM …"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from itertools import count
from typing import Any

from conversations.llm.attempts import ATTEMPTS, in_words, pause_before_next
from conversations.llm.base import BrokenReply, Delta, ModelError, NotConfigured, Reply, RequestRefused, Unavailable
from conversations.llm.clients import client_for, dialect_of, learn
from conversations.llm.faults import Asked, explain
from conversations.llm.known import OPENAI_URL, host_of, is_openai
from conversations.llm.reading import Reading
from conversations.prompt import Prompt, sendable

CONNECT_SECONDS = 10.0
WHOLE_REPLY = 5
"""How many time-outs a whole reply may take: the one between pieces never ends a server that drips."""


class OpenAICompatible:
    """A model behind an OpenAI-compatible address; see `base.Model`.

    `timeout` is in seconds, between two pieces of a reply. Both verbs make at most `attempts` requests, with short
    pauses (`sleep`); `stream` makes no further one once a piece has been given out. Closing the iterator of `stream`,
    or cancelling the task that reads it, closes the connection, which stops the model.
    """

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
        self._asked = Asked(name, model, base_url or OPENAI_URL, timeout)
        self._api_key = api_key
        self._max_tokens = max_tokens
        self._attempts = attempts
        self._sleep = sleep

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta]:
        messages = list(sendable(prompt).messages)
        for attempt in count(1):
            begun = False
            try:
                async with aclosing(self._ask(messages, self._max_tokens)) as deltas:
                    async for delta in deltas:
                        if delta.refused and not begun:
                            raise RequestRefused(f"{self.name}: the provider's content filter stopped the reply.")
                        begun = True
                        yield delta
                return
            except ModelError as error:
                if begun:
                    raise
                await self._pause(error, attempt)

    async def complete(self, prompt: Prompt, *, max_tokens: int) -> Reply:
        messages = list(sendable(prompt).messages)
        limit = self._asked.timeout * WHOLE_REPLY
        try:
            async with asyncio.timeout(limit):
                for attempt in count(1):
                    try:
                        return await _whole(self._ask(messages, max_tokens))
                    except ModelError as error:
                        await self._pause(error, attempt)
        except TimeoutError:
            pass
        raise Unavailable(f"{self.name}: the reply was not whole after {in_words(limit)}.", retryable=False)

    async def _pause(self, error: ModelError, attempt: int) -> None:
        """Wait for the next attempt; raises `error` where there is none."""
        seconds = pause_before_next(error, attempt=attempt, attempts=self._attempts)
        if seconds is None:
            raise error
        await self._sleep(seconds)

    async def _ask(self, messages: list[Any], max_tokens: int | None) -> AsyncGenerator[Delta]:
        """One attempt: pieces with text, then the last delta."""
        reading = Reading(self.name)
        begun = False
        try:
            async with await self._open(messages, max_tokens) as stream:
                if "html" in stream.response.headers.get("content-type", ""):
                    raise BrokenReply(f"{self.name}: {self._asked.host} sent a web page. Check the base URL.")
                async for chunk in stream:
                    if text := reading.take(chunk):
                        begun = True
                        yield Delta(text)
        except Exception as fault:
            # From None: a provider's own error can quote the key or the conversation.
            # A fault after the reason to finish has cost nothing of the reply.
            if reading.finish_reason is None:
                raise explain(fault, self._asked, begun=begun) from None
        yield reading.end()

    def _require_address(self) -> None:
        if not host_of(self._asked.base_url):
            raise NotConfigured(f"The base URL of {self.name} is not an address. It begins with http:// or https://.")
        if not self._api_key and is_openai(self._asked.base_url):
            raise NotConfigured(f"{self.name} has no API key. Set OPENAI_API_KEY, or the key of this model.")
        if not re.fullmatch(r"[!-~]*", self._api_key):
            raise NotConfigured(f"The API key of {self.name} has blanks or letters that no key has. Copy it again.")

    async def _open(self, messages: list[Any], max_tokens: int | None) -> Any:
        """The stream of a request that was accepted; a server that refuses an option is asked without it."""
        self._require_address()
        client = await client_for(self._asked.base_url, self._api_key)
        import openai

        known = dialect = dialect_of(self._asked.base_url, self._asked.model)
        timeout = self._asked.timeout
        tried = set()
        while True:
            tried.add(dialect)
            try:
                # Plain JSON both ways: the library's own types cost 0.5 ms a message sent and 0.2 ms a token read.
                stream = await client.post(
                    "/chat/completions",
                    body={"model": self._asked.model, "messages": messages, "stream": True}
                    | dialect.options(max_tokens),
                    cast_to=object,
                    options={"timeout": openai.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout))},
                    stream=True,
                    stream_cls=openai.AsyncStream[object],
                )
            except (openai.BadRequestError, openai.UnprocessableEntityError) as refusal:
                other = dialect.corrected(str(refusal.body))
                if other is None or other in tried:
                    raise
                dialect = other
            else:
                if dialect != known:
                    learn(self._asked.base_url, self._asked.model, dialect)
                return stream


async def _whole(deltas: AsyncGenerator[Delta]) -> Reply:
    async with aclosing(deltas):
        pieces = [delta async for delta in deltas]
    last = pieces[-1]
    text = "".join(piece.text for piece in pieces)
    return Reply(text, last.finish_reason or "", last.spent, last.refused)
