"""Seals on exports: they show that a file's system prompt was written by the person who imports it, on this site."""

from __future__ import annotations

from django.core.signing import Signer
from django.utils.crypto import constant_time_compare

SALT = "chatsite.export"


def seal_of(owner_id: int, system_prompt: str) -> str:
    """The seal of a person's system prompt; "" for an empty prompt."""
    return Signer(salt=SALT).signature(f"{owner_id}:{system_prompt}") if system_prompt else ""


def is_sealed(seal: str, owner_id: int, system_prompt: str) -> bool:
    """Whether `seal` is this site's seal of the person's system prompt."""
    return bool(seal) and constant_time_compare(seal, seal_of(owner_id, system_prompt))
