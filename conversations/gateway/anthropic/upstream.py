"""Asks a provider that speaks Anthropic's Messages itself, with the caller's own request."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from importlib import import_module
from itertools import takewhile
from typing import Any

from django.conf import settings

from conversations.gateway.anthropic.blocks import part_of
from conversations.gateway.anthropic.compacted import as_blocks, joined
from conversations.gateway.protocol import Events, Json
from conversations.gateway.provider_stream import Tally, data_of, require_no_error
from conversations.gateway.sealed_thoughts import is_seal
from conversations.gateway.server_form import ServerForm, known_form, learn_form, with_fitting_edits
from conversations.gateway.upstream import Target, Upstream, accepted, target_of
from conversations.llm.clients import ANTHROPIC, client_for
from conversations.llm.providers import corrections, refused_images
from conversations.llm.providers.choices import as_object
from conversations.llm.providers.complaints import complaint_in, own_words
from conversations.llm.providers.corrections import Correction
from conversations.llm.providers.fault_mapping import Endpoint
from conversations.llm.providers.provider import CONNECT_SECONDS, MAX_FORMS, whole_seconds
from conversations.llm.providers.reported_usage import CACHE_PARTS, later_usage, plausible, spent_on_message
from conversations.llm.thinking.thoughts import BLOCKS, are_refused
from conversations.models import ModelProfile

BETAS = "anthropic-beta"
PASSED = ("anthropic-version", BETAS)
"""Headers that go on to the provider."""
_BETA_REFUSED = re.compile(
    r"invalid beta|anthropic-beta|\bbeta\b.{0,40}not (?:yet )?(?:available|supported)", re.IGNORECASE
)
_KIND_UNKNOWN = r"(?:input tag|variant|\btype)\W{{1,4}}{kind}\b|\b{kind} is not a valid enum"
"""The words of a server that does not know a kind of blocks."""
_THOUGHTS_UNKNOWN = re.compile(_KIND_UNKNOWN.format(kind="(?:redacted_)?thinking"), re.IGNORECASE)
_DOCUMENTS_REFUSED = re.compile(
    _KIND_UNKNOWN.format(kind="document")
    + r"|\b(?:pdf|documents?)\b.{0,40}(?:not support|unsupported|not (?:allowed|enabled))"
    r"|(?:not support|unsupported).{0,40}\b(?:pdf|documents?)\b",
    re.IGNORECASE | re.DOTALL,
)
_SYSTEM_ROLE_REFUSED = re.compile(
    r"unexpected role.{0,4}system|\brole\b.{0,40}['\"`]user['\"`],? (?:or|and) ['\"`]assistant", re.IGNORECASE
)
_without_betas: set[tuple[str, str]] = set()
"""(base URL, model) of the servers that have refused a header of BETAS since this process began."""


def speaks(profile: ModelProfile) -> bool:
    """Whether the model's provider reads Anthropic's Messages."""
    return profile.provider == ModelProfile.Provider.ANTHROPIC


@asynccontextmanager
async def ask_messages(
    profile: ModelProfile, body: Json, headers: Mapping[str, str], *, asking: Callable[[], None]
) -> AsyncIterator[Upstream]:
    """The provider that has accepted the caller's own `body`. Raises ModelError or Refused."""
    async with target_of(profile) as target:
        who = Endpoint(profile.name, target.model, target.base_url, settings.MODEL_TIMEOUT_SECONDS, ANTHROPIC)

        left_out: list[str] = []

        async def opened() -> Any:
            response, form = await _opened(target, body, headers, who)
            left_out.extend(form.changed(body))
            return response

        async with accepted(opened, who, body, key=target.api_key, asking=asking, left_out=left_out) as of:
            yield of


async def _opened(target: Target, body: Json, headers: Mapping[str, str], who: Endpoint) -> tuple[Any, ServerForm]:
    """(the response, the form that the server accepted)."""
    client = await client_for(ANTHROPIC, target.base_url.removesuffix("/v1"), target.api_key)
    sdk, http = import_module("openai"), import_module("httpx2")
    patience = who.timeout if body.get("stream") else whole_seconds(who.timeout)
    passed = {name: headers[name] for name in PASSED if name in headers}
    if (target.base_url, target.model) in _without_betas:
        passed.pop(BETAS, None)
    options = {"timeout": sdk.Timeout(patience, connect=min(CONNECT_SECONDS, who.timeout)), "headers": passed}
    known = corrections.known(target.base_url, target.model)
    own = corrections.corrected(_with_own_thoughts(body), known, among=_CORRECTIONS) | {"model": target.model}
    form = certain_form = known_form(who)
    tried = 0
    while True:
        tried += 1
        request = form.applied(own)
        try:
            response = await client.post(
                "/v1/messages", body=request, cast_to=http.Response, stream=True, options=options
            )
        except sdk.APIStatusError as refusal:
            if tried == MAX_FORMS:
                raise
            status, complaint = refusal.status_code, complaint_in(refusal.body)
            if BETAS in passed and status == 400 and _BETA_REFUSED.search(complaint):
                del passed[BETAS]
                if _BETA_REFUSED.search(await asyncio.to_thread(own_words, complaint, body)):
                    _without_betas.add((target.base_url, target.model))
            elif instead := await asyncio.to_thread(_accepted_instead, own, status, complaint):
                own = instead
            elif correction := corrections.named_in(complaint, own, status=status, among=_CORRECTIONS):
                certain = await asyncio.to_thread(own_words, complaint, body)
                if corrections.named_in(certain, own, status=status, among=_CORRECTIONS) == correction:
                    corrections.learn(target.base_url, target.model, frozenset({correction}))
                own = corrections.corrected(own, frozenset({correction}), among=_CORRECTIONS)
            elif other := await asyncio.to_thread(form.after, complaint, request, status=status):
                certain = await asyncio.to_thread(own_words, complaint, body)
                is_known = certain_form == form and other == form.after(certain, request, status=status)
                form, certain_form = other, other if is_known else certain_form
            else:
                raise
        else:
            learn_form(who, certain_form)
            return response, form


def _accepted_instead(body: Json, status: int, complaint: str) -> Json | None:
    """The body without refused parts, which are thoughts signed by another model or provider, or some images.

    None if the refusal is about something else.
    """
    if refused_images.some_are_refused(status, complaint) and isinstance(messages := body.get("messages"), list):
        fewer = refused_images.without_oldest(messages)
        return body | {"messages": fewer} if fewer is not messages else None
    is_about_signature = status == 400 and not _THOUGHTS_UNKNOWN.search(complaint)
    if is_about_signature and are_refused(complaint, body) and (bare := _without_thoughts(body)) != body:
        return bare
    return None


def _with_document_texts(body: Mapping[str, Any]) -> Json:
    """The body with the text of each document, for a provider that reads no files."""
    return {**body, "messages": [_with_texts(message) for message in body["messages"]]}


def _with_texts(message: Json) -> Json:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return message | {"content": [_as_text(part) if isinstance(part, dict) else part for part in content]}


def _as_text(part: Json) -> Json:
    return part_of("", part) if part.get("type") == "document" else _with_texts(part)


def _without_system_role(body: Mapping[str, Any]) -> Json:
    """The body with its first system messages among the instructions, and later ones as messages of the user."""
    messages = body["messages"]
    if not any(message["role"] == "system" for message in messages):
        return dict(body)
    first = list(takewhile(lambda message: message["role"] == "system", messages))
    rest = joined(
        {"role": "user" if one["role"] == "system" else one["role"], "content": as_blocks(one["content"])}
        for one in messages[len(first) :]
    )
    contents = [body.get("system") or [], *(one["content"] for one in first)]
    system = [block for content in contents for block in as_blocks(content)]
    return {**body, "messages": rest} | ({"system": system} if system else {})


def _with_own_thoughts(body: Json) -> Json:
    """The body without thoughts that no Claude signed: a reply of another model has our seal, or no signature."""
    return _filtered(body, lambda block: block.get("type") == "thinking" and _is_foreign(block.get("signature")))


def _is_foreign(signature: object) -> bool:
    return not signature or is_seal(signature)


def _without_thoughts(body: Json) -> Json:
    """The body without any thoughts, and without the wish for new ones, which would require the old ones."""
    kept = {name: value for name, value in body.items() if name != "thinking"}
    return _without_thought_blocks(with_fitting_edits(kept, given=body))


def _without_thought_blocks(body: Mapping[str, Any]) -> Json:
    return _filtered(dict(body), lambda block: block.get("type") in BLOCKS)


def _filtered(body: Json, is_dropped: Callable[[Json], bool]) -> Json:
    """The body without the dropped blocks of its assistant's messages; the same object if there are none."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        return body
    kept = [_kept(message, is_dropped) for message in messages]
    if all(a is b for a, b in zip(messages, kept, strict=True)):
        return body
    return body | {"messages": [message for message in kept if message.get("content") != []]}


def _kept(message: Any, is_dropped: Callable[[Json], bool]) -> Any:
    content = message.get("content") if isinstance(message, dict) and message.get("role") == "assistant" else None
    if not isinstance(content, list):
        return message
    blocks = [block for block in content if not (isinstance(block, dict) and is_dropped(block))]
    return message if len(blocks) == len(content) else message | {"content": blocks}


_CORRECTIONS = (
    Correction("no thoughts", _THOUGHTS_UNKNOWN.search, _without_thought_blocks),
    Correction("document texts", _DOCUMENTS_REFUSED.search, _with_document_texts),
    Correction("no system role", _SYSTEM_ROLE_REFUSED.search, _without_system_role),
    *corrections.CORRECTIONS,
)


def take_event(event: list[str], tally: Tally, who: Endpoint) -> bool:
    """Note what an event of a streamed message says of its end and its usage. Raises ModelError for an error."""
    try:
        said = json.loads(data_of(event) or "{}")
    except ValueError:
        return True
    if not isinstance(said, dict):
        return True
    require_no_error(said, who)
    if usage := said.get("usage") or as_object(said.get("message")).get("usage"):
        tally.usage = later_usage(tally.usage, usage)
        tally.spent = spent_on_message({"usage": tally.usage}) or tally.spent
    tally.is_done = said.get("type") == "message_stop"
    return True


def with_tokens(message: str, tokens: int) -> str:
    """A message, or an event of it, with `tokens` as its input: clients that compact by the usage count their own
    history.

    The figure of cached tokens stays the provider's.
    """
    try:
        said = json.loads(message)
    except ValueError:
        return message
    for held in (said, said.get("message")) if isinstance(said, dict) else ():
        usage = held.get("usage") if isinstance(held, dict) else None
        if isinstance(usage, dict) and usage.get("input_tokens") is not None:
            cached = sum(plausible(usage.get(name)) or 0 for name in CACHE_PARTS)
            usage["input_tokens"] = max(0, tokens - cached)
    return json.dumps(said, ensure_ascii=False)


async def events_with_tokens(events: Events, tokens: int) -> Events:
    """The events of a stream, with `tokens` as the input of the message."""
    async with aclosing(events):
        async for event in events:
            lines = [
                f"data: {with_tokens(line.removeprefix('data:'), tokens)}"
                if line.startswith("data:") and '"usage"' in line
                else line
                for line in event.split("\n")
            ]
            yield "\n".join(lines)
