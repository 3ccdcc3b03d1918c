"""HTTP clients of providers, kept open between turns, and what was learned about the providers' dialects."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from conversations.llm.known import is_local

if TYPE_CHECKING:
    from openai import AsyncOpenAI

IDLE_SECONDS = 120.0
"""How long an idle connection stays open: a person needs a while to answer."""

Identity = tuple[str, str]
_pools: dict[asyncio.AbstractEventLoop, dict[Identity, AsyncOpenAI]] = {}
_keepers: dict[asyncio.AbstractEventLoop, AsyncGenerator[None]] = {}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a server wants to be asked, where OpenAI-compatible servers differ."""

    reports_usage: bool = True
    limit: str = "max_tokens"

    def options(self, max_tokens: int | None) -> dict[str, Any]:
        usage = {"stream_options": {"include_usage": True}} if self.reports_usage else {}
        return usage | ({self.limit: max_tokens} if max_tokens else {})

    def corrected(self, complaint: str) -> Dialect | None:
        """The dialect to try after a complaint about an option, None where it is about something else."""
        if self.reports_usage and "stream_options" in complaint:
            return replace(self, reports_usage=False)
        if "max_tokens" in complaint or "max_completion_tokens" in complaint:
            other = "max_completion_tokens" if self.limit == "max_tokens" else "max_tokens"
            return replace(self, limit=other)
        return None


_dialects: dict[tuple[str, str], Dialect] = {}


def dialect_of(base_url: str, model: str) -> Dialect:
    return _dialects.get((base_url, model), Dialect())


def learn(base_url: str, model: str, dialect: Dialect) -> None:
    """Remember, for this process, a dialect that worked."""
    _dialects[base_url, model] = dialect


async def client_for(base_url: str, api_key: str) -> AsyncOpenAI:
    """The client for a provider and key on the running loop; closed when the loop shuts down."""
    loop = asyncio.get_running_loop()
    if loop not in _pools:
        await _adopt(loop)
    identity = base_url, hashlib.sha256(api_key.encode()).hexdigest()
    if identity not in _pools[loop]:
        # Off the loop: the first import takes half a second, TLS certificates 20 ms.
        client = await asyncio.to_thread(_new_client, base_url, api_key)
        _pools[loop].setdefault(identity, client)
    return _pools[loop][identity]


async def _adopt(loop: asyncio.AbstractEventLoop) -> None:
    for old in [known for known in _pools if known.is_closed()]:
        del _pools[old], _keepers[old]
    _pools[loop] = {}
    _keepers[loop] = _keep(loop)
    await anext(_keepers[loop])


async def _keep(loop: asyncio.AbstractEventLoop) -> AsyncGenerator[None]:
    """A loop that ends closes its generators: the only word it gives before it is too late to close connections."""
    try:
        yield
    finally:
        _keepers.pop(loop, None)
        for client in _pools.pop(loop, {}).values():
            await client.close()


def _new_client(base_url: str, api_key: str) -> AsyncOpenAI:
    openai, httpx = import_module("openai"), import_module("httpx2")
    http = openai.DefaultAsyncHttpxClient(
        limits=httpx.Limits(max_connections=1_000, max_keepalive_connections=100, keepalive_expiry=IDLE_SECONDS),
        # A proxy of the environment leads out of the machine, not to a model that runs on it.
        trust_env=not is_local(base_url),
        verify=_certificates(),
    )
    client: AsyncOpenAI = openai.AsyncOpenAI(
        api_key=api_key or "none", base_url=base_url, max_retries=0, http_client=http
    )
    _ = client.chat.completions  # imported only now, and not on the loop either
    return client


@cache
def _certificates() -> Any:
    """Read once a process, for all clients."""
    return import_module("httpx2").create_ssl_context()
