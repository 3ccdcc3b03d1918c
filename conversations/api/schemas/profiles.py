"""Models that conversations can use."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from conversations.api.schemas.fields import Effort, Money, Tokens, about


class Prices(BaseModel):
    """US dollars for a million tokens; null where a price is not known."""

    input: Money | None = about("Of a request.", "0.4000")
    cached: Money | None = about("Of a request's tokens that the provider had kept; null: as the input.", "0.1000")
    output: Money | None = about("Of a reply.", "1.6000")


class Summarisers(BaseModel):
    """Who summarises its conversations, where no policy names another. Two qualities of one name are one model."""

    fast: str = about("Of quality `fast`: by itself, and by the API unless it asks for the other.", "gpt-4.1-nano")
    standard: str = about("Of quality `standard`: for the button.", "gpt-4.1")


class Model(BaseModel):
    name: str = about("How conversations name it.", "gpt-4.1-mini")
    provider: Literal["openai", "anthropic", "builtin"] = about("What it is spoken to as.", "openai")
    window: Tokens = about("Tokens of its usable context window.", 1_047_576)
    window_source: Literal["hand", "name", "asked", "counted", "mark", "inherited", "default"] = about(
        "How the window is known: set by hand, by the model's name, asked of its server, found by the tokens that the "
        "server counts or by a mark at the head of requests, as the chat model of its server, or not at all.",
        "name",
    )
    budget: Tokens = about("Tokens that a request may take: the window less what is kept for the reply.", 1_046_576)
    max_reply_tokens: Tokens | None = about("Tokens of a reply at most; null: the provider's own limit.", None)
    prices: Prices
    is_default: bool = about("Whether a conversation has it that names none.", True)
    is_local: bool = about("Whether it runs on this machine or in its network.", False)
    sees_images: bool = about("Whether images are sent to it; other models get their names.", True)
    calls_tools: bool = about("Whether it is offered tools.", True)
    effort: Effort | None = about("How hard it thinks where a conversation does not say; null: as its provider has it.")
    silence_seconds: int = about("Seconds that it may send nothing before a reply is given up.", 600, ge=1)
    chat_template: Literal["free", "strict", "no_system"] = about(
        "Which messages its chat template takes: strict: one system message, then user and assistant in turn.", "free"
    )
    summarisers: Summarisers


class Models(BaseModel):
    items: list[Model] = about("All of them.")
    next: None = about("There is never a second page.", None)
