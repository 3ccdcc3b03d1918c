"""Providers and servers that people connect to most, with the address that each has unless somebody changed it."""

from __future__ import annotations

from typing import NamedTuple

from conversations.models import ModelProfile

OPENAI, ANTHROPIC = ModelProfile.Provider.OPENAI, ModelProfile.Provider.ANTHROPIC


class Preset(NamedTuple):
    """A way to connect. `address` is "" for the provider's own, `key_from` the place of its keys ("": none needed)."""

    id: str
    name: str
    provider: str
    address: str
    key_from: str = ""
    example: str = ""
    hint: str = ""

    @property
    def asks_address(self) -> bool:
        """Whether a person may need another address than the preset's."""
        return not self.key_from or self.id == "other"


PRESETS = (
    Preset("openai", "OpenAI", OPENAI, "", "platform.openai.com/api-keys", "gpt-5-mini"),
    Preset("anthropic", "Anthropic", ANTHROPIC, "", "console.anthropic.com/settings/keys", "claude-sonnet-4-5"),
    Preset(
        "openrouter", "OpenRouter", OPENAI, "https://openrouter.ai/api/v1", "openrouter.ai/keys", "openai/gpt-5-mini"
    ),
    Preset("ollama", "Ollama", OPENAI, "http://127.0.0.1:11434/v1", "", "qwen3:8b", "ollama pull qwen3:8b"),
    Preset("lm-studio", "LM Studio", OPENAI, "http://127.0.0.1:1234/v1", "", "qwen3-8b", "lms server start"),
    Preset("vllm", "vLLM", OPENAI, "http://127.0.0.1:8000/v1", "", "Qwen/Qwen3-8B", "vllm serve Qwen/Qwen3-8B"),
    Preset("other", "Other", OPENAI, "", "its provider, if it needs one", "model-name"),
)
BY_ID = {preset.id: preset for preset in PRESETS}
