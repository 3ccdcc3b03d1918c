"""/api/models: what conversations can be had with."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.conf import settings
from ninja import Router

from conversations.api.auth import Request
from conversations.api.schemas import profiles as schema
from conversations.api.schemas.fields import described
from conversations.llm.profiles import chat_profiles, default_profile, summariser_of
from conversations.models import ModelProfile

router = Router(tags=["models"])


@router.get("/models", operation_id="models_list_all", response=described(schema.Models), summary="List models")
def list_models(request: Request) -> dict[str, Any]:
    """The models that are enabled for chat, without their keys and addresses."""
    default = default_profile(request.auth.pk)
    return {
        "items": [_model_json(row, is_default=row == default) for row in chat_profiles(request.auth.pk)],
        "next": None,
    }


def _model_json(profile: ModelProfile, *, is_default: bool) -> dict[str, Any]:
    window = profile.usable_window
    return {
        "name": profile.name,
        "provider": profile.provider,
        "window": window.size,
        "window_source": profile.window_source,
        "budget": window.budget,
        "max_reply_tokens": profile.max_reply_tokens,
        "prices": {
            "input": _price(profile.price_input),
            "cached": _price(profile.price_cached),
            "output": _price(profile.price_output),
        },
        "is_default": is_default,
        "is_local": profile.is_local,
        "sees_images": profile.can_see,
        "calls_tools": profile.can_call,
        "effort": profile.effort or None,
        "silence_seconds": round(profile.silence(profile.effort, default=settings.MODEL_TIMEOUT_SECONDS)),
        "chat_template": profile.chat_template,
        "summarisers": {"fast": summariser_of("fast", profile), "standard": summariser_of("standard", profile)},
    }


def _price(price: Decimal | None) -> str | None:
    return None if price is None else str(price)
