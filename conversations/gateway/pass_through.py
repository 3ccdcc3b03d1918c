"""Passes calls without a history to a provider unchanged: embeddings, reranking, moderation and audio.

Off until GATEWAY_PASS_THROUGH names models: these calls cost money, and the site does not count it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from importlib import import_module
from typing import Any, NamedTuple, cast

from django.conf import settings
from django.core.exceptions import BadRequest, RequestDataTooBig
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from conversations.errors import MEDIA_TYPE, Invalid, NotFound, UnsupportedMediaType
from conversations.gateway.call_log import Call
from conversations.gateway.request import model_of, named_by
from conversations.gateway.upstream import accepted, target_of
from conversations.llm.clients import OPENAI, client_for
from conversations.llm.providers.fault_mapping import Endpoint
from conversations.llm.providers.provider import CONNECT_SECONDS
from conversations.models import ModelProfile
from conversations.validation import clean_text, json_text, parse_json

ADDRESSES = frozenset(
    ["embeddings", "rerank", "moderations", "audio/speech", "audio/transcriptions", "audio/translations"]
)
"""The addresses below /v1/ that are passed on."""
JSON, FORM = "application/json", "multipart/form-data"


class ForwardedCall(NamedTuple):
    """A call to pass on: its address below /v1/, the profile whose provider answers, and its body.

    `body` is what the openai client's `post` takes: bytes of JSON as they came, or the fields and files of a form.
    """

    address: str
    profile: ModelProfile
    body: dict[str, Any]
    headers: dict[str, str]


def read(request: HttpRequest, address: str, person_id: int) -> ForwardedCall:
    """The call in a person's request. Raises Invalid, NotFound or UnsupportedMediaType."""
    body: dict[str, Any]
    if request.content_type == JSON:
        text = json_text(request)
        given: Any = parse_json(text)
        name = given.get("model") if isinstance(given, dict) else None
        body, headers = {"content": text.encode()}, {"Content-Type": JSON}
    elif request.content_type == FORM:
        try:
            fields = {field: values if len(values) > 1 else values[0] for field, values in request.POST.lists()}
            files = [_part(field, cast(UploadedFile, file)) for field, file in request.FILES.items()]
        except (BadRequest, RequestDataTooBig, ValueError) as error:
            raise Invalid(f"body: not a form that can be read ({error}).", field="body") from None
        name = fields.get("model")
        body, headers = {"body": fields, "files": files}, {"Content-Type": FORM}
    else:
        raise UnsupportedMediaType(MEDIA_TYPE)
    return ForwardedCall(address, _profile(clean_text("model", name, limit=200), person_id), body, headers)


def _part(field: str, file: UploadedFile) -> tuple[str, tuple[str, bytes, str]]:
    return field, (file.name or field, file.read(), file.content_type or "application/octet-stream")


def _profile(name: str, person_id: int) -> ModelProfile:
    for profile in named_by(settings.GATEWAY_PASS_THROUGH, name):
        return model_of(profile, person_id)
    raise NotFound(
        f"model: {name!r} is not passed on. An administrator can allow it by GATEWAY_PASS_THROUGH.",
        code="model_not_found",
    )


async def answer(passed: ForwardedCall, call: Call, held: AsyncExitStack) -> HttpResponseBase:
    """The provider's answer, unchanged. Raises ModelError or Refused."""
    target = await held.enter_async_context(target_of(passed.profile))
    who = Endpoint(passed.profile.name, target.model, target.base_url, settings.MODEL_TIMEOUT_SECONDS, OPENAI)
    client = await client_for(OPENAI, target.base_url, target.api_key)
    sdk, http = import_module("openai"), import_module("httpx2")

    async def opened() -> Any:
        return await client.post(
            f"/{passed.address}",
            **passed.body,
            cast_to=http.Response,
            stream=True,
            options={
                "timeout": sdk.Timeout(who.timeout, connect=min(CONNECT_SECONDS, who.timeout)),
                "headers": passed.headers,
            },
        )

    upstream = await held.enter_async_context(accepted(opened, who, {}, key=target.api_key, asking=call.asking))
    kind = upstream.response.headers.get("content-type", "application/octet-stream")
    if "json" in kind:
        with upstream.faults_explained():
            return HttpResponse(await upstream.response.aread(), content_type=kind, headers=call.headers)
    kept = held.pop_all()

    async def parts() -> AsyncIterator[bytes]:
        async with kept:
            async for piece in upstream.response.aiter_bytes():
                yield piece

    return StreamingHttpResponse(parts(), content_type=kind, headers=call.headers)
