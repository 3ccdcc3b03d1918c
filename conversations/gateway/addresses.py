"""Checks the addresses in a call's messages: a provider fetches them, and a server of one's own from inside its
network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from conversations.errors import Invalid
from conversations.gateway.messages import Raw
from conversations.llm.known_models import is_anthropic, is_openai
from conversations.models import ModelProfile

NEVER, HOME, PUBLIC = "never", "provider", "public"
"""The values of GATEWAY_IMAGE_URLS: no address passes; https to OpenAI and Anthropic themselves; https of public hosts
to all.
"""
TEXTS = {"text", "refusal", "thinking", "redacted_thinking", "reasoning", "reasoning_text"}
"""Types of parts that contain only text: an address in them is not fetched."""
FETCHED = {"image_url", "input_audio", "file", "video_url", "audio_url"}
"""Types of parts that carry a file or name its address."""
_SCHEME = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*:")
"""Characters that base64 never begins with, but the scheme of an address does."""
_DATA = re.compile(r"data:", re.IGNORECASE)
_LABELS = (".filename", ".detail", ".format", ".uuid", ".cache_control.type")
_NAME = re.compile(r"(?:[a-z0-9_-]+\.)+[a-z][a-z0-9-]*", re.IGNORECASE)
_INSIDE = (".local", ".localhost", ".internal", ".lan", ".home", ".corp", ".intranet", ".arpa")


def require_reachable(messages: Sequence[Raw], profile: ModelProfile) -> None:
    """Raise Invalid, naming the place, for a part with an address that the provider should not fetch."""
    for number, raw in enumerate(messages):
        content = raw.get("content")
        for place, part in enumerate(content) if isinstance(content, list) else ():
            _require_part(f"messages[{number}].content[{place}]", part, profile)


def _require_part(place: str, part: Raw, profile: ModelProfile) -> None:
    kind = part["type"]
    if kind in TEXTS:
        return
    if kind not in FETCHED:
        raise Invalid(f"{place}.type: must be one of {', '.join(sorted(TEXTS | FETCHED))}.", field=f"{place}.type")
    for field, text in _texts(place, {name: value for name, value in part.items() if name != "type"}):
        if field.endswith(".file_id"):
            raise Invalid(f"{field}: files that are kept with the provider belong to this site.", field=field)
        if field.endswith(_LABELS) or _DATA.match(text):
            continue
        is_address = kind.endswith("_url") or field.lower().endswith("url") or _SCHEME.match(text)
        if is_address and not _may_fetch(text, profile):
            raise Invalid(f"{field}: {_reason()}", field=field)


def _reason() -> str:
    if settings.GATEWAY_IMAGE_URLS == NEVER:
        return "must be a data: URL; no address is passed on (GATEWAY_IMAGE_URLS)."
    if settings.GATEWAY_IMAGE_URLS == PUBLIC:
        return "must be a data: URL, or an https: address of a public host."
    return (
        "must be a data: URL. Addresses pass as https: to OpenAI and Anthropic alone: another server would fetch them "
        "from within its own network (GATEWAY_IMAGE_URLS)."
    )


def _may_fetch(address: str, profile: ModelProfile) -> bool:
    if settings.GATEWAY_IMAGE_URLS == NEVER or not is_public(address):
        return False
    return settings.GATEWAY_IMAGE_URLS == PUBLIC or is_home(profile)


def is_home(profile: ModelProfile) -> bool:
    """Whether the profile's provider is OpenAI or Anthropic itself, at its own address."""
    if profile.provider == ModelProfile.Provider.ANTHROPIC:
        return not profile.base_url or is_anthropic(profile.base_url)
    return profile.provider == ModelProfile.Provider.OPENAI and is_openai(profile.base_url)


def is_public(address: str) -> bool:
    """Whether the address is https to a host that is not plainly inside a network. The name is not resolved."""
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return False
    if parts.scheme != "https" or "@" in parts.netloc or not host or re.search(r"[\s\\]", address):
        return False
    try:
        return ip_address(host).is_global
    except ValueError:
        return bool(_NAME.fullmatch(host)) and not host.lower().endswith(_INSIDE)


def _texts(place: str, value: Any) -> Iterator[tuple[str, str]]:
    """All texts in a part, each with its place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(f"{place}.{name}", inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _texts(f"{place}[{number}]", inner)
