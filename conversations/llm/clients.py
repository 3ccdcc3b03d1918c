"""Keeps the HTTP clients of providers, with their connections, open between turns."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator
from functools import cache
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from conversations.llm.known_models import is_azure, is_local, is_openai

OPENAI, ANTHROPIC = "openai", "anthropic"
"""The APIs: OpenAI's chat completions, Anthropic's messages."""
ANTHROPIC_VERSION = "2023-06-01"
ACCOUNT_HEADERS = ("openai-organization", "openai-project")
IDLE_SECONDS = 120.0
"""An idle connection stays open this long, as a person takes a while to reply."""

Identity = tuple[str, str, str]
"""An API, a base URL, and the digest of a key."""
_pools: dict[asyncio.AbstractEventLoop, dict[Identity, Any]] = {}
_keepers: dict[asyncio.AbstractEventLoop, AsyncGenerator[None]] = {}


async def client_for(api: str, base_url: str, api_key: str) -> Any:
    """The running loop's client of an API for an address and a key; it is closed when the loop shuts down.

    OpenAI's library sends the requests of both APIs: Anthropic's own takes 40 MB and a second of CPU to import.
    """
    loop = asyncio.get_running_loop()
    if loop not in _pools:
        await _adopt(loop)
    identity = api, base_url, hashlib.sha256(api_key.encode()).hexdigest()
    if identity not in _pools[loop]:
        # Do it in a thread: the first import takes half a second or more, reading TLS certificates 20 ms.
        client = await asyncio.to_thread(_new_client, api, base_url, api_key)
        _pools[loop].setdefault(identity, client)
    return _pools[loop][identity]


async def _adopt(loop: asyncio.AbstractEventLoop) -> None:
    for old in [known for known in _pools if known.is_closed()]:
        del _pools[old], _keepers[old]
    _pools[loop] = {}
    _keepers[loop] = _keep(loop)
    await anext(_keepers[loop])


async def _keep(loop: asyncio.AbstractEventLoop) -> AsyncGenerator[None]:
    """Close the loop's clients at its end: a loop closes its generators while connections can still be closed."""
    try:
        yield
    finally:
        _keepers.pop(loop, None)
        for client in _pools.pop(loop, {}).values():
            await client.close()


def _new_client(api: str, base_url: str, api_key: str) -> Any:
    sdk, httpx = import_module("openai"), import_module("httpx2")
    bounded_answers = import_module("conversations.llm.bounded_answers")
    http = sdk.DefaultAsyncHttpxClient(
        limits=httpx.Limits(max_connections=1_000, max_keepalive_connections=100, keepalive_expiry=IDLE_SECONDS),
        # The environment's proxy leads to the Internet, not to a model on this machine.
        trust_env=not is_local(base_url),
        verify=certificates(),
        headers={"accept-encoding": bounded_answers.PACKED},
        event_hooks={"request": [_KEY_HOOKS[api]], "response": [bounded_answers.watch]},
    )
    address, query = parted(base_url)
    # Disable the library's own retries and its key from the environment.
    return sdk.AsyncClient(
        api_key=api_key or "none", base_url=address, default_query=query, max_retries=0, http_client=http
    )


def parted(base_url: str) -> tuple[str, dict[str, str]]:
    """The address without its query, and the query, which belongs to each request: Azure's `api-version`."""
    parts = urlsplit(base_url)
    return parts._replace(query="", fragment="").geturl(), dict(parse_qsl(parts.query, keep_blank_values=True))


async def _with_key_for_azure(request: Any) -> None:
    """Move the key to the header where Azure reads it, whose bearers are tokens of Entra: JSON Web Tokens.

    Source: the section on authentication of https://learn.microsoft.com/azure/ai-foundry/openai/reference.
    """
    _forget_account(request)
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    if bearer and not bearer.startswith("eyJ") and is_azure(str(request.url)):
        request.headers["api-key"] = bearer
        del request.headers["authorization"]


async def _with_key_for_anthropic(request: Any) -> None:
    """Move the key to the header where Anthropic's API reads it, and name the version of the API.

    Source: https://platform.claude.com/docs/en/api/overview
    """
    _forget_account(request)
    request.headers["x-api-key"] = request.headers.pop("authorization", "").removeprefix("Bearer ")
    request.headers.setdefault("anthropic-version", ANTHROPIC_VERSION)


def _forget_account(request: Any) -> None:
    """Keep OPENAI_ORG_ID and OPENAI_PROJECT_ID, which the library sends with every request, from other providers."""
    if not is_openai(str(request.url)):
        for name in ACCOUNT_HEADERS:
            request.headers.pop(name, None)


_KEY_HOOKS = {OPENAI: _with_key_for_azure, ANTHROPIC: _with_key_for_anthropic}


@cache
def stream_class() -> Any:
    """The library's stream class, with `is_done`: whether the server has sent [DONE], the end of the stream.

    The library reads that event and reports nothing; for some servers it is the only sign that a reply is complete.
    A server that answers with one object instead of a stream yields it as one event. Events without JSON are left out.
    """
    usual: Any = import_module("openai").AsyncStream[object]
    bounded_answers = import_module("conversations.llm.bounded_answers")

    class Stream(usual):
        is_done = False

        async def _iter_events(self) -> AsyncGenerator[Any]:
            self.response.stream = bounded_answers.ObjectAsEvent(self.response.stream)
            async for event in super()._iter_events():
                for data in separate_data(event.data):
                    self.is_done = self.is_done or data.startswith("[DONE]")
                    if data.lstrip().startswith(("{", "[")):
                        yield event if data == event.data else type(event)(data=data)

    return Stream


def separate_data(data: str) -> list[str]:
    """The data of each event in an event's data: some servers send no blank line between events."""
    lines = data.split("\n")
    if len(lines) == 1 or not is_complete(lines[0]):
        return [data]
    return lines


def is_complete(data: str) -> bool:
    """Whether the data of an event is complete: a JSON object, or the mark of the stream's end."""
    if data == "[DONE]":
        return True
    try:
        return isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return False


@cache
def certificates() -> Any:
    """The TLS context of all clients; its certificates are read once per process."""
    return import_module("httpx2").create_ssl_context()
