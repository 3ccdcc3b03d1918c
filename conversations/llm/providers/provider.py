"""The base of all models behind an HTTP API: attempts, time limits, and the reading of a stream."""

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

from compression.core.error_codes import ErrorCode
from conversations.llm import canary, tracing
from conversations.llm.clients import client_for, stream_class
from conversations.llm.errors import (
    BrokenReply,
    ContextTooLong,
    EmptyReply,
    ForbiddenToolCall,
    ModelError,
    NotConfigured,
    RequestRefused,
    Unavailable,
)
from conversations.llm.port import Delta, OnWritten, Reply
from conversations.llm.providers import corrections, refused_images, reply_lengths, unsupported_options
from conversations.llm.providers.chat_templates import ChatTemplate
from conversations.llm.providers.complaints import complaint_in, own_words
from conversations.llm.providers.dialects import Dialect, dialect_of, learn_dialect
from conversations.llm.providers.fault_mapping import Endpoint, explain
from conversations.llm.providers.images import with_bytes
from conversations.llm.providers.listed_models import listed_models
from conversations.llm.providers.stated_limits import limit_of
from conversations.llm.providers.stream_reader import StreamReader
from conversations.llm.providers.text_repair import Storable
from conversations.llm.request import Prompt, sendable
from conversations.llm.retries import ATTEMPTS, EXHAUSTED, Attempts, in_words, pause_before_next
from conversations.llm.thinking import thoughts
from conversations.llm.thinking.efforts import for_errands, learn_thinking, room_for, unasked_room
from conversations.runtime import metrics
from conversations.validation import host_of

CONNECT_SECONDS = 10.0
MAX_FORMS = 12
"""The most forms in which a request is sent, each after a refusal of the one before."""
PROBE_TOKENS = 32
"""The most tokens of an answer that only shows whether a model answers."""
MAX_REPLY_CHARS = 1_000_000
MAX_TIMEOUTS_PER_REPLY = 5
"""A whole reply may take this many time-outs, so that a server that sends slowly cannot keep it open forever …"""
MAX_EXTRA_SECONDS = 300.0
"""… and at most this long beyond the first of them; a late summary is replaced by an extractive one."""


def whole_seconds(timeout: float) -> float:
    """The time limit of a whole reply, for a model that may be silent for `timeout` seconds."""
    return timeout + min((MAX_TIMEOUTS_PER_REPLY - 1) * timeout, MAX_EXTRA_SECONDS)


@dataclass(frozen=True, slots=True)
class RequestForm:
    """The form of requests to a server for a model, as far as it is known.

    `dialect` has the options, `refused` those that the server does not accept; `template` is the chat template that the
    messages are shaped for; `most` are the tokens of the model's longest reply (None: unknown). `effort` is what was
    asked for, each with a dialect of its own. With `returns` thoughts go back. `corrections` are the names of those in
    `corrections.py` that the server requires.
    `images` are the most images of this request (None: all).
    `most_of_model` are the tokens of the longest reply that the server has named. `passes`: the form is for this
    request. `is_doubted`: the request's own words could have brought it about, so that nothing is learned from it.
    """

    dialect: Dialect
    refused: frozenset[str]
    template: str
    most: int | None
    effort: str = ""
    returns: bool = True
    corrections: frozenset[str] = frozenset()
    images: int | None = None
    passes: bool = False
    most_of_model: int | None = None
    is_doubted: bool = False


class Provider(ABC):
    """A model behind an HTTP API, an implementation of `port.Model`; each API has a subclass in a file of its own.

    `timeout` is the longest silence between two pieces of a reply, in seconds. A reply has at most `max_tokens`, with
    the thoughts before it at most `most`; None: no limit is known. Each call makes at most `attempts` requests, or as
    many as its budget has left, with short pauses (`sleep`); `stream` makes no further request once it has yielded a
    piece. A request repeated in another form after a refusal does not count, up to MAX_FORMS; `remember` is called with
    the accepted template, and `learn_limit` with the tokens that a refusal of too long a prompt names as the limit.
    `effort` is how hard the model is asked to think, "" says nothing. With a `mark`, a stream's
    request begins with it (`llm.canary`). Closing the iterator of `stream`, or cancelling the task that reads it,
    closes the connection, which stops the model.
    """

    api: ClassVar[str]
    """The name of the API: OPENAI or ANTHROPIC."""
    path: ClassVar[str]
    models_path: ClassVar[str]
    home: ClassVar[str]
    """The provider's own address: the default base URL, which requires a key."""
    key_setting: ClassVar[str]
    reading: ClassVar[type[StreamReader]]

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
        learn_limit: Callable[[int], Awaitable[None]] | None = None,
        mark: str = "",
        effort: str = "",
    ) -> None:
        self.name = name
        self._endpoint = Endpoint(name, model, base_url or self.home, timeout, self.api, secret=api_key)
        self._api_key = api_key
        self._max_tokens, self._most = max_tokens, most
        self._attempts = attempts
        self._sleep = sleep
        self._template = chat_template
        self._remember = remember
        self._learn_limit = learn_limit
        self._mark = mark
        self._effort = effort

    @abstractmethod
    def body(self, prompt: Prompt, *, recurs: bool) -> dict[str, Any]:
        """The messages and tools of a request; `recurs`: later requests will begin with the same messages."""

    @abstractmethod
    def first_dialect(self, effort: str = "") -> Dialect:
        """The dialect for a server about which nothing is known yet, for an effort."""

    @abstractmethod
    def is_home(self) -> bool:
        """Whether the server is the provider's own, not another one with its API."""

    @classmethod
    def completions_url(cls, base_url: str) -> str:
        """The base URL of OpenAI's chat completions at the server; "" is the provider's own."""
        return base_url or cls.home

    async def stream(self, prompt: Prompt, *, attempts: Attempts | None = None) -> AsyncGenerator[Delta]:
        prompt = canary.marked(sendable(prompt), self._mark) if self._mark else sendable(prompt)
        body = self.body(await with_bytes(prompt), recurs=True)
        budget = attempts or Attempts(self._attempts)
        attempt_told = 0
        for failed in count(1):
            begun, listener = False, canary.Listener(self._mark) if self._mark else None
            try:
                async with aclosing(self._ask(prompt, body, self._max_tokens, budget, self._effort)) as deltas:
                    async for delta in deltas:
                        if attempt_told and attempt_told != failed:
                            delta = replace(delta, forgets_thoughts=True)
                            attempt_told = failed
                        if delta.thought:
                            attempt_told = failed
                            yield delta
                            continue
                        if delta.refused and not begun:
                            words = f"{self.name}: the provider's content filter stopped the reply."
                            raise RequestRefused(words, code=ErrorCode.REFUSAL)
                        begun = True
                        yield listener.take(delta) if listener else delta
                return
            except ModelError as error:
                metrics.provider_failed(self.name, error.kind)
                if begun:
                    raise
                await self._pause(error, failed, budget)

    async def complete(
        self, prompt: Prompt, *, max_tokens: int, attempts: Attempts | None = None, on_written: OnWritten | None = None
    ) -> Reply:
        body = self.body(await with_bytes(sendable(prompt)), recurs=bool(prompt.recurring))
        budget = attempts or Attempts(self._attempts)
        limit = whole_seconds(self._endpoint.timeout)
        try:
            async with asyncio.timeout(limit):
                for failed in count(1):
                    try:
                        return await self._completed(prompt, body, max_tokens, budget, on_written)
                    except ModelError as error:
                        metrics.provider_failed(self.name, error.kind)
                        await self._pause(error, failed, budget)
        except TimeoutError:
            pass
        words = f"{self.name}: the reply was not whole after {in_words(limit)}."
        late = Unavailable(words, retryable=False, code=ErrorCode.SILENCE)
        metrics.provider_failed(self.name, late.kind)
        raise late

    async def _completed(
        self, prompt: Prompt, body: dict[str, Any], max_tokens: int, budget: Attempts, on_written: OnWritten | None
    ) -> Reply:
        """One attempt. A model that turns out to think, and had no room for it, is asked once more with room."""
        effort = for_errands(self._effort)
        room = self._unasked_room(effort, max_tokens)
        reply: Reply | None = None
        try:
            reply = await _whole(self._ask(prompt, body, max_tokens + room, budget, effort), on_written)
            is_cut, spent = reply.finish_reason == "length", reply.spent
        except EmptyReply as empty:
            learn_thinking(self._endpoint.base_url, self._endpoint.model)
            is_cut, spent = True, empty.spent
            if self._unasked_room(effort, max_tokens) <= room:
                raise
        needed = self._unasked_room(effort, max_tokens)
        if reply and not (is_cut and needed > room):
            return reply
        budget.add()  # happens once, as the model is known from now on
        again = await _whole(self._ask(prompt, body, max_tokens + needed, budget, effort), on_written)
        return replace(again, spent=again.spent + spent) if again.spent and spent else again

    def _unasked_room(self, effort: str, max_tokens: int) -> int:
        """The tokens added to a limit for thoughts; none for a probe, which only asks whether the model answers."""
        is_probe = max_tokens <= PROBE_TOKENS
        return 0 if room_for(effort) or is_probe else unasked_room(self._endpoint.base_url, self._endpoint.model)

    def passes_tools(self, prompt: Prompt) -> bool:
        """Whether the prompt's tools are sent with it: not if the server is known to refuse them."""
        body = {unsupported_options.TOOLS: ()} | ({} if prompt.may_call else {unsupported_options.CHOICE: ()})
        refused = unsupported_options.refused_options(self._endpoint.base_url, self._endpoint.model)
        return bool(prompt.tools) and unsupported_options.TOOLS in unsupported_options.without_refused(body, refused)

    async def offered(self) -> tuple[str, ...]:
        """The ids of the models that the server lists, sorted; empty if it does not list them for any reason."""
        endpoint = self._endpoint
        try:
            self._require_access()
            client = await client_for(endpoint.api, endpoint.base_url, self._api_key)
            async with asyncio.timeout(endpoint.timeout):
                listed = await client.get(self.models_path, cast_to=object)
            return tuple(sorted({id for id, _ in listed_models(listed)}))
        except Exception:
            return ()

    async def _pause(self, error: ModelError, failed: int, budget: Attempts) -> None:
        """Wait before the next attempt; raises `error` if there is none, even if a shared budget has requests left."""
        is_last = not budget.left or failed >= self._attempts or error.code in budget.returned
        seconds = None if is_last else pause_before_next(error, failed=failed)
        if seconds is None:
            raise error
        await self._sleep(seconds)

    def _ask(
        self, prompt: Prompt, body: dict[str, Any], max_tokens: int | None, budget: Attempts, effort: str
    ) -> AsyncGenerator[Delta]:
        deltas = self._deltas(prompt, body, max_tokens, budget, effort)
        if not tracing.is_on():
            return deltas
        endpoint = self._endpoint
        named = {"provider": endpoint.api, "model": endpoint.model, "host": endpoint.host}
        return tracing.traced(deltas, **named, most=max_tokens)

    async def _deltas(
        self, prompt: Prompt, body: dict[str, Any], max_tokens: int | None, budget: Attempts, effort: str
    ) -> AsyncGenerator[Delta]:
        """The deltas of one attempt: pieces of thoughts and of text, then the last delta."""
        reading, storable, readable = self.reading(self.name, prompt), Storable(), Storable()
        characters = thinking = 0
        try:
            async with await self._open(body, max_tokens, budget, effort) as stream:
                if "html" in stream.response.headers.get("content-type", ""):
                    raise BrokenReply(f"{self.name}: {self._endpoint.host} sent a web page. Check the base URL.")
                async for event in self._events(stream):
                    text = storable.take(reading.take(event))
                    if reading.thought and (thought := readable.take(reading.thought)):
                        thinking += len(thought)
                        yield Delta(thought=thought)
                    if text:
                        characters += len(text)
                        yield Delta(text)
                    if characters + thinking + reading.unseen + reading.calls.characters > MAX_REPLY_CHARS:
                        words = f"{self.name} does not end its reply."
                        raise BrokenReply(words, retryable=False, code=ErrorCode.CUT_OFF)
                if stream.is_done:
                    reading.finish()
            if not room_for(effort) and (thinking or (reading.spent and reading.spent.thought)):
                learn_thinking(self._endpoint.base_url, self._endpoint.model)
        except Exception as fault:
            # A fault after the finish reason does not matter: the reply is complete.
            # Raise from None: a provider's own error can quote the key or the conversation.
            if reading.finish_reason is None:
                begun = characters + reading.calls.characters > 0
                if not begun:
                    await self._learn_midway(fault, body)
                error = explain(fault, self._endpoint, begun=begun)
                if isinstance(error, ContextTooLong) and (limit := await limit_of(fault, body)) and self._learn_limit:
                    await self._learn_limit(limit)
                raise error from None
        if reading.finish_reason is not None and (rest := reading.rest()):
            yield replace(rest, text=storable.take(rest.text))
        last = self._last(reading)
        if last.calls:
            extras = {call.id: call.extra for call in last.calls if call.extra}
            parts = reading.returned | ({"calls": extras} if extras else {})
            last = replace(last, returned=thoughts.as_returned(parts, self._endpoint.model))
        yield last

    def _last(self, reading: StreamReader) -> Delta:
        try:
            return reading.end()
        except ForbiddenToolCall:
            # Ollama, for one, ignores tool_choice.
            unsupported_options.learn(
                self._endpoint.base_url, self._endpoint.model, frozenset({unsupported_options.CHOICE})
            )
            raise

    async def _events(self, stream: Any) -> AsyncGenerator[Any]:
        """The events of a stream. Events that only keep the connection alive do not reset the time-out."""
        events, silence = aiter(stream), 0.0
        while True:
            began = time.monotonic()
            async with asyncio.timeout(self._endpoint.timeout - silence):
                try:
                    event = await anext(events)
                except StopAsyncIteration:
                    return
            silence = 0.0 if self.reading.is_news(event) else silence + time.monotonic() - began
            yield event

    async def _open(self, body: dict[str, Any], max_tokens: int | None, budget: Attempts, effort: str) -> Any:
        """The stream of an accepted request; after a refusal of its form, the request is repeated in another form."""
        self._require_access()
        endpoint, way = self._endpoint, self._known_way(effort)
        client = await client_for(endpoint.api, endpoint.base_url, self._api_key)
        sdk: Any = import_module("openai")
        forms = 1
        while budget.take():
            sent = self._sent(body, max_tokens, way)
            try:
                # Plain JSON both ways: the library's types take 0.5 ms per message sent and 0.2 ms per token read.
                stream = await client.post(
                    self.path,
                    body={"model": endpoint.model, "stream": True} | sent,
                    cast_to=object,
                    options={"timeout": sdk.Timeout(endpoint.timeout, connect=min(CONNECT_SECONDS, endpoint.timeout))},
                    stream=True,
                    stream_cls=stream_class(),
                )
            except sdk.APIStatusError as fault:
                complaint, status = complaint_in(fault.body), fault.status_code
                other = self._other_way(way, complaint, body, sent, status=status)
                if other is None or forms == MAX_FORMS:
                    raise
                certain = await asyncio.to_thread(own_words, complaint, sent)
                if other != self._other_way(way, certain, body, sent, status=status):
                    other = replace(other, is_doubted=True)
                forms += 1
                budget.add()  # a refused form costs nothing, and the budget is for requests that are answered
                way = other
            else:
                await self._learn_way(way)
                return stream
        raise Unavailable(f"{self.name} {EXHAUSTED}.", retryable=False, code=ErrorCode.ATTEMPTS_USED_UP)

    def _known_way(self, effort: str) -> RequestForm:
        base_url, model = self._endpoint.base_url, self._endpoint.model
        return RequestForm(
            dialect=dialect_of(base_url, _at(model, effort), first=self.first_dialect(effort)),
            refused=unsupported_options.refused_options(base_url, model),
            template=self._template,
            most=reply_lengths.smallest(self._most, reply_lengths.learned(base_url, model)),
            effort=effort,
            returns=thoughts.wants_them_back(base_url, model),
            corrections=corrections.known(base_url, model),
        )

    def _sent(self, body: dict[str, Any], max_tokens: int | None, way: RequestForm) -> dict[str, Any]:
        """The messages and options of a request in the form of `way`."""
        limit = max_tokens and reply_lengths.smallest(max_tokens, way.most)
        if not way.returns:
            body = thoughts.without(body)
        if way.images is not None:
            body = body | {"messages": refused_images.newest(body["messages"], way.images)}
        body = corrections.corrected(body, way.corrections)
        return unsupported_options.without_refused(self.shaped(body, way.template), way.refused) | way.dialect.options(
            limit, way.most
        )

    def _other_way(
        self, way: RequestForm, complaint: str, body: dict[str, Any], sent: dict[str, Any], *, status: int
    ) -> RequestForm | None:
        """The form to try after a refusal; None if the refusal suggests none."""
        images = refused_images.images_in(sent["messages"])
        if images and refused_images.some_are_refused(status, complaint):
            return replace(way, images=images // 2)
        if correction := corrections.named_in(complaint, sent, status=status):
            return replace(way, corrections=way.corrections | {correction})
        if template := self._stricter(way.template, complaint, body, status=status):
            return replace(way, template=template)
        is_bad = status in (400, 422)
        if is_bad and way.effort and not way.passes and thoughts.are_missing(complaint):
            return replace(way, dialect=self.first_dialect(), passes=True)
        if is_bad and way.returns and thoughts.are_refused(complaint, sent):
            return replace(way, returns=False)
        if is_bad and (fewer := reply_lengths.limit_named_in(complaint, asked=_reply_limit(sent))):
            return replace(way, most=fewer.tokens, most_of_model=fewer.tokens if fewer.is_of_model else None)
        if is_bad and (dialect := way.dialect.corrected(complaint)):
            return replace(way, dialect=dialect)
        refused = unsupported_options.options_refused_in(complaint, sent, status=status)
        return replace(way, refused=way.refused | refused) if refused else None

    async def _learn_way(self, way: RequestForm) -> None:
        """Remember the form that the server accepted."""
        if way.is_doubted:
            return
        if way.most_of_model:
            reply_lengths.learn(self._endpoint.base_url, self._endpoint.model, way.most_of_model)
        if not way.passes:
            learn_dialect(self._endpoint.base_url, _at(self._endpoint.model, way.effort), way.dialect)
        if not way.returns:
            thoughts.learn_unwanted(self._endpoint.base_url, self._endpoint.model)
        corrections.learn(self._endpoint.base_url, self._endpoint.model, way.corrections)
        unsupported_options.learn(self._endpoint.base_url, self._endpoint.model, way.refused)
        await self._learn(way.template)

    def shaped(self, body: dict[str, Any], template: str) -> dict[str, Any]:
        """The body with its messages adapted to the model's chat template; unchanged unless a subclass adapts them."""
        return body

    def _stricter(self, template: str, complaint: str, body: dict[str, Any], *, status: int) -> str | None:
        return None

    async def _learn_midway(self, fault: Exception, body: dict[str, Any]) -> None:
        """Learn from an error event in a stream, by which some servers refuse the roles of an accepted request."""
        complaint = getattr(fault, "body", None)
        if complaint and not hasattr(fault, "status_code"):
            certain = await asyncio.to_thread(own_words, str(complaint), body)
            stricter = self._stricter(self._template, certain, body, status=400)
            await self._learn(stricter or self._template)

    async def _learn(self, template: str) -> None:
        if template != self._template:
            self._template = template
            if self._remember:
                await self._remember(template)

    def _require_access(self) -> None:
        if not host_of(self._endpoint.base_url):
            raise NotConfigured(f"The base URL of {self.name} is not an address. It begins with http:// or https://.")
        if not self._api_key and self.is_home():
            words = f"{self.name} has no API key. Set {self.key_setting}, or the key of this model."
            raise NotConfigured(words, code=ErrorCode.NO_KEY)
        if not re.fullmatch(r"[!-~]*", self._api_key):
            raise NotConfigured(f"The API key of {self.name} has blanks or letters that no key has. Copy it again.")


def _at(model: str, effort: str) -> str:
    """The name under which a model's dialect for an effort is known."""
    return f"{model} at effort {effort}" if effort else model


def _reply_limit(body: dict[str, Any]) -> int | None:
    """The reply's limit in tokens that a request names; None if it names none."""
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
