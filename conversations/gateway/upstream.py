"""Forwards a call to its provider once, and yields the answer as it arrives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from django.conf import settings

from conversations.errors import Refused
from conversations.gateway.server_form import ServerForm, known_form, learn_form
from conversations.llm import errors
from conversations.llm.clients import OPENAI, client_for
from conversations.llm.errors import BrokenReply, ModelError
from conversations.llm.providers import builtin, chat_templates, corrections, fault_mapping, refused_images
from conversations.llm.providers.complaints import complaint_in, own_words
from conversations.llm.providers.dialects import dialect_of, learn_dialect
from conversations.llm.providers.fault_mapping import Endpoint, explain
from conversations.llm.providers.openai import Options
from conversations.llm.providers.provider import CONNECT_SECONDS, MAX_FORMS, whole_seconds
from conversations.llm.providers.registry import PROVIDERS
from conversations.llm.providers.stated_limits import limit_of
from conversations.llm.thinking import thoughts
from conversations.models import ModelProfile
from conversations.runtime import metrics

STATUS: dict[type[ModelError], tuple[int, str]] = {
    errors.NotConfigured: (503, "no_model"),
    errors.KeyRefused: (502, "provider_key_refused"),
    errors.NoCredit: (402, "provider_no_credit"),
    errors.ModelNotFound: (502, "provider_model_not_found"),
    errors.RequestRefused: (400, "provider_refused"),
    errors.ContextTooLong: (413, "context_too_large"),
    errors.RateLimited: (429, "provider_rate_limited"),
    errors.Unavailable: (502, "provider_unavailable"),
    errors.BrokenReply: (502, "provider_broken"),
}
"""The status that the caller gets for a provider's fault: a refused key is never the caller's own."""


class Target(NamedTuple):
    """The address and key of a profile's model over OpenAI's API; the key "" means none."""

    base_url: str
    api_key: str
    model: str


class Upstream(NamedTuple):
    """A provider that has accepted a request, with its response before the content."""

    response: Any
    who: Endpoint
    is_stream: bool
    left_out: Collection[str] = ()
    """The caller's options that the server refused, and got otherwise or not at all."""

    @contextmanager
    def faults_explained(self) -> Iterator[None]:
        """Faults of the response as ModelError."""
        try:
            yield
        except Exception as fault:
            error = explain(fault, self.who, begun=True)
            metrics.provider_failed(self.who.name, error.kind)
            raise error from None


def failed(error: ModelError, *, said: str = "") -> Refused:
    """A provider's fault as a refusal; `said` is the reason that the provider gave."""
    status, code = STATUS[type(error)]
    detail: dict[str, Any] = {"retry_after": round(error.retry_after)} if error.retry_after else {}
    if said:
        detail["provider"] = said
    refusal = Refused(f"{error.reason} It said: {said}" if said else error.reason, code=code, **detail)
    refusal.status = status
    return refusal


@asynccontextmanager
async def ask_upstream(
    profile: ModelProfile, body: dict[str, Any], *, asking: Callable[[], None]
) -> AsyncIterator[Upstream]:
    """The provider that has accepted the caller's `body`. Raises ModelError or Refused.

    `asking` is called just before the request. A stream is asked for its usage too, if the server accepts that.
    """
    async with target_of(profile) as target:
        who = Endpoint(profile.name, target.model, target.base_url, settings.MODEL_TIMEOUT_SECONDS, OPENAI)

        left_out: list[str] = []

        async def opened() -> Any:
            response, form = await _opened(profile, target, body, who)
            left_out.extend(form.changed(body))
            return response

        async with accepted(opened, who, body, key=target.api_key, asking=asking, left_out=left_out) as of:
            yield of


@asynccontextmanager
async def accepted(
    opened: Callable[[], Awaitable[Any]],
    who: Endpoint,
    body: dict[str, Any],
    *,
    key: str,
    asking: Callable[[], None],
    left_out: Collection[str] = (),
) -> AsyncIterator[Upstream]:
    """The provider whose response `opened` gives; it is closed at the end. Raises ModelError, or Refused (no `key`)."""
    asking()
    try:
        response = await opened()
    except Exception as fault:
        error = explain(fault, who, begun=False)
        if isinstance(error, errors.ContextTooLong):
            error.limit = await limit_of(fault, body)
        metrics.provider_failed(who.name, error.kind)
        raise _refusal(error, fault, key) from None
    kind = response.headers.get("content-type", "")
    of = Upstream(response, who, "event-stream" in kind or (bool(body.get("stream")) and "json" not in kind), left_out)
    try:
        with of.faults_explained():
            if "html" in kind:
                raise BrokenReply(f"{who.name}: {who.host} sent a web page. Check the base URL.")
        yield of
    finally:
        await response.aclose()


@asynccontextmanager
async def target_of(profile: ModelProfile) -> AsyncIterator[Target]:
    """The address and key of a profile's model; a built-in one runs meanwhile. Raises NotConfigured without a key."""
    if profile.provider == ModelProfile.Provider.BUILTIN:
        async with builtin.shared().address() as (url, key):
            yield Target(url, key, profile.model_id)
        return
    url = PROVIDERS[profile.provider].completions_url(profile.base_url)
    if not profile.api_key and url in (provider.completions_url("") for provider in PROVIDERS.values()):
        raise errors.NotConfigured(f"{profile.name}: the provider wants an API key, and this model has none.")
    yield Target(url, profile.api_key, profile.model_id)


async def _opened(profile: ModelProfile, target: Target, body: dict[str, Any], who: Endpoint) -> tuple[Any, ServerForm]:
    """(the response, the form that the server accepted). A server that refuses an option, the order of roles, the
    images or another form of the request is asked again in a form that it may accept.
    """
    client = await client_for(OPENAI, target.base_url, target.api_key)
    dialect = dialect_of(target.base_url, target.model, first=Options())
    adds = bool(body.get("stream")) and "stream_options" not in body and getattr(dialect, "reports_usage", False)
    sdk, http = import_module("openai"), import_module("httpx2")
    patience = who.timeout if body.get("stream") else whole_seconds(who.timeout)
    how: dict[str, Any] = {
        "cast_to": http.Response,
        "stream": True,
        "options": {"timeout": sdk.Timeout(patience, connect=min(CONNECT_SECONDS, who.timeout))},
    }
    sent, template, is_certain = _known_form(target, body), profile.chat_template, True
    form = certain_form = known_form(who)
    tried = 0
    while True:
        tried += 1
        own: dict[str, Any] = {"stream_options": {"include_usage": True}} if adds else {}
        own |= sent | {"messages": chat_templates.shaped(sent["messages"], template), "model": target.model}
        request = form.applied(body | own)
        try:
            response = await client.post("/chat/completions", body=request, **how)
        except sdk.APIStatusError as refusal:
            if tried == MAX_FORMS:
                raise
            complaint, status = complaint_in(refusal.body), refusal.status_code
            certain = await asyncio.to_thread(own_words, complaint, body)
            if adds and status in (400, 422) and "stream_options" in complaint:
                if "stream_options" in certain:
                    learn_dialect(target.base_url, target.model, Options(reports_usage=False))
                adds = False
            elif (
                refused_images.some_are_refused(status, complaint)
                and (fewer := await asyncio.to_thread(refused_images.without_oldest, sent["messages"]))
                is not sent["messages"]
            ):
                sent |= {"messages": fewer}
            elif instead := _accepted_instead(target, sent, complaint, certain, status=status):
                sent = instead
            elif stricter := chat_templates.corrected(template, complaint, sent["messages"], status=status):
                is_certain &= stricter == chat_templates.corrected(template, certain, sent["messages"], status=status)
                template = stricter
            elif other := await asyncio.to_thread(form.after, complaint, request, status=status):
                is_known = other == form.after(certain, request, status=status)
                form, certain_form = other, other if is_known and certain_form == form else certain_form
            else:
                raise
        else:
            if template != profile.chat_template and is_certain:
                await chat_templates.remember(profile, template)
            learn_form(who, certain_form)
            return response, form


def _known_form(target: Target, body: dict[str, Any]) -> dict[str, Any]:
    """The messages and tools of a request in the form that the server is known to want."""
    sent: dict[str, Any] = {name: body[name] for name in ("messages", "tools", "tool_choice") if name in body}
    if not thoughts.wants_them_back(target.base_url, target.model):
        sent = thoughts.without(sent)
    return corrections.corrected(sent, corrections.known(target.base_url, target.model))


def _accepted_instead(
    target: Target, sent: dict[str, Any], complaint: str, certain: str, *, status: int
) -> dict[str, Any] | None:
    """The messages and tools in the form that an error asks for, remembered if the server's `certain` words do.

    None if the error is about something else.
    """
    if correction := corrections.named_in(complaint, sent, status=status):
        if corrections.named_in(certain, sent, status=status) == correction:
            corrections.learn(target.base_url, target.model, frozenset({correction}))
        return corrections.corrected(sent, frozenset({correction}))
    if status in (400, 422) and thoughts.are_refused(complaint, sent):
        if thoughts.are_refused(certain, sent):
            thoughts.learn_unwanted(target.base_url, target.model)
        return thoughts.without(sent)
    return None


def _refusal(error: ModelError, fault: Exception, key: str) -> Exception:
    """The refusal, with the provider's reason if the caller can act on it, and never if it may quote our `key`."""
    if not isinstance(error, errors.RequestRefused):
        return error
    return failed(error, said=fault_mapping.words_of(getattr(fault, "body", None), secret=key)[:1_000])
