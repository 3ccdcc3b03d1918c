"""Lists the providers that are asked over HTTP, with the class of each."""

from __future__ import annotations

from conversations.llm.providers.anthropic import Anthropic
from conversations.llm.providers.openai import OpenAICompatible
from conversations.llm.providers.provider import Provider
from conversations.models import ModelProfile

PROVIDERS: dict[str, type[Provider]] = {
    ModelProfile.Provider.OPENAI: OpenAICompatible,
    ModelProfile.Provider.ANTHROPIC: Anthropic,
}
