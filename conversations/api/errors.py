"""Every refusal of the API in one shape: {"error": {"code", "message", "detail"}}."""

from __future__ import annotations

import logging
import re
from typing import Any

from django.core.exceptions import ObjectNotUpdated, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from conversations.errors import Refused, as_json, headers_of
from conversations.models import Conversation, Message
from conversations.runtime.database import refusal_of

logger = logging.getLogger(__name__)

_MISSING = re.compile(r"No such (\w+)|No (\w+) matches|(\w+) matching query")
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
CODES = {400: "invalid", 403: "forbidden", 404: "not_found", 405: "method_not_allowed"}
PROBLEMS = {
    "missing": "is required",
    "extra_forbidden": "there is no such field",
    "less_than_equal": "must be at most {le}",
    "greater_than_equal": "must be at least {ge}",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_parsing": "must be true or false",
}


def error_response(status: int, code: str, message: str, detail: dict[str, Any] | None = None) -> JsonResponse:
    return JsonResponse(as_json(Refused(message, code=code, **detail or {})), status=status)


def install(api: NinjaAPI) -> None:
    """Register an answer for every exception that a view or ninja itself can raise."""
    handlers: dict[type[Exception], Any] = {
        Refused: on_refused,
        ValidationError: on_invalid,
        AuthenticationError: on_unauthenticated,
        HttpError: on_http_error,
        Http404: on_missing,
        # They were deleted while they were being changed.
        **dict.fromkeys((ObjectNotUpdated, Conversation.DoesNotExist, Message.DoesNotExist), on_missing),
        RequestDataTooBig: on_too_big,
        Exception: on_bug,
    }
    for fault, handler in handlers.items():
        api.add_exception_handler(fault, handler)


def on_refused(request: HttpRequest, refusal: Refused) -> HttpResponse:
    return JsonResponse(as_json(refusal), status=refusal.status, headers=headers_of(refusal))


def on_invalid(request: HttpRequest, fault: ValidationError) -> HttpResponse:
    """The first invalid value as a sentence, all of them as detail."""
    problems = [_problem(error) for error in fault.errors]
    first = problems[0]
    return error_response(400, "invalid", f"{first['field']}: {first['problem']}.", {"fields": problems, **first})


def on_unauthenticated(request: HttpRequest, fault: AuthenticationError) -> HttpResponse:
    message = "Send `Authorization: Bearer <key>` with a valid key, or sign in."
    response = error_response(401, "unauthenticated", message)
    response["WWW-Authenticate"] = "Bearer"
    return response


def on_http_error(request: HttpRequest, fault: HttpError) -> HttpResponse:
    """ninja's own refusals; a body that our parser refused comes wrapped in one."""
    if isinstance(fault.__cause__, Refused):
        return on_refused(request, fault.__cause__)
    return error_response(fault.status_code, CODES.get(fault.status_code, "refused"), fault.message)


def on_missing(request: HttpRequest, fault: Exception) -> HttpResponse:
    """Name the kind of object that is missing, as Django's errors do; an object of another person is missing too."""
    found = _MISSING.search(str(fault))
    kind = _CAPITAL.sub(" ", found[found.lastindex or 0]).lower() if found else "object"
    return error_response(404, "not_found", f"There is no such {kind}, or it is another person's.")


def on_too_big(request: HttpRequest, fault: RequestDataTooBig) -> HttpResponse:
    return error_response(413, "body_too_large", "The body is too large.")


def on_bug(request: HttpRequest, fault: Exception) -> HttpResponse:
    if refusal := refusal_of(fault):
        return on_refused(request, refusal)
    logger.error("%s %s failed", request.method, request.path, exc_info=fault)
    return error_response(500, "internal", "Something went wrong on this site; its log says what.")


def _problem(error: dict[str, Any]) -> dict[str, str]:
    """The field and the problem of one of pydantic's errors.

    The field is the part of pydantic's location that the caller wrote: the last of ("body", "body", "content").
    """
    source, *path = error["loc"]
    field = ".".join(str(part) for part in (path[1:] if source == "body" else path))
    if source == "body" and not field:
        return {"field": "body", "problem": "must be a JSON object"}
    if error["type"] == "literal_error":
        return {"field": field, "problem": f"must be one of {', '.join(_literals(error['ctx']['expected']))}"}
    known = PROBLEMS.get(error["type"])
    sentence = known.format(**error["ctx"]) if known and "ctx" in error else known
    return {"field": field, "problem": sentence or error["msg"].replace("Input should be", "must be", 1)}


def _literals(expected: str) -> list[str]:
    """The allowed values in a message of pydantic, such as "'day', 'week' or 'month'"."""
    return re.findall(r"'([^']*)'", expected)
