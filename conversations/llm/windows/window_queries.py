"""Asks a model's own server for the model's context window: only at the profile's address, with the profile's key."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from importlib import import_module
from typing import Any

from conversations.llm.clients import client_for, parted
from conversations.llm.known_models import is_anthropic, is_local, is_openai
from conversations.llm.providers.registry import PROVIDERS
from conversations.llm.windows import window_answers
from conversations.llm.windows.window_answers import QUERIES, Query, Window
from conversations.models import ModelProfile
from conversations.validation import host_of

QUERY_SECONDS = 3.0
"""The time for all answers together; a server that is slower is not waited for."""
MAX_ANSWER_BYTES = 4_000_000
"""The longest answer that is read: Ollama's includes the vocabulary's license and template."""


def is_own_server(profile: ModelProfile) -> bool:
    """Whether a profile's model is on another server than its provider's own, so that its window can be asked for."""
    url = profile.base_url
    return profile.provider != ModelProfile.Provider.BUILTIN and bool(
        host_of(url) and not is_openai(url) and not is_anthropic(url)
    )


async def ask_window(profile: ModelProfile) -> Window | None:
    """The window that the profile's server names; None if the server names none."""
    if not is_own_server(profile) or not profile.api_key.isprintable():
        return None
    try:
        client = await client_for(PROVIDERS[profile.provider].api, profile.base_url, profile.api_key)
    except Exception:  # of the libraries: an address or a key that they do not take
        return None
    asking = [asyncio.ensure_future(_window(client, profile, query)) for query in QUERIES]
    done, late = await asyncio.wait(asking, timeout=QUERY_SECONDS)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
    found = [task.result() if task in done else None for task in asking]
    if is_local(profile.base_url):
        found = [replace(one, in_effect=one.in_effect and not one.of_host) if one else None for one in found]
    return window_answers.best(found)


async def _window(client: Any, profile: ModelProfile, query: Query) -> Window | None:
    try:
        return query.read(await _answer(client, profile, query), profile.model_id)
    except Exception:  # of HTTP, of JSON, of a connection: no answer
        return None


async def _answer(client: Any, profile: ModelProfile, query: Query) -> Any:
    """The JSON of an answer. Redirects are not followed: only the address that was configured is asked."""
    base = parted(profile.base_url)[0].rstrip("/")
    url = f"{base if query.below_api else base.removesuffix('/v1')}{query.path}"
    how: dict[str, Any] = {
        "cast_to": import_module("httpx2").Response,
        "stream": True,
        "options": {"follow_redirects": False, "timeout": QUERY_SECONDS, "max_retries": 0},
    }
    body = {"model": profile.model_id}
    response = await (client.post(url, body=body, **how) if query.names_model else client.get(url, **how))
    try:
        content = b""
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > MAX_ANSWER_BYTES:
                return None
        return json.loads(content)
    finally:
        await response.aclose()
