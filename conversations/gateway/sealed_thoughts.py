"""Seals a model's thoughts for a caller, who sends them back with the next request, and opens them for that model.

Models of DeepSeek's kind refuse a loop of tools without their thoughts. Callers of Anthropic's Messages and OpenAI's
Responses return thoughts with what signed them: there stands our seal, with the fields of chat completions that the
server wants. Thoughts of another model, or with another signature, are left out.
"""

from __future__ import annotations

from typing import Any

from django.core import signing

from conversations.llm.thinking.thoughts import DETAILS, TEXT_FIELDS
from conversations.models import ModelProfile

PREFIX, SALT = "chatsite.", "conversations.gateway.thoughts"


def identity_of(profile: ModelProfile) -> str:
    """The model of a profile, as seals name it."""
    return f"{profile.base_url} {profile.model_id}"


def sealed(fields: dict[str, Any], model: str) -> str:
    """The seal of a message's thought fields for a model; "" without any, or without a model."""
    if not (fields and model):
        return ""
    return PREFIX + signing.dumps({"model": model, "fields": fields}, salt=SALT, compress=True)


def opened(seal: object, model: str) -> dict[str, Any]:
    """The thought fields in a seal for this model; {} for a seal of another one, and for anything else."""
    if not is_seal(seal):
        return {}
    try:
        held = signing.loads(str(seal).removeprefix(PREFIX), salt=SALT)
    except (signing.BadSignature, ValueError):
        return {}
    if not isinstance(held, dict) or held.get("model") != model:
        return {}
    return {name: value for name, value in held["fields"].items() if name in (*TEXT_FIELDS, DETAILS)}


def is_seal(signature: object) -> bool:
    return isinstance(signature, str) and signature.startswith(PREFIX)


def joined(first: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """The thought fields of two parts of one message."""
    both = dict(first)
    for name, value in more.items():
        both[name] = both[name] + value if name in both and type(both[name]) is type(value) else value
    return both
