"""The REST API: the same verbs as the page, as JSON."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from inspect import iscoroutinefunction
from typing import Any

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase, HttpResponseNotAllowed
from django.urls import re_path
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

from conversations.api import (
    agent_runs,
    attachments,
    context,
    conversations,
    errors,
    export_import,
    goals,
    ledger,
    messages,
    models,
    projects,
    requests,
    search,
    usage,
    versions,
)
from conversations.api.auth import KeyAuth, SessionAuth
from conversations.api.description import ABOUT, TAGS
from conversations.api.events import views
from conversations.api.openapi import complete
from conversations.api.parsing import StrictParser

MAX_SHOWN_PATH = 200
"""The most characters of a wrong address in its refusal."""


class Api(NinjaAPI):
    """ninja's API with our own errors.

    ninja answers a wrong address or method in its own shape; here it gets ours. The description does not change while
    the process runs, so it is made once.
    """

    _described: OpenAPISchema | None = None

    def get_openapi_schema(self, **_: Any) -> OpenAPISchema:
        if self._described is None:
            self._described = super().get_openapi_schema(path_prefix="api/")
            complete(self._described)
        return self._described

    @property
    def urls(self) -> tuple[list[Any], str, str]:
        ours, app, namespace = super().urls
        patterns: list[Any] = [*ours, re_path("", _nowhere)]
        for pattern in patterns:
            pattern.callback = shaped(pattern.callback)
        return patterns, app, namespace


def shaped(view: Callable[..., Any]) -> Callable[..., Any]:
    """The view, with refusals and wrong methods answered as errors of the API, and HEAD where there is GET.

    Streams of events have no HEAD: they never end.
    """

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method == "HEAD":  # the server leaves the body out
            request.method = "GET"
        try:
            return _shape(view(request, *args, **kwargs))
        except Http404 as fault:
            return errors.on_missing(request, fault)

    @wraps(view)
    async def answer_later(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        return _shape(await view(request, *args, **kwargs))

    return answer_later if iscoroutinefunction(view) else answer


def _shape(response: HttpResponseBase) -> HttpResponseBase:
    if response.status_code == HTTPStatus.NO_CONTENT:
        del response["Content-Type"]
    if not isinstance(response, HttpResponseNotAllowed):
        return response
    allowed = ", ".join(sorted(response["Allow"].split(", ")))
    shaped = errors.error_response(405, "method_not_allowed", f"Only {allowed} can be asked of this address.")
    shaped["Allow"] = allowed
    return shaped


@csrf_exempt
def _nowhere(request: HttpRequest) -> HttpResponseBase:
    message = f"There is no address {request.path[:MAX_SHOWN_PATH]}: /api/docs lists those of the API."
    return errors.error_response(HTTPStatus.NOT_FOUND, "not_found", message)


api = Api(
    title="chatsite",
    version="1",
    description=ABOUT,
    docs_url=None,
    auth=[KeyAuth(), SessionAuth()],
    parser=StrictParser(),
    openapi_extra={"tags": TAGS},
)
errors.install(api)
for router in (
    conversations.router,
    messages.router,
    versions.router,
    attachments.router,
    requests.router,
    agent_runs.router,
    views.router,
    export_import.router,
    goals.router,
    ledger.router,
):
    api.add_router("/conversations", router)
api.add_router("/projects", projects.router)
for router in (search.router, context.router, models.router, usage.router):
    api.add_router("", router)
