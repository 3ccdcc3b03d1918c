"""Which models there are, which one is used for what, and how each is reached."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from compression.core.extractive import Extractive
from conversations.llm import builtin, chat_templates, correction, lengths
from conversations.llm.anthropic import Anthropic
from conversations.llm.attempts import ATTEMPTS
from conversations.llm.base import Model, NotConfigured
from conversations.llm.known import (
    ANTHROPIC_URL,
    OPENAI_URL,
    UNKNOWN_WINDOW,
    calls_tools,
    is_local,
    is_openai,
    known_window,
    parameters_of,
    price_of,
    sees_images,
    window_of,
)
from conversations.llm.openai import OpenAICompatible
from conversations.llm.provider import Provider as HttpProvider
from conversations.models import ModelProfile
from conversations.prompt import Prompt

Quality = Literal["fast", "standard"]
Provider, Role = ModelProfile.Provider, ModelProfile.Role

HOMES: dict[str, str] = {Provider.OPENAI: OPENAI_URL, Provider.ANTHROPIC: ANTHROPIC_URL}
DEFAULT_OPENAI_MODEL = "gpt-4.1-mini"
DEFAULT_ANTHROPIC_MODEL = "claude-sonnet-5-5"
DEFAULT_OTHER_MODEL = "default"
"""Servers with a single model, such as llama.cpp's, take any name."""
NO_MODEL = (
    "No model is set. Set OPENAI_API_KEY or ANTHROPIC_API_KEY, or OPENAI_BASE_URL and OPENAI_MODEL, and "
    "start again, or run `python manage.py fetch_model` for the built-in demo model."
)


def sync_profiles() -> None:
    """Make the profiles of the environment what the environment says now.

    What is learned or edited stays: the token correction, and window, prices and limits unless a variable names them.
    A profile that an administrator made under the same name is left alone.
    """
    with transaction.atomic():
        wanted = [*_openai(), *_anthropic(), *_builtin()]
        for row in wanted:
            _upsert(**row)
        gone = ModelProfile.objects.filter(from_environment=True, enabled=True)
        gone.exclude(name__in=[row["name"] for row in wanted]).update(enabled=False)


def chat_profiles() -> QuerySet[ModelProfile]:
    """Those that a person may choose for a conversation."""
    return ModelProfile.objects.filter(enabled=True, role=Role.CHAT).order_by("id")


def default_profile() -> ModelProfile | None:
    """The profile of a new conversation: the first for chat that is enabled, the built-in one last."""
    chat = chat_profiles()
    return chat.exclude(provider=Provider.BUILTIN).first() or chat.first()


def profile_for(profile_id: int | None) -> ModelProfile:
    """The conversation's own model, or the default one where it is gone or disabled. Raises NotConfigured."""
    own = ModelProfile.objects.filter(pk=profile_id, enabled=True).first() if profile_id else None
    profile = own or default_profile()
    if profile is None:
        raise NotConfigured(NO_MODEL)
    return profile


def learn_correction(profile: ModelProfile, owner_id: int, *, estimated: int, reported: int) -> None:
    """Learn from what a provider reports for a person's request that we counted as `estimated` tokens.

    One person's requests cannot move the correction past what others' say. A query only where something moved, and
    where a person is heard first: who agrees with the correction has a say in it too.
    """
    if not correction.counts(estimated=estimated, reported=reported):
        return
    now, before = profile.token_correction, dict(profile.token_reports)
    reports = correction.with_report(profile.token_reports, owner_id, now, estimated=estimated, reported=reported)
    found = correction.agreed(now, [average for _, average in reports])
    moved = max(abs(found - now), abs(reports[-1][1] - before.get(owner_id, now)))
    is_first = owner_id not in before and len(before) < correction.OWNERS
    if is_first or moved > 0.005:
        ModelProfile.objects.filter(pk=profile.pk).update(token_correction=found, token_reports=reports)


def summary_profiles(quality: Quality, chat_profile: ModelProfile) -> list[ModelProfile]:
    """Who summarises, and who else where that fails: the profile of that role, of the other one, the chat's own.

    Of several in a role those of the chat's provider go first. None in place of the built-in model: the extractive
    summariser is better at it.
    """
    other: Quality = "standard" if quality == "fast" else "fast"
    found = [_in_role(quality, chat_profile), _in_role(other, chat_profile), chat_profile]
    if found[0] is None:
        found = [chat_profile, found[1]]
    profiles = {profile.pk: profile for profile in found if profile}
    return [profile for profile in profiles.values() if profile.provider != Provider.BUILTIN]


def summariser_of(quality: Quality, chat_profile: ModelProfile) -> str:
    """Who is asked first for a summary of that quality, where no policy names another."""
    profiles = summary_profiles(quality, chat_profile)
    return profiles[0].name if profiles else Extractive.name


def _in_role(quality: Quality, chat_profile: ModelProfile) -> ModelProfile | None:
    own = ModelProfile.objects.filter(enabled=True, role=quality).order_by("id")
    return min(own, key=lambda profile: profile.provider != chat_profile.provider, default=None)


def connect(profile: ModelProfile, *, used: int = 0, timeout: float | None = None, attempts: int = ATTEMPTS) -> Model:
    """The model behind a profile; nothing is opened or loaded before it is asked. `timeout`: None is the site's.

    `used` are the tokens of its window that the prompt of a stream takes: the rest bounds the reply.
    """
    if profile.provider == Provider.BUILTIN:
        return builtin.shared()
    how: dict[str, Any] = {
        "name": profile.name,
        "model": profile.model_id,
        "base_url": profile.base_url,
        "api_key": profile.api_key,
        "timeout": timeout or settings.MODEL_TIMEOUT_SECONDS,
        "attempts": attempts,
        "chat_template": profile.chat_template,
        "remember": partial(chat_templates.remember, profile),
    }
    library = Anthropic if profile.provider == Provider.ANTHROPIC else OpenAICompatible
    return library(max_tokens=reply_limit(profile, used=used), most=_most(profile, used=used), **how)


def tells_of_tools(profile: ModelProfile, prompt: Prompt) -> bool:
    """Whether the tools that a prompt offers go to the model, as far as is known: some servers refuse them."""
    model = connect(profile)
    return isinstance(model, HttpProvider) and model.tells_of_tools(prompt)


def reply_limit(profile: ModelProfile, *, used: int) -> int | None:
    """Tokens that a reply is asked for, beside a prompt that takes `used` of the window; None: the server's own limit.

    That of the profile, else the most that the model can write: only Anthropic's API must be told. Never more than the
    window leaves, which is never less than what is kept free.
    """
    wanted = profile.max_reply_tokens
    if profile.provider == Provider.ANTHROPIC:
        wanted = wanted or lengths.most_of(profile.model_id, _address(profile)) or lengths.UNKNOWN
    if not wanted:
        return None
    return lengths.least(wanted, _left(profile, used), lengths.learned(_address(profile), profile.model_id))


def _most(profile: ModelProfile, *, used: int) -> int | None:
    """For a reply with the thoughts before it: what the window leaves, and the model can write as far as is known."""
    known = lengths.most_of(profile.model_id, _address(profile))
    known = max(known, profile.max_reply_tokens or 0) if known else None
    return lengths.least(known, _left(profile, used))


def _address(profile: ModelProfile) -> str:
    return profile.base_url or HOMES.get(profile.provider, "")


def _left(profile: ModelProfile, used: int) -> int:
    window = profile.usable_window
    return max(window.size - used, window.reserve)


def _openai() -> list[dict[str, Any]]:
    """The rows that the OPENAI_* settings ask for."""
    url, window = settings.OPENAI_BASE_URL, settings.OPENAI_CONTEXT_WINDOW
    if not (settings.OPENAI_API_KEY or url or settings.OPENAI_MODEL):
        return []
    rows = _rows(
        {"provider": Provider.OPENAI, "base_url": url, "api_key": settings.OPENAI_API_KEY},
        chat=settings.OPENAI_MODEL or (DEFAULT_OPENAI_MODEL if is_openai(url) else DEFAULT_OTHER_MODEL),
        fast=settings.OPENAI_FAST_MODEL,
        standard=settings.OPENAI_STANDARD_MODEL,
    )
    if window:
        rows[0]["always"]["window"] = window
    return _inheriting(rows)


def _anthropic() -> list[dict[str, Any]]:
    """The rows that the ANTHROPIC_* settings ask for."""
    url = settings.ANTHROPIC_BASE_URL
    if not (settings.ANTHROPIC_API_KEY or url or settings.ANTHROPIC_MODEL):
        return []
    rows = _rows(
        {"provider": Provider.ANTHROPIC, "base_url": url, "api_key": settings.ANTHROPIC_API_KEY},
        chat=settings.ANTHROPIC_MODEL or DEFAULT_ANTHROPIC_MODEL,
        fast=settings.ANTHROPIC_FAST_MODEL,
        standard=settings.ANTHROPIC_STANDARD_MODEL,
    )
    return _inheriting(rows)


def _inheriting(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same; those for summaries whose model nobody knows have the window of the chat model of their server."""
    chat, *summaries = rows
    stored = ModelProfile.objects.filter(name=chat["name"], from_environment=True).values_list("window", flat=True)
    window = chat["always"].get("window") or stored.first() or chat["first"]["window"]
    for row in summaries:
        if known_window(row["always"]["model_id"]) is None:
            row["first"]["window"] = row["instead_of_unknown"] = window
    return rows


def _rows(access: dict[str, str], *, chat: str, fast: str, standard: str) -> list[dict[str, Any]]:
    """A row for each model that is named, the one for chat first."""
    summaries = [(model, role) for model, role in ((fast, Role.FAST), (standard, Role.STANDARD)) if model]
    return [
        _row(chat, chat, Role.CHAT, access),
        *(_row(f"{model} ({role.label})", model, role, access) for model, role in summaries),
    ]


def _row(name: str, model: str, role: ModelProfile.Role, access: dict[str, str]) -> dict[str, Any]:
    url = access["base_url"] or HOMES[access["provider"]]
    price = price_of(model, url)
    first: dict[str, Any] = {
        "window": window_of(model),
        "parameters_billion": parameters_of(model),
        "sees_images": sees_images(model),
        "calls_tools": calls_tools(model),
        "token_correction": correction.FIRST["openai" if is_openai(url) else "other"],
    }
    if price:
        first |= {"price_input": price.input, "price_cached": price.cached, "price_output": price.output}
    return {
        "name": name,
        "always": access | {"model_id": model, "role": role, "is_local": is_local(url)},
        "first": first,
    }


def _builtin() -> list[dict[str, Any]]:
    if not builtin.is_available():
        return []
    always = {"provider": Provider.BUILTIN, "model_id": builtin.MODEL_ID, "role": Role.CHAT, "is_local": True}
    first = {
        "window": builtin.WINDOW,
        "max_reply_tokens": builtin.MAX_REPLY_TOKENS,
        "parameters_billion": 0.135,
        "token_correction": correction.FIRST["other"],
    }
    return [{"name": builtin.NAME, "always": always, "first": first}]


def _upsert(*, name: str, always: dict[str, Any], first: dict[str, Any], instead_of_unknown: int | None = None) -> None:
    """`instead_of_unknown` is a window for a row that has none but `UNKNOWN_WINDOW`."""
    always = always | {"enabled": True}
    row, is_new = ModelProfile.objects.get_or_create(name=name, defaults=first | always | {"from_environment": True})
    if not is_new and row.from_environment:
        if instead_of_unknown and row.window == UNKNOWN_WINDOW:
            always["window"] = instead_of_unknown
        if any(getattr(row, field) != always[field] for field in ("base_url", "model_id") if field in always):
            # What was learned of one server says nothing of another.
            always["chat_template"] = ModelProfile.ChatTemplate.FREE
        for field, value in always.items():
            setattr(row, field, value)
        row.save(update_fields=always)
