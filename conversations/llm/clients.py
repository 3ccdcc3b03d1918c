"""HTTP clients of providers, kept open between turns."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from functools import cache
from importlib import import_module
from typing import Any, Literal

from conversations.llm.known_models import is_local

IDLE_SECONDS = 120.0
"""How long an idle connection stays open: a person needs a while to answer."""

Library = Literal["openai", "anthropic"]
CLIENTS: dict[Library, str] = {"openai": "AsyncOpenAI", "anthropic": "AsyncAnthropic"}

Identity = tuple[Library, str, str]
_pools: dict[asyncio.AbstractEventLoop, dict[Identity, Any]] = {}
_keepers: dict[asyncio.AbstractEventLoop, AsyncGenerator[None]] = {}


async def client_for(library: Library, base_url: str, api_key: str) -> Any:
    """A library's client for an address and a key, on the running loop; closed when the loop shuts down."""
    loop = asyncio.get_running_loop()
    if loop not in _pools:
        await _adopt(loop)
    identity = library, base_url, hashlib.sha256(api_key.encode()).hexdigest()
    if identity not in _pools[loop]:
        # Off the loop: the first import takes half a second and more, TLS certificates 20 ms.
        client = await asyncio.to_thread(_new_client, library, base_url, api_key)
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


def _new_client(library: Library, base_url: str, api_key: str) -> Any:
    sdk, httpx = import_module(library), import_module("httpx2")
    http = sdk.DefaultAsyncHttpxClient(
        limits=httpx.Limits(max_connections=1_000, max_keepalive_connections=100, keepalive_expiry=IDLE_SECONDS),
        # A proxy of the environment leads out of the machine, not to a model that runs on it.
        trust_env=not is_local(base_url),
        verify=certificates(),
    )
    # Neither the retries nor the key of the library's own choosing.
    return getattr(sdk, CLIENTS[library])(api_key=api_key or "none", base_url=base_url, max_retries=0, http_client=http)


@cache
def certificates() -> Any:
    """Read once a process, for all clients."""
    return import_module("httpx2").create_ssl_context()
