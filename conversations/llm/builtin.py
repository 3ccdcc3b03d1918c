"""The model that comes with the site: SmolLM2-135M in the server's own process, by llama.cpp."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

from django.conf import settings

from conversations.llm.base import Model, NotConfigured

WINDOW = 8_192


def is_available() -> bool:
    """Whether the model's file and its engine are on this machine."""
    return settings.BUILTIN_MODEL_PATH.is_file() and find_spec("xllamacpp") is not None


@cache
def shared() -> Model:
    raise NotConfigured("The built-in model is not there yet.")
