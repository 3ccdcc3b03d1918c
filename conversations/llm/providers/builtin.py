"""The built-in model: SmolLM2-135M, run by llama.cpp in the server's own process.

llama.cpp's server listens on a loopback port of this process and requires a key that only this process knows. The
OpenAI-compatible provider asks it like any other server.
"""

from __future__ import annotations

import asyncio
import gc
import os
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Timer
from typing import Any

from django.conf import settings

from compression.core.error_codes import ErrorCode
from conversations.llm.errors import NotConfigured
from conversations.llm.port import Delta, OnWritten, Reply
from conversations.llm.providers.fair_lock import FairLock
from conversations.llm.providers.openai import OpenAICompatible
from conversations.llm.request import Prompt, sendable
from conversations.llm.retries import Attempts

NAME = "SmolLM2 135M (demo)"
MODEL_ID = "smollm2-135m-instruct"
WINDOW = 8_192
MAX_REPLY_TOKENS = 512
THREADS = max(1, min(2, (os.cpu_count() or 1) - 1))
"""The engine's threads; one core stays free for the server. llama.cpp's threads wait for each other at every step: if
one of two shares its core with the server, a reply takes ten times as long."""
IDLE_SECONDS = 300.0
READ_SECONDS = 300.0
"""The time-out of a reply: with a full window, a slow machine needs minutes to its first word."""
TEMPERATURE = 0.2
"""The temperature that SmolLM2's authors advise: lower ones make it repeat itself, higher ones ramble."""
REPEAT_PENALTY = 1.15
"""The penalty for repeated words; a model of this size would loop without it."""


def is_available() -> bool:
    """Whether the model's file and its engine are on this machine."""
    return Path(settings.BUILTIN_MODEL_PATH).is_file() and find_spec("xllamacpp") is not None


def shared() -> Builtin:
    """The process's only instance of the model: a second one would compete for the same cores."""
    return _shared(Path(settings.BUILTIN_MODEL_PATH))


class Builtin:
    """The built-in model, an implementation of `port.Model`.

    It is loaded by its first request (half a second), answers one request at a time in order of arrival, and is freed
    after `idle_seconds` without requests. A reply has at most MAX_REPLY_TOKENS.
    """

    name = NAME

    def __init__(self, path: Path, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._gate = FairLock()
        self._engine = _Engine(path, idle_seconds)

    @property
    def is_loaded(self) -> bool:
        return self._engine.is_loaded

    async def stream(self, prompt: Prompt, *, attempts: Attempts | None = None) -> AsyncGenerator[Delta]:
        sendable(prompt)
        async with self._served() as model, aclosing(model.stream(prompt, attempts=attempts)) as deltas:
            async for delta in deltas:
                yield delta

    async def complete(
        self, prompt: Prompt, *, max_tokens: int, attempts: Attempts | None = None, on_written: OnWritten | None = None
    ) -> Reply:
        sendable(prompt)
        async with self._served() as model:
            most = min(max_tokens, MAX_REPLY_TOKENS)
            return await model.complete(prompt, max_tokens=most, attempts=attempts, on_written=on_written)

    @asynccontextmanager
    async def address(self) -> AsyncIterator[tuple[str, str]]:
        """The base URL and key of the model's OpenAI-compatible server, held by one caller at a time."""
        async with self._gate:
            self._engine.enter()
            try:
                address = await asyncio.to_thread(self._engine.start)
                yield f"{address}/v1", self._engine.key
            finally:
                self._engine.leave()

    @asynccontextmanager
    async def _served(self) -> AsyncIterator[OpenAICompatible]:
        async with self.address() as (url, key):
            yield OpenAICompatible(
                name=NAME,
                model=MODEL_ID,
                base_url=url,
                api_key=key,
                max_tokens=MAX_REPLY_TOKENS,
                timeout=READ_SECONDS,
                attempts=1,
            )


@cache
def _shared(path: Path) -> Builtin:
    return Builtin(path)


class _Engine:
    """Loads the model on its first use and frees it some idle time after its last. Safe to use from any thread."""

    def __init__(self, path: Path, idle_seconds: float) -> None:
        self.key = secrets.token_urlsafe()
        self._path = path
        self._idle_seconds = idle_seconds
        self._loading = Lock()
        self._counting = Lock()
        self._users = 0
        self._timer: Timer | None = None
        self._server: Any = None
        self._port = 0

    @property
    def is_loaded(self) -> bool:
        return self._server is not None

    def enter(self) -> None:
        """Keep the model loaded until `leave`."""
        with self._counting:
            self._users += 1
            if self._timer:
                self._timer.cancel()

    def leave(self) -> None:
        """Allow the model to be freed after the idle time, once all users have left."""
        with self._counting:
            self._users -= 1
            if not self._users:
                self._timer = Timer(self._idle_seconds, self._free)
                self._timer.daemon = True
                self._timer.start()

    def start(self) -> str:
        """The server's address; loads the model if necessary, which blocks for half a second. Raises NotConfigured."""
        with self._loading:
            if self._server is None:
                self._server = self._load()
            address: str = self._server.listening_address
        # Keep the port for the next load: HTTP clients are cached by address.
        self._port = int(address.rpartition(":")[2])
        return address

    def _load(self) -> Any:
        try:
            xllamacpp = import_module("xllamacpp")
            try:
                return xllamacpp.Server(self._parameters(xllamacpp.CommonParams()))
            except RuntimeError:
                self._port = 0  # another program may use the old port now
                return xllamacpp.Server(self._parameters(xllamacpp.CommonParams()))
        except (ImportError, RuntimeError):
            raise NotConfigured(
                f"{NAME} could not be loaded. Run `python manage.py fetch_model`, or set a model with OPENAI_API_KEY.",
                code=ErrorCode.NO_MODEL,
            ) from None

    def _parameters(self, parameters: Any) -> Any:
        parameters.model.path = str(self._path)
        parameters.n_ctx, parameters.n_parallel = WINDOW, 1
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = THREADS
        parameters.sampling.temp, parameters.sampling.penalty_repeat = TEMPERATURE, REPEAT_PENALTY
        parameters.hostnames, parameters.port, parameters.api_keys = ["127.0.0.1"], self._port, [self.key]
        parameters.ui = parameters.endpoint_slots = False
        parameters.cors_origins = ""
        parameters.offline = True
        parameters.cache_ram_mib = 0  # the default keeps up to 8 GB of earlier prompts
        parameters.verbosity = -1
        # The constructor holds the interpreter's lock, so skip its optional steps.
        parameters.warmup = parameters.fit_params = False
        return parameters

    def _free(self) -> None:
        with self._loading, self._counting:
            if self._users:
                return
            self._server = None
        gc.collect()
