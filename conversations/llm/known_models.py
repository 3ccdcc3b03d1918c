"""Context windows, prices and abilities of known models, by their ids."""

from __future__ import annotations

import re
from decimal import Decimal
from ipaddress import ip_address
from typing import NamedTuple

from compression.core.lazy_pattern import lazy_pattern
from conversations.validation import host_of

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
UNKNOWN_WINDOW = 8_192


class Price(NamedTuple):
    """US dollars per million tokens."""

    input: Decimal
    cached: Decimal
    output: Decimal


_BY_WINDOW = {
    4_096: "gpt-3.5-turbo-instruct",
    8_192: "gpt-4 llama-3 gemma-2 smollm2 moonshot-v1-8k",
    16_384: "phi-4",
    16_385: "gpt-3.5-turbo",
    32_768: "gpt-4-32k mistral-small qwen2.5 qwen3 qwen-max qwq mixtral-8x7b gemma-3n gemma-3:1b gemma-3-1b "
    "gemma-3:270m gemma-3-270m phi-4-reasoning moonshot-v1-32k lfm2 gemini-2.5-flash-image",
    40_960: "magistral",
    65_536: "mixtral-8x22b glm-4.5v smollm3 olmo-3 apertus step-3 gemini-3-pro-image",
    128_000: "gpt-4-turbo gpt-4-0125 gpt-4-1106 gpt-4-vision gpt-4o chatgpt-4o gpt-4.5 o1-mini o1-preview sonar "
    "nova-micro",
    131_072: "gpt-oss llama-3.1 llama-3.2 llama-3.3 llama-4 mistral-large mistral-medium mistral-nemo "
    "open-mistral-nemo mistral-small-latest mistral-small-3.1 mistral-small-3.2 mistral-small3.1 "
    "mistral-small3.2 ministral devstral codestral pixtral qwen-plus qwen-turbo qwen-flash gemma-3 gemma-4 "
    "phi-4-mini deepseek-chat deepseek-reasoner deepseek-v3 deepseek-r1 kimi-k2 moonshot-v1-128k glm-4 "
    "grok-2 grok-3 command-r command-r7b granite-3.1 granite-3.2 granite-3.3 granite-4 granite3.1 "
    "granite3.2 granite3.3 granite4 hermes-3 hermes-4 longcat-flash",
    196_608: "minimax-m2",
    200_000: "o1 o3 o4-mini claude glm-4.6 glm-4.7 glm-5 sonar-pro",
    256_000: "grok-4 grok-code-fast jamba",
    262_144: "qwen3-max qwen3-coder qwen3-next qwen3-vl qwen3.5 kimi-k2-0905 kimi-k2-thinking kimi-k2-turbo "
    "kimi-k2.5 command-a nemotron-3 mimo-v2",
    300_000: "nova-lite nova-pro",
    400_000: "gpt-5",
    524_288: "seed-oss",
    1_000_000: "claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-sonnet-4-6 claude-haiku-5 claude-sonnet-5 "
    "claude-opus-5 claude-fable-5 claude-mythos-5 minimax-m1 minimax-text-01 nova-premier",
    1_047_576: "gpt-4.1",
    1_048_576: "gemini-1.5 gemini-2 gemini-3 gemini-flash gemini-pro",
    2_000_000: "grok-4-fast grok-4-1-fast grok-4.1-fast",
}
WINDOWS = {name: tokens for tokens, names in _BY_WINDOW.items() for name in names.split()}
"""Context windows in tokens by the beginning of a model's id; the longest matching beginning counts.

They are those of the providers' documentation, the smallest where hosts of the same model differ.
"""

OPENAI_PRICES = {
    name: Price(Decimal(input), Decimal(cached), Decimal(output))
    for name, input, cached, output in [
        ("gpt-3.5-turbo", "0.50", "0.50", "1.50"),
        ("gpt-4", "30", "30", "60"),
        ("gpt-4-turbo", "10", "10", "30"),
        ("gpt-4o", "2.50", "1.25", "10"),
        ("gpt-4o-mini", "0.15", "0.075", "0.60"),
        ("gpt-4.1", "2", "0.50", "8"),
        ("gpt-4.1-mini", "0.40", "0.10", "1.60"),
        ("gpt-4.1-nano", "0.10", "0.025", "0.40"),
        ("gpt-5", "1.25", "0.125", "10"),
        ("gpt-5-mini", "0.25", "0.025", "2"),
        ("gpt-5-nano", "0.05", "0.005", "0.40"),
        ("gpt-5.1", "1.25", "0.125", "10"),
        ("o1", "15", "7.50", "60"),
        ("o1-mini", "1.10", "0.55", "4.40"),
        ("o3", "2", "0.50", "8"),
        ("o3-mini", "1.10", "0.55", "4.40"),
        ("o4-mini", "1.10", "0.275", "4.40"),
    ]
}
"""OpenAI's prices by the exact id without its date. Unlisted ids have no price: a wrong one is worse than none."""

ANTHROPIC_PRICES = {
    name: Price(Decimal(input), Decimal(cached), Decimal(output))
    for name, input, cached, output in [
        ("claude-haiku-4-5", "1", "0.10", "5"),
        ("claude-sonnet-4-5", "3", "0.30", "15"),
        ("claude-sonnet-4-6", "3", "0.30", "15"),
        ("claude-sonnet-5", "2", "0.20", "10"),
        ("claude-sonnet-5-5", "2", "0.10", "10"),
        ("claude-opus-4-5", "5", "0.50", "25"),
        ("claude-opus-4-6", "5", "0.50", "25"),
        ("claude-opus-4-7", "5", "0.50", "25"),
        ("claude-opus-4-8", "5", "0.50", "25"),
        ("claude-opus-5", "5", "0.50", "25"),
        ("claude-opus-5-5", "4", "0.20", "20"),
        ("claude-fable-5", "10", "1", "50"),
        ("claude-fable-5-1", "10", "0.25", "50"),
    ]
}
"""Anthropic's prices by the exact id without its date, as of November 2026. Without a price are claude-haiku-5-5, whose
price rises with the prompt's length, and older models that are no longer served. Tokens written to the cache cost a
quarter more than `input`."""

IMAGE_MODEL_IDS = lazy_pattern(
    r"gpt-4(?:o|\.1|\.5|-turbo)(?!-audio|-realtime|-transcribe|-tts)|gpt-[5-9]|o(?:1|3|4-mini)(?!-mini|-preview|\d)"
    r"|claude-(?!2|instant|v?1|v2)|gemini|gemma-[34](?![-:]1b|[-:]270m)|llama-(?:4|3\.2-(?:11|90)b)"
    r"|(?:ministral|mistral-(?:small|medium|large))-?3(?!\d)|mistral-(?:small|medium)-(?:latest|25\d\d|26\d\d)"
    r"|mistral-large-(?:2512|26\d\d)|grok-4|glm-(?:4\.\d|5)v|kimi-k2\.[5-9]|nova-(?:lite|pro|premier)|.*(?:vision|llava|pixtral|[-_.\d]vl\b|qwen\d?(?:\.\d)?-?vl|minicpm-v|molmo|moondream|internvl|smolvlm|multimodal)"
)
"""Matches the beginning of ids of models that accept images, as of November 2026."""

TOOL_MODEL_IDS = lazy_pattern(
    r"gpt-3\.5-turbo(?!-instruct)|gpt-(?:4|[5-9])(?!.*(?:vision|search|transcribe|tts|realtime|image))|gpt-oss"
    r"|o(?:1|3|4-mini)(?!-mini|-preview|\d|.*deep-research)|o3-mini|claude-(?!2|instant|v?1|v2)"
    r"|gemini-(?!.*(?:image|tts|audio|live|embedding))|llama-(?:3\.1|3\.3|4|3\.2(?!.*(?:[-:]1b|vision)))"
    r"|qwen-?(?:2(?!.*vl)|3)(?!.*(?:base|math|embedding|reranker|guard|audio))|qwen-(?:max|plus|turbo|flash)|qwq"
    r"|(?:open-)?mistral-(?:large|medium|small|nemo)|ministral|magistral|devstral|mixtral-8x22b"
    r"|mistral-7b-instruct-v0\.3|deepseek-(?:chat|v3)|command-(?:r|a)|glm-(?:4\.[5-9]|5)|kimi-k2|minimax-m[2-9]"
    r"|grok-(?:[3-9]|code)|granite-?[34]|hermes-?[34]|nova-(?:micro|lite|pro|premier)|codestral|pixtral|phi-4-mini(?!-reas)"
    r"|nemotron-3|seed-oss|jamba|mimo-v2|longcat-flash|step-3"
)
"""Matches the beginning of ids of models trained to call tools, as of November 2026. A server may still refuse them."""

_DATE = lazy_pattern(r"-(\d{4}-\d\d-\d\d|20\d{6}|latest)$")
_SPELLING = lazy_pattern(r"^(?:.*/)?(?:meta-)?(llama|gemma|phi)-?(?=\d)")
_BEDROCK = lazy_pattern(
    r"^(?:(?:us|eu|apac|jp|au|ca|global)\.)?(?:amazon|anthropic|cohere|mistral|moonshot|openai|qwen)\."
)
"""The region and the maker before a model's name at Amazon Bedrock."""
_BILLIONS = lazy_pattern(r"(?<![\w.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])")


def window_of(model_id: str) -> int:
    """The model's context window in tokens; UNKNOWN_WINDOW for an unknown model."""
    return known_window(model_id) or UNKNOWN_WINDOW


def known_window(model_id: str) -> int | None:
    """The model's context window in tokens; None for an unknown model."""
    name = _name(model_id)
    if "-chat" in name and name.startswith("gpt-5"):
        return 128_000
    fitting = [start for start in WINDOWS if re.match(rf"{re.escape(start)}(?![\d])", name)]
    return WINDOWS[max(fitting, key=len)] if fitting else None


def _name(model_id: str) -> str:
    """The model's name in the spelling of the tables, without its maker and region."""
    return _BEDROCK.sub("", _SPELLING.sub(r"\1-", model_id.lower()).rsplit("/", 1)[-1])


def sees_images(model_id: str) -> bool:
    """Whether a model accepts images, judged by its id."""
    return bool(IMAGE_MODEL_IDS.match(_name(model_id)))


def calls_tools(model_id: str) -> bool:
    """Whether a model can be offered tools, judged by its id."""
    return bool(TOOL_MODEL_IDS.match(_name(model_id)))


def price_of(model_id: str, base_url: str) -> Price | None:
    """The price of a model at OpenAI or Anthropic; None for other servers, whose prices for the same model differ."""
    name = _DATE.sub("", model_id)
    if is_openai(base_url):
        return OPENAI_PRICES.get(name)
    return ANTHROPIC_PRICES.get(name) if is_anthropic(base_url) else None


def parameters_of(model_id: str) -> float | None:
    """Billions of parameters that the id names (8.0 for "llama-3.1-8b-instruct"); None if it names none."""
    match = _BILLIONS.search(model_id.lower())
    if not match:
        return None
    return float(match[1]) / (1_000 if match[2] == "m" else 1)


def is_openai(base_url: str) -> bool:
    """Whether the address is OpenAI's own; an empty one counts as OpenAI's."""
    host = host_of(base_url or OPENAI_URL)
    return host == "openai.com" or host.endswith(".openai.com")


def is_anthropic(base_url: str) -> bool:
    """Whether the address is Anthropic's own."""
    host = host_of(base_url)
    return host == "anthropic.com" or host.endswith(".anthropic.com")


_AZURE = re.compile(r"[\w.-]+\.(?:openai|cognitiveservices|services\.ai)\.azure\.(?:com|us|cn)")


def is_azure(base_url: str) -> bool:
    """Whether the address is a resource of Azure OpenAI or Foundry, in any of Azure's clouds."""
    return _AZURE.fullmatch(host_of(base_url)) is not None


def is_local(base_url: str) -> bool:
    """Whether the address is on this machine or a private network, as that of a self-hosted model."""
    host = host_of(base_url)
    try:
        address = ip_address(host)
    except ValueError:
        return bool(host) and ("." not in host or host.endswith((".local", ".localhost", ".internal", ".lan")))
    return address.is_private or address.is_loopback or address.is_link_local
