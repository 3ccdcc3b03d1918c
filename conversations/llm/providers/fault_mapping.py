"""Maps the faults of providers and their libraries to the port's errors, with texts for people.

A provider's own words are kept beside ours, on one line and without anything that looks like a key. The request's owner
sees their beginning; an administrator who tests the model sees them whole. No log has them: they may quote the request.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from compression.core.error_codes import ErrorCode
from compression.core.lazy_pattern import lazy_pattern
from conversations.llm.errors import (
    BrokenReply,
    ContextTooLong,
    KeyRefused,
    ModelError,
    ModelNotFound,
    NoCredit,
    RateLimited,
    RequestRefused,
    Unavailable,
)
from conversations.llm.providers.errors_in_answers import ErrorInAnswer
from conversations.llm.providers.refusal_reasons import Reason, reason_of
from conversations.llm.providers.stated_limits import exceeds_rate
from conversations.llm.providers.stated_waits import wait_in_error, wait_in_headers
from conversations.llm.retries import in_words

OVERLOADED = 529
"""Anthropic's status for an overloaded server."""
MISCALLED = "tool_use_failed"
"""Groq's error code for a tool call that a model wrote badly; asked again, it usually writes a better one."""

_TOO_LONG = lazy_pattern(
    r"context_length_exceeded|exceed_context_size|context (length|size|window|limit)|prompt is too long"
    r"|too many input token|too many total text bytes|context shift is disabled|max_prompt_tokens"
    r"|tokens?_limit_(?:reached|exceeded)"
    r"|(?:token limit exceeded|too many tokens):? \d|text is too long for this model"
    r"|context_?window_?exceeded|exceeds? max(?:imum)? (?:message|input|prompt) (?:tokens|length)"
    # A limit of the reply that nobody sent: the room that the server has left.
    r"|max_(?:completion_)?tokens['\"`]?[^.]{0,30}(?:at least 1|greater than 0|positive|negative)[^.]{0,30}-\d"
    r"|max_(?:completion_)?tokens['\"`]? ?\(-\d|(?:输入|上下文|提示词|prompt).{0,20}(?:过长|超长|超过|超出|超限)",
    re.IGNORECASE,
)
_INPUT = lazy_pattern(
    r"\b(?:prompt|inputs?|context|conversation|history|messages?|requests?|sequence|tokens? count"
    r"|(?:input|total) tokens?)\b",
    re.IGNORECASE,
)
_EXCEEDS = lazy_pattern(
    r"exceed|too (?:long|large|big|many)|(?:longer|larger|greater|more) than|over the (?:limit|maximum)|overflow"
    r"|(?:less|fewer) than [\d,]+ tokens"
    r"|\bmax\w*\b|\blimit\b|range of input length|out of range|supports? (?:only )?up to"
    r"|reduce the (?:length|number)",
    re.IGNORECASE,
)
_SIZE = lazy_pattern(r"token|length|context|prompt|too long", re.IGNORECASE)
_OTHER_LIMITS = lazy_pattern(
    r"per (?:minute|day|hour|second)|rate.?limit|quota|\b[rt]p[md]\b|max_(?:completion_|output_)?tokens|output tokens"
    r"|completion tokens|maximum length \d{1,4}\b|images?\b|concurren|\btemperature\b|top_p"
    r"|tools?\b.{0,20}(?:maximum|at most)",
    re.IGNORECASE,
)
"""Limits of other things than the prompt's length."""
MAX_READ_CHARS = 4_000
"""The characters of an error that are looked at."""
_KEY = lazy_pattern(r"""['"\\]+message['"\\]+\s*:""")
"""The name of the field with the words, which is no word of them."""
WORD_FIELDS = ("message", "error", "detail", "msg", "error_message", "errors")
"""The fields of an error in which servers give their words, the first of them first."""
MAX_FAULTS = 5
"""The most faults of a list whose words are read."""
OVERFLOW_STATUSES = (400, 413, 422)
"""The statuses with which servers refuse a prompt that is too long, in words of their own."""
_KNOWN_MODEL = lazy_pattern(
    r"no endpoints found (?:that|matching)|no allowed providers|not a chat model|(?:only|not) supported in",
    re.IGNORECASE,
)
"""The words of a 404 about a model that the provider has, but not for this request or account."""
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": OVERLOADED,
}
"""The HTTP status that corresponds to the code of an error event within a stream."""
_SECRET = lazy_pattern(
    r"(?i)\b(?:sk|pk|rk|gsk|xai|hf|ghp)[-_][\w*.-]{8,}|\bAIza[\w-]{20,}|bearer\s+\S+|(?<=[=:\s\"'])[A-Za-z0-9_-]{32,}"
    r"|(?<=//)[^\s/@]+@"
)
"""Matches text that looks like a key, a token or the password of an address."""
HIDDEN = "[hidden]"
SHORT_KEY_CHARS = 6
"""A key with fewer characters, a placeholder for a local server, is hidden where it is a word: "x" is in "max"."""
_CODE = lazy_pattern(r"[a-z][a-z0-9_]{2,60}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The server and model of a request, as errors name them, and its API."""

    name: str
    model: str
    base_url: str
    timeout: float
    api: str
    secret: str = field(default="", repr=False)
    """The request's key, which a server may repeat."""

    @property
    def host(self) -> str:
        """Host and port of the address, without a user name and password."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]


def explain(fault: Exception, asked: Endpoint, *, begun: bool) -> ModelError:
    """The port's error for an exception; `begun`: a part of the reply had arrived."""
    if isinstance(fault, ModelError):
        return fault
    if isinstance(fault, TimeoutError):
        return _silent(asked, begun)
    if isinstance(fault, ErrorInAnswer):
        return _midway(fault.body, asked, begun) if begun else error_of_status(fault.status, fault.body, asked)
    if reason := _unacceptable(fault):
        return BrokenReply(f"{asked.name}: {asked.host} {reason}. Check the base URL.", retryable=False)
    sdk, http = import_module("openai"), import_module("httpx2")
    match fault:
        case sdk.APITimeoutError() | http.TimeoutException() if _cause(fault) != "ConnectTimeout":
            return _silent(asked, begun)
        case sdk.APIConnectionError() | http.TransportError():
            return _disconnected(fault, asked, begun)
        case sdk.APIStatusError() if fault.status_code >= 400:
            wait = wait_in_headers(fault.response.headers)
            return error_of_status(fault.status_code, fault.body, asked, wait=wait)
        case sdk.APIError():
            return _midway(fault.body, asked, begun)
    return BrokenReply(f"{asked.name}: what {asked.host} sent could not be read as a reply. Check the base URL.")


def _unacceptable(fault: BaseException | None) -> str:
    """The reason why an answer was refused by its size, packing or redirect; "" for other faults."""
    while fault is not None:
        if reason := getattr(fault, "unacceptable", ""):
            return str(reason)
        fault = fault.__cause__
    return ""


def error_of_status(status: int, body: object, asked: Endpoint, *, wait: float | None = None) -> ModelError:
    """The port's error for an HTTP status and its body, with the provider's own words.

    `wait`: seconds that the provider's headers ask to wait; without them, the error may name some.
    """
    words = words_of(body, secret=asked.secret)
    wait = wait_in_error(error_object(body), words) if wait is None else wait
    error = _error_of_status(status, body, asked, wait, words)
    error.provider_words = words
    return error


def words_of(body: object, *, secret: str = "") -> str:
    """The provider's own words in the body of an error, on one line; "" if there are none.

    `secret`, the request's key, and everything that looks like a key are hidden.
    """
    found = _words_in(body, depth=4)
    found = _without(secret, found)[:MAX_READ_CHARS]
    words = "".join(one for one in " ".join(found.split()) if one.isprintable())  # no database holds all the others
    words = " ".join(words.split())
    return "" if _CODE.fullmatch(words) else _SECRET.sub(HIDDEN, words)


def _without(secret: str, words: str) -> str:
    """The words with HIDDEN in place of a key."""
    if len(secret) >= SHORT_KEY_CHARS:
        return words.replace(secret, HIDDEN)
    return re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", HIDDEN, words) if secret else words


def _words_in(body: object, *, depth: int) -> str:
    """The words of an error: a text that is no page, the first field with words, or the faults of a list."""
    if isinstance(body, str):
        return "" if is_page(body) else body
    if not depth:
        return ""
    if isinstance(body, list):
        return "; ".join(filter(None, (_words_in(one, depth=depth - 1) for one in body[:MAX_FAULTS])))
    if not isinstance(body, dict):
        return ""
    words = next(filter(None, (_words_in(body.get(name), depth=depth - 1) for name in WORD_FIELDS)), "")
    if behind := _words_behind(body):
        words = f"{words}: {behind}"
    place = body.get("loc")  # of a fault that FastAPI's servers list
    return f"{'.'.join(map(str, place))}: {words}" if words and isinstance(place, list) else words


def _words_behind(error: dict[str, Any]) -> str:
    """The words of the provider behind OpenRouter, whose own error only says that there is one."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if not isinstance(raw, str):
        return ""
    with suppress(ValueError, RecursionError):
        return _words_in(json.loads(raw[:MAX_READ_CHARS]), depth=3)
    return _words_in(raw, depth=1)


def _error_of_status(status: int, body: object, asked: Endpoint, wait: float | None, words: str) -> ModelError:
    code = code_of(body)
    known = f"{status}, {code}" if code else str(status)
    if is_too_long(body, status):
        too_long = ContextTooLong(
            f"{asked.name}: the conversation is longer than the model's context window ({known}). "
            "Compact it, or use a model with a larger window."
        )
        too_long.is_servers_fault = status >= 500
        return too_long
    if code == MISCALLED:
        return BrokenReply(f"{asked.name}: the model called a tool in a way that {asked.host} cannot read. Try again.")
    if reason := reason_of(status, body, words):
        return _of_reason(reason, known, body, asked)
    if status == 404 and not _KNOWN_MODEL.search(str(body)[:MAX_READ_CHARS]):
        return _of_reason(Reason.MODEL, known, body, asked)
    if status == 429:
        return _limited(asked, wait)
    if status == 409:
        return RequestRefused(f"{asked.name}: the provider reports a conflict ({known}). Try again.", retryable=True)
    if status == OVERLOADED:
        return Unavailable(
            f"{asked.name}: the provider is overloaded ({status}){_asks(wait)}. Try again later.", retry_after=wait
        )
    if status == 408 or status >= 500:
        return Unavailable(
            f"{asked.name}: the provider has a fault ({known}){_asks(wait)}. Try again.", retry_after=wait
        )
    return RequestRefused(f"{asked.name}: the provider refused this request ({known}). Check the model's settings.")


def _of_reason(reason: Reason, known: str, body: object, asked: Endpoint) -> ModelError:
    match reason:
        case Reason.COUNTRY:
            words = f"{asked.name}: the provider does not serve this server's country ({known}). Use another model."
            return Unavailable(words, retryable=False)
        case Reason.CONTENT:
            words = f"{asked.name}: the provider's content filter refused the request ({known})."
            return RequestRefused(f"{words} Change the message, or use another model.", code=ErrorCode.REFUSAL)
        case Reason.NO_CREDIT:
            words = f"{asked.name}: the account has no credit left ({known}). Add credit or use another model."
            return NoCredit(words)
        case Reason.RIGHTS:
            words = f'{asked.name}: the account may not use the model "{asked.model}" ({known}).'
            return ModelNotFound(f"{words} Check its rights at the provider, or use another model.")
        case Reason.MODEL:
            words = f'{asked.name}: {asked.host} does not know the model "{asked.model}" ({known}).'
            return ModelNotFound(f"{words} Check the model id and the base URL.")
        case Reason.KEY if is_page(body):
            words = f"{asked.name}: {asked.host} refused access with a web page ({known}). Check the base URL."
            return Unavailable(words, retryable=False)
        case Reason.KEY:
            words = f"{asked.name}: the provider refused the API key ({known}). Check the key of this model."
            return KeyRefused(words)


def is_page(body: object) -> bool:
    """Whether an answer is a web page, as firewalls and proxies send it."""
    return isinstance(body, str) and body.lstrip()[:9].lower().startswith(("<html", "<!doctype"))


def is_too_long(body: object, status: int = 400) -> bool:
    """Whether an error says that the prompt exceeds the model's window: by its code, or by its status and its words.

    Servers word it in many ways; all name the input, its size, and that this is too much.
    """
    text = str(body)[:MAX_READ_CHARS]
    if _TOO_LONG.search(text) or exceeds_rate(text):
        return True
    text = _KEY.sub("", text)
    if status not in OVERFLOW_STATUSES or _OTHER_LIMITS.search(text):
        return False
    return bool(_INPUT.search(text) and _SIZE.search(text) and _EXCEEDS.search(text))


def code_of(body: object) -> str:
    """The error code in a body, "" if there is none or it does not look like a code."""
    error = error_object(body)
    code = error.get("code") or error.get("type")
    return code if isinstance(code, str) and _CODE.fullmatch(code) else ""


def error_object(body: object) -> dict[str, Any]:
    """The error object in a body, or the body itself if it has none. Gemini sends a list with one error."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return {}
    error = body.get("error")
    return error if isinstance(error, dict) else body


def _limited(asked: Endpoint, wait: float | None) -> ModelError:
    advice = "Try again later" if wait is None or wait > 60 else "Try again"
    return RateLimited(
        f"{asked.name}: too many requests for the provider (429){_asks(wait)}. {advice}.", retry_after=wait
    )


def _asks(wait: float | None) -> str:
    return "" if wait is None else f"; it asks to wait {in_words(wait)}"


def _silent(asked: Endpoint, begun: bool) -> ModelError:
    # No retry: the person has waited for the whole time-out already, and more requests make a slow server slower.
    silence = f"nothing came from {asked.host} for {in_words(asked.timeout)}"
    if begun:
        words = f"{asked.name}: the reply broke off; {silence}. Try again."
        return BrokenReply(words, retryable=False, code=ErrorCode.SILENCE)
    advice = "Try again, or use another model."
    return Unavailable(f"{asked.name}: {silence}. {advice}", retryable=False, code=ErrorCode.SILENCE)


def _disconnected(fault: Exception, asked: Endpoint, begun: bool) -> ModelError:
    if begun:
        return BrokenReply(f"{asked.name}: the reply broke off: {asked.host} closed the connection. Try again.")
    closed = _cause(fault).startswith(("Read", "Remote", "Write"))
    reached = "closed the connection" if closed else f"cannot be reached{_obstacle(fault)}"
    words = f"{asked.name}: {asked.host} {reached}. Check that the server runs, and the base URL."
    return Unavailable(words, code=ErrorCode.UNREACHABLE)


def _obstacle(fault: BaseException) -> str:
    """The reason why no connection could be made, from the exception's causes; "" if none of them is known."""
    match fault:
        case socket.gaierror():
            return ": no host of that name is known"
        case ConnectionRefusedError():
            return ": nothing listens there"
        case ssl.SSLCertVerificationError():
            return ": its certificate is not trusted"
        case ssl.SSLError():
            return ": it does not speak HTTPS there"
    causes = list(fault.exceptions) if isinstance(fault, BaseExceptionGroup) else []
    causes += [cause for cause in (fault.__cause__ or fault.__context__,) if cause]
    return next((found for cause in causes if (found := _obstacle(cause))), "")


def _cause(fault: Exception) -> str:
    return type(fault.__cause__ or fault).__name__


def _midway(body: object, asked: Endpoint, begun: bool) -> ModelError:
    """The error for an error event within a stream that began with 200.

    Some gateways use an HTTP status as the event's code.
    """
    code, number = code_of(body), str(error_object(body).get("code"))
    status = int(number) if number.isdecimal() else _STATUS.get(code, 0)
    if is_too_long(body):
        return error_of_status(400, body, asked)
    if not begun and 400 <= status < 600:
        return error_of_status(status, body, asked)
    if not begun and reason_of(400, body, words_of(body, secret=asked.secret)):
        return error_of_status(400, body, asked)
    error = BrokenReply(f"{asked.name}: the provider broke the reply off{f' ({code})' if code else ''}. Try again.")
    error.provider_words = words_of(body, secret=asked.secret)
    return error
