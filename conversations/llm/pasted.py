"""Reads addresses and keys as people paste them: with an endpoint, without a scheme, as a header, as a shell's line."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from conversations.llm.known_models import is_azure, is_local

VERSION = "/v1"
AZURE_VERSION = "/openai/v1"
_QUOTES = "\"'`“”‘’<>,;"
_UNSEEN = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff"))
_HOST = re.compile(r"(?:localhost|[\w-]+(?:\.[\w-]+)+|[\w.-]+(?=:\d))(?::\d{1,5})?(?:/\S*)?", re.IGNORECASE)
_ENDPOINT = re.compile(r"/chat/completions$|(?<=/v\d)/(?:completions|responses|messages|embeddings|models)$")
_AZURE_RESPONSES = re.compile(r"/openai/responses$")
"""The end of the address that Azure shows for its Responses API; its chat completions lie below AZURE_VERSION."""
_NAMED = re.compile(
    r"(?:(?:export|set|setx)\s+|\$env:)?[A-Z][A-Z0-9_]{0,60}(?:KEY|TOKEN)\s*=\s*(?=[^\s=])"
    r"|(?:(?i:authorization|x-api-key|api-key))\s*:\s*(?=\S)"
)
"""The names of variables and headers; a key itself may have a colon, and end with signs of equality."""
_BEARER = re.compile(r"bearer\s+", re.IGNORECASE)


def pasted_address(text: str) -> str:
    """The base URL in a text: an endpoint at its end is left out, and a host without a scheme gets one.

    Anything else stays, for a validator to refuse.
    """
    address, mark, query = _bare(text).partition("?")
    address = address.rstrip("/")
    if _HOST.fullmatch(address):
        http, https = f"http://{address}", f"https://{address}"
        address = http if is_local(http) else https
    if is_azure(address) and _AZURE_RESPONSES.search(address):
        return _AZURE_RESPONSES.sub(AZURE_VERSION, address)
    return _ENDPOINT.sub("", address).rstrip("/") + mark + query


def with_version(base_url: str) -> str:
    """The address with the path of its API, for one that names a host alone; "" for others."""
    try:
        is_bare = urlsplit(base_url).path in ("", "/")
    except ValueError:
        return ""
    version = AZURE_VERSION if is_azure(base_url) else VERSION
    return base_url.rstrip("/") + version if base_url and is_bare and "?" not in base_url else ""


def pasted_key(text: str) -> str:
    """The key in a text, without a variable's or a header's name, "Bearer" and quotes."""
    text = _bare(text)
    for prefix in (_NAMED, _BEARER):
        if found := prefix.match(text):
            text = _bare(text[found.end() :])
    return text


def _bare(text: str) -> str:
    return text.translate(_UNSEEN).strip().strip(_QUOTES).strip()
