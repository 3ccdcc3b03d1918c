"""Defines the refusals of requests, in one format for the pages and the API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

_FIELD = re.compile(r"\A[\w.\[\]]+: ")
MEDIA_TYPE = "Send the body as application/json."


class Refused(Exception):
    """A request was understood but is not carried out; nothing was stored.

    `message` is a sentence for a person, `code` a word for a program, `detail` the figures behind both. A text with
    placeholders comes with their `values`: so a refusal from a worker process, which speaks English, can be translated.
    """

    code = "invalid"
    status = 400

    def __init__(
        self, text: str, *, code: str | None = None, values: Mapping[str, Any] | None = None, **detail: Any
    ) -> None:
        super().__init__(text)
        self.text, self.values = text, values
        self.message = text % values if values else text
        self.code = code or self.code
        self.detail = detail

    def __str__(self) -> str:
        return self.message

    def translate(self) -> None:
        """Translate the message into the active language."""
        text = gettext(self.text)
        self.message = text % self.values if self.values else text

    @property
    def without_field(self) -> str:
        """The message as a sentence without the path of its field, for a place beside that field."""
        sentence = _FIELD.sub("", self.message) if "field" in self.detail else self.message
        return sentence[:1].upper() + sentence[1:]


def as_json(refusal: Refused, **more: Any) -> dict[str, Any]:
    """The JSON body of a refusal; `more` are further fields of its error."""
    error = {"code": refusal.code, "message": refusal.message, "detail": refusal.detail}
    return {"error": error | more}


def headers_of(refusal: Refused) -> dict[str, str]:
    """The HTTP headers of a refusal's response."""
    after = refusal.detail.get("retry_after")
    return {"Retry-After": str(after)} if after else {}


class Invalid(Refused):
    """A field has an invalid value; `detail` names the field and the limit."""


class Conflict(Refused):
    """The request is valid, but not in the present state."""

    code = "conflict"
    status = 409


class NotFound(Refused):
    """The object does not exist, or not for this person."""

    code = "not_found"
    status = 404


class TooLarge(Refused):
    """The content does not fit a request to the model; `detail` holds the figures."""

    code = "context_too_large"
    status = 413


class TooMany(Refused):
    """The person or address has made too many requests; `retry_after` is in seconds."""

    code = "rate_limited"
    status = 429

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message, retry_after=retry_after)
        self.retry_after = retry_after


class UnsupportedMediaType(Refused):
    """The body's content type is not supported."""

    code = "unsupported_media_type"
    status = 415
