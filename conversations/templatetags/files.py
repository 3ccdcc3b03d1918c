"""How files of messages read on the page."""

from __future__ import annotations

from decimal import Decimal

from django import template

from conversations.models import Attachment, ModelProfile

register = template.Library()


@register.filter
def price_with(attachment: Attachment, profile: ModelProfile | None) -> Decimal | None:
    """US dollars that it adds to a request; None where the model has no price."""
    return profile.cost(prompt=attachment.tokens, cached=0, completion=0) if profile else None


@register.filter
def is_unseen_by(attachment: Attachment, profile: ModelProfile | None) -> bool:
    """Whether it is an image, and the model one that sees none."""
    return attachment.kind == Attachment.Kind.IMAGE and profile is not None and not profile.sees_images


@register.filter
def bytes_size(size: int) -> str:
    """In units of 1,000, as the limits are told."""
    if size < 1_000:
        return f"{size} B"
    return f"{size / 1_000:.0f} KB" if size < 999_500 else f"{size / 1_000_000:.1f} MB"
