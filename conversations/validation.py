"""Validates input from outside, for the pages, the API and imports alike."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import isfinite
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest
from django.utils.translation import gettext as _

from compression.core.instructions import MAX_TEMPLATE_CHARS, template_fault
from compression.policy_fields import FIELDS, PolicyField
from conversations.errors import MEDIA_TYPE, Invalid, UnsupportedMediaType

HIDDEN = {
    *(0x00AD, 0x115F, 0x180E, 0x200B, 0x2060, 0x3164, 0xFEFF),  # without width
    *(*range(0x202A, 0x202F), *range(0x2066, 0x206A)),  # control the direction of text
    *(code for code in (*range(0x20), *range(0x7F, 0xA0)) if not chr(code).isspace()),
}
"""Codes of invisible characters; without joiners and marks for one character's direction, which scripts need."""
_SEEN = {code: f"[U+{code:04X}]" for code in HIDDEN}

MAX_CONTENT = 200_000
"""The most characters of a message."""
MAX_VALUES = 1_000_000
"""The most commas and brackets of a request's JSON."""
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A string of JSON; one without its end goes to the end of the text."""
MAX_PROMPT = MAX_TEMPLATE_CHARS
"""The most characters of a summary's prompt."""


def clean_text(field: str, value: object, *, limit: int = MAX_CONTENT, allow_blank: bool = False) -> str:
    """`value`, unchanged, if it is text that can be stored, shown and sent.

    `limit` is in characters. Raises Invalid, whose message and detail name `field`.
    """
    if not isinstance(value, str):
        raise Invalid(f"{field}: must be text.", field=field)
    if len(value) > limit:
        raise Invalid(
            _("%(field)s: at most %(limit)s characters, not %(number)s.")
            % {"field": field, "limit": f"{limit:,}", "number": f"{len(value):,}"},
            field=field,
            limit=limit,
        )
    if "\0" in value:
        raise Invalid(f"{field}: must not contain a NUL character.", field=field)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Invalid(f"{field}: contains half a character (a lone surrogate).", field=field) from None
    if not allow_blank and not value.strip():
        raise Invalid(_("%(field)s: must not be empty.") % {"field": field}, field=field)
    return value


def one_line(text: str) -> str:
    """A title: line breaks and runs of blanks become one blank."""
    return " ".join(text.split())


def clean_prompt(field: str, value: object) -> str:
    """`value`, unchanged, if it is a valid prompt for summaries; "" means the usual prompt. Raises Invalid."""
    text = clean_text(field, value, limit=MAX_PROMPT, allow_blank=True)
    if text and (fault := template_fault(text)):
        raise Invalid(f"{field}: {fault}.", field=field)
    return text


def parse_json(text: str, *, most: int = MAX_VALUES) -> Any:
    """Parse strict JSON: no repeated keys, no NaN, no number beyond a float. Raises Invalid, naming the place.

    `most` limits the commas and brackets of the text, because the parser blocks all other work until it has read the
    whole text. Those within strings cost nothing and are not counted.
    """
    if len(text) > most and _structure(text) > most and _structure(_STRING.sub("", text)) > most:
        raise Invalid(f"not JSON that is read here: more than {most:,} commas and brackets.", limit=most)
    with json_faults():
        return STRICT.decode(text)


def _structure(text: str) -> int:
    return sum(map(text.count, ",{["))


@contextmanager
def json_faults() -> Iterator[None]:
    """Turn the errors of `STRICT` into Invalid."""
    try:
        yield
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        what = error.msg.removesuffix(" at")
        raise Invalid(f"not valid JSON: {what} at {where}.", line=error.lineno, column=error.colno) from None
    except ValueError as error:
        raise Invalid(f"not valid JSON: {error}.") from None
    except RecursionError:
        raise Invalid("not valid JSON: nested too deeply.") from None


def clean_policy(field: str, value: object) -> dict[str, Any]:
    """`value`, unchanged, if it is a valid policy of a conversation. Raises Invalid for unknown or invalid settings."""
    if not isinstance(value, dict):
        raise Invalid(f"{field}: must be an object.", field=field)
    for key, setting in value.items():
        place = f"{field}.{key}"
        if key not in POLICY:
            raise Invalid(f"{place}: there is no such setting.", field=place)
        allowed, what = POLICY[key]
        if not allowed(setting):
            raise Invalid(f"{place}: must be {what}.", field=place)
    clean_prompt(f"{field}.prompt", value.get("prompt", ""))
    return value


def _rule(field: PolicyField) -> tuple[Callable[[object], bool], str]:
    """The rule for a setting: a predicate for its values, and a description of the valid ones."""
    low, high, also = field.low, field.high, field.also
    match field.kind:
        case "switch":
            return lambda value: isinstance(value, bool), "true or false"
        case "choice":
            return lambda value: isinstance(value, str) and value in field.choices, f"one of {', '.join(field.choices)}"
        case "name" | "template":
            most = int(high)
            return lambda value: _is_text(value, most), f"text of at most {most:,} characters that can be stored"
    kinds, whole = ((int, float), "") if field.kind == "share" else (int, "whole ")
    named = f', or "{also}"' if also else ", or null" if field.nullable else ""

    def allowed(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, kinds):
            return (bool(also) and value == also) or (field.nullable and value is None)
        return low <= value <= high

    return allowed, f"a {whole}number from {low:,} to {high:,}{named}"


def _is_text(value: object, most: int) -> bool:
    with suppress(Invalid):
        return clean_text("", value, limit=most, allow_blank=True) == value
    return False


POLICY = {field.name: _rule(field) for field in FIELDS}


def json_text(request: HttpRequest) -> str:
    """The body of a request that is declared as JSON, without a byte order mark.

    Raises UnsupportedMediaType for another or a compressed body, and Invalid for one that is not UTF-8.
    """
    if request.content_type != "application/json":
        raise UnsupportedMediaType(MEDIA_TYPE)
    if (encoding := request.headers.get("Content-Encoding", "").strip().lower()) not in ("", "identity"):
        raise UnsupportedMediaType(f"Content-Encoding: send the body uncompressed, not as {encoding[:20]}.")
    try:
        return request.body.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise Invalid(f"body: not UTF-8 text, from byte {error.start:,} on.", field="body") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        times = Counter(key for key, _ in pairs)
        raise ValueError(f"the key {next(key for key in times if times[key] > 1)!r} appears twice")
    return found


def _constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _float(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"{digits[:20]} is too large a number")
    return number


STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)


def host_of(base_url: str) -> str:
    """The host of an http or https address; "" if it is not one."""
    try:
        parts = urlsplit(base_url)
        return parts.hostname or "" if parts.scheme in ("http", "https") and parts.port != 0 else ""
    except ValueError:
        return ""


def visible(text: str) -> str:
    """A text with hidden characters as their codes, for names, titles and links, which must be what they look like."""
    return text.translate(_SEEN)
