"""Manages model profiles: makes those of the environment, chooses one for each purpose, and connects to its model."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from django.conf import settings
from django.db import transaction
from django.db.models import Case, Exists, OuterRef, QuerySet, When

from compression.core.error_codes import ErrorCode
from compression.core.extractive.summariser import Extractive
from conversations.compiled_query import Prepared, PreparedObjects
from conversations.llm import token_correction
from conversations.llm.errors import NotConfigured
from conversations.llm.known_models import (
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
from conversations.llm.port import Model
from conversations.llm.providers import builtin, chat_templates, reply_lengths
from conversations.llm.providers.provider import Provider as HttpProvider
from conversations.llm.providers.registry import PROVIDERS
from conversations.llm.request import Prompt
from conversations.llm.retries import ATTEMPTS
from conversations.llm.windows import windows
from conversations.models import ModelProfile, User

Quality = Literal["fast", "standard"]
Provider, Role, Source = ModelProfile.Provider, ModelProfile.Role, ModelProfile.WindowSource

DEFAULT_OPENAI_MODEL = "gpt-4.1-mini"
DEFAULT_ANTHROPIC_MODEL = "claude-sonnet-5-5"
DEFAULT_OPENAI_FAST_MODEL, DEFAULT_ANTHROPIC_FAST_MODEL = "gpt-4.1-nano", "claude-haiku-4-5"
"""The default models for quick summaries if only a key is set."""
DEFAULT_OTHER_MODEL = "default"
"""The model's name for servers with a single model, such as llama.cpp's, which accept any name."""
FAR = "far"
"""The key in `ModelProfile.window_evidence` of a person's last reports above twice the estimate."""
NO_MODEL = (
    "No model is set. Set OPENAI_API_KEY or ANTHROPIC_API_KEY, or OPENAI_BASE_URL and OPENAI_MODEL, and "
    "start again, or run `python manage.py fetch_model` for the built-in demo model."
)


def sync_profiles() -> None:
    """Update the profiles that come from the environment to its present variables.

    Learned and edited values stay: the token correction, and window, prices and limits unless a variable names them. A
    named window does not come back where its server was found to read less.
    A profile of the same name that an administrator made does not change.
    """
    with transaction.atomic():
        wanted = [*_openai(), *_anthropic(), *_builtin()]
        for row in wanted:
            _upsert(**row)
        gone = ModelProfile.objects.filter(from_environment=True, enabled=True)
        gone.exclude(name__in=[row["name"] for row in wanted]).update(enabled=False)


def enabled() -> QuerySet[ModelProfile]:
    """The models that can be asked, in the order in which they were made."""
    return ModelProfile.objects.filter(enabled=True).order_by("id")


def open_to(person_id: int) -> QuerySet[ModelProfile]:
    """The enabled profiles that a person may use: those of no group, and those of a group of theirs.

    A superuser may use all of them.
    """
    groups = ModelProfile.groups.through.objects.filter(modelprofile=OuterRef("pk"))
    superuser = User.objects.filter(pk=person_id, is_superuser=True)
    return enabled().filter(~Exists(groups) | Exists(groups.filter(group__user=person_id)) | Exists(superuser))


_OPEN = Prepared(
    lambda profile, person: open_to(person).filter(pk=profile).order_by().values_list("pk"),
    profile=(ModelProfile._meta.pk, -7),
    person=(User._meta.pk, -8),
)
"""`open_to` for one profile, compiled: every event of an open page runs it."""


def is_open_to(profile: ModelProfile, person_id: int) -> bool:
    """Whether a person may use the profile now."""
    return profile.enabled and bool(_OPEN.rows(profile=profile.pk, person=person_id))


def chat_profiles(person_id: int) -> QuerySet[ModelProfile]:
    """The profiles that a person may choose for a conversation."""
    return open_to(person_id).filter(role=Role.CHAT)


def named(name: str, among: QuerySet[ModelProfile] | None = None) -> ModelProfile | None:
    """The profile with this name `among` the enabled ones; None if there is none, and for ""."""
    return (enabled() if among is None else among).filter(name=name).first() if name else None


def default_profile(person_id: int) -> ModelProfile | None:
    """The first chat profile that a person may use; the built-in one only if it is the only one."""
    return _DEFAULT.first(person=person_id)


def first_of(chat: QuerySet[ModelProfile]) -> ModelProfile | None:
    """The first profile that is not the built-in one; the built-in one if there is no other."""
    return _builtin_last(chat).first()


def _builtin_last(chat: QuerySet[ModelProfile]) -> QuerySet[ModelProfile]:
    return chat.order_by(Case(When(provider=Provider.BUILTIN, then=1), default=0), "id")


_DEFAULT = PreparedObjects(lambda person: _builtin_last(chat_profiles(person))[:1], person=(User._meta.pk, -8))
"""`default_profile`, compiled: every page and every fetch of one runs it."""


def profile_for(profile_id: int | None, person_id: int) -> ModelProfile:
    """A conversation's own profile, or the default one of its person if they may not use that. Raises NotConfigured."""
    own = open_to(person_id).filter(pk=profile_id).first() if profile_id else None
    profile = own or default_profile(person_id)
    if profile is None:
        raise NotConfigured(NO_MODEL, code=ErrorCode.NO_MODEL)
    return profile


def learn_correction(profile: ModelProfile, owner_id: int, *, estimated: int, reported: int) -> None:
    """Update the token correction by a report of a person's request: `estimated` tokens by our count, `reported` ones.

    One person's reports cannot move the correction past those of others. The row is written only if the correction or
    the person's average changed, or for the person's first report, which counts even if it confirms the correction.
    A report above twice the estimate counts once three of a person in a row agree.
    """
    far = profile.window_evidence.get(FAR, {}).get(str(owner_id), [])
    far = token_correction.far_reports(far, estimated=estimated, reported=reported)
    windows.note(profile, **{FAR: {str(owner_id): far} if far else None})
    factor = token_correction.believed(far)
    is_plausible = token_correction.is_plausible(estimated=estimated, reported=reported)
    if not is_plausible and factor is None:
        return
    now, before = profile.token_correction, dict(profile.token_reports)
    if factor is None:
        reports = token_correction.with_report(
            profile.token_reports, owner_id, now, estimated=estimated, reported=reported
        )
    else:
        reports = token_correction.with_average(profile.token_reports, owner_id, factor)
    correction = token_correction.agreed_correction(now, [average for _, average in reports])
    change = max(abs(correction - now), abs(reports[-1][1] - before.get(owner_id, now)))
    is_first = owner_id not in before and len(before) < token_correction.MAX_OWNERS
    if is_first or change > 0.005:
        ModelProfile.objects.filter(pk=profile.pk).update(token_correction=correction, token_reports=reports)


def summary_profiles(quality: Quality, chat_profile: ModelProfile) -> list[ModelProfile]:
    """The profiles that summarise, in order of preference: the role's, the other quality's, the chat's own.

    Of several profiles in a role, one of the chat's provider is preferred. The built-in model never summarises: the
    extractive summariser is better.
    """
    other: Quality = "standard" if quality == "fast" else "fast"
    candidates = [_in_role(quality, chat_profile), _in_role(other, chat_profile), chat_profile]
    if candidates[0] is None:
        candidates = [chat_profile, candidates[1]]
    profiles = {profile.pk: profile for profile in candidates if profile}
    return [profile for profile in profiles.values() if profile.provider != Provider.BUILTIN]


def summariser_of(quality: Quality, chat_profile: ModelProfile) -> str:
    """The name of the first summariser for a quality, if no policy names another."""
    profiles = summary_profiles(quality, chat_profile)
    return profiles[0].name if profiles else Extractive.name


def _in_role(quality: Quality, chat_profile: ModelProfile) -> ModelProfile | None:
    own = enabled().filter(role=quality)
    return min(own, key=lambda profile: profile.provider != chat_profile.provider, default=None)


def connect(
    profile: ModelProfile,
    *,
    used: int = 0,
    timeout: float | None = None,
    attempts: int = ATTEMPTS,
    effort: str = "",
) -> Model:
    """The model of a profile; nothing is opened or loaded before its first request. `timeout` None: the site's.

    `used` are the tokens of the window that the prompt of a stream takes; the rest bounds the reply. `effort` is the
    conversation's, "" the profile's.
    """
    if profile.provider == Provider.BUILTIN:
        return builtin.shared()
    effort = effort or profile.effort
    options: dict[str, Any] = {
        "name": profile.name,
        "model": profile.model_id,
        "base_url": profile.base_url,
        "api_key": profile.api_key,
        "timeout": timeout or profile.silence(effort, default=settings.MODEL_TIMEOUT_SECONDS),
        "effort": effort,
        "attempts": attempts,
        "chat_template": profile.chat_template,
        "remember": partial(chat_templates.remember, profile),
        "learn_limit": partial(windows.learn_limit, profile),
        "mark": windows.mark_for(profile),
    }
    return PROVIDERS[profile.provider](
        max_tokens=reply_limit(profile, used=used), most=_most(profile, used=used), **options
    )


def passes_tools(profile: ModelProfile, prompt: Prompt) -> bool:
    """Whether the model gets the prompt's tools: not if its server is known to refuse them."""
    model = connect(profile)
    return isinstance(model, HttpProvider) and model.passes_tools(prompt)


def reply_limit(profile: ModelProfile, *, used: int) -> int | None:
    """The limit of a reply in tokens, after a prompt of `used` tokens; None: the server's own limit.

    It is the profile's maximum, else for Anthropic's API, which requires a limit, the model's own. It never exceeds
    the rest of the window, or the reserve if the rest is smaller.
    """
    wanted = profile.max_reply_tokens
    if profile.provider == Provider.ANTHROPIC:
        wanted = (
            wanted
            or reply_lengths.max_reply_tokens(profile.model_id, _address(profile))
            or reply_lengths.UNKNOWN_MAX_TOKENS
        )
    if not wanted:
        return None
    return reply_lengths.smallest(
        wanted, _left(profile, used), reply_lengths.learned(_address(profile), profile.model_id)
    )


def _most(profile: ModelProfile, *, used: int) -> int | None:
    """The limit, in tokens, of a reply with the thoughts before it: the rest of the window or the model's maximum."""
    known = reply_lengths.max_reply_tokens(profile.model_id, _address(profile))
    known = max(known, profile.max_reply_tokens or 0) if known else None
    return reply_lengths.smallest(known, _left(profile, used))


def _address(profile: ModelProfile) -> str:
    """The base URL of a profile's server; "" is the built-in model, which has none."""
    if profile.base_url or profile.provider == Provider.BUILTIN:
        return profile.base_url
    return PROVIDERS[profile.provider].home


def _left(profile: ModelProfile, used: int) -> int:
    window = profile.usable_window
    return max(window.size - used, window.reserve)


def _openai() -> list[dict[str, Any]]:
    """The profiles that the OPENAI_* settings define."""
    url, window = settings.OPENAI_BASE_URL, settings.OPENAI_CONTEXT_WINDOW
    if not (settings.OPENAI_API_KEY or url or settings.OPENAI_MODEL):
        return []
    is_alone = is_openai(url) and not settings.OPENAI_MODEL
    rows = _rows(
        {"provider": Provider.OPENAI, "base_url": url, "api_key": settings.OPENAI_API_KEY},
        chat=settings.OPENAI_MODEL or (DEFAULT_OPENAI_MODEL if is_openai(url) else DEFAULT_OTHER_MODEL),
        fast=settings.OPENAI_FAST_MODEL or (DEFAULT_OPENAI_FAST_MODEL if is_alone else ""),
        standard=settings.OPENAI_STANDARD_MODEL,
    )
    if window:
        rows[0]["always"] |= {"window": window, "window_source": Source.HAND}
    return _inheriting(rows)


def _anthropic() -> list[dict[str, Any]]:
    """The profiles that the ANTHROPIC_* settings define."""
    url = settings.ANTHROPIC_BASE_URL
    if not (settings.ANTHROPIC_API_KEY or url or settings.ANTHROPIC_MODEL):
        return []
    is_alone = not (url or settings.ANTHROPIC_MODEL)
    rows = _rows(
        {"provider": Provider.ANTHROPIC, "base_url": url, "api_key": settings.ANTHROPIC_API_KEY},
        chat=settings.ANTHROPIC_MODEL or DEFAULT_ANTHROPIC_MODEL,
        fast=settings.ANTHROPIC_FAST_MODEL or (DEFAULT_ANTHROPIC_FAST_MODEL if is_alone else ""),
        standard=settings.ANTHROPIC_STANDARD_MODEL,
    )
    return _inheriting(rows)


def _inheriting(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows; a row for summaries whose model is unknown gets the window of its server's chat model."""
    chat, *summaries = rows
    stored = ModelProfile.objects.filter(name=chat["name"], from_environment=True).values_list("window", flat=True)
    window = chat["always"].get("window") or stored.first() or chat["first"]["window"]
    for row in summaries:
        if known_window(row["always"]["model_id"]) is None:
            row["first"] |= {"window": window, "window_source": Source.INHERITED}
            row["instead_of_unknown"] = window
    return rows


def _rows(access: dict[str, str], *, chat: str, fast: str, standard: str) -> list[dict[str, Any]]:
    """A row for each named model, the chat model first."""
    summaries = [(model, role) for model, role in ((fast, Role.FAST), (standard, Role.STANDARD)) if model]
    return [
        _row(chat, chat, Role.CHAT, access),
        *(_row(f"{model} ({role.label})", model, role, access) for model, role in summaries),
    ]


def _row(name: str, model: str, role: ModelProfile.Role, access: dict[str, str]) -> dict[str, Any]:
    url = access["base_url"] or PROVIDERS[access["provider"]].home
    price = price_of(model, url)
    first: dict[str, Any] = {
        "window": window_of(model),
        "window_source": Source.NAME if known_window(model) else Source.DEFAULT,
        "parameters_billion": parameters_of(model),
        "sees_images": sees_images(model),
        "calls_tools": calls_tools(model),
        "token_correction": token_correction.INITIAL["openai" if is_openai(url) else "other"],
    }
    if price:
        first |= {"price_input": price.input, "price_cached": price.cached, "price_output": price.output}
    return {
        "name": name,
        "always": access | {"model_id": model, "role": role, "is_local": is_local(url)},
        "first": first,
    }


def new_profile(name: str, *, provider: str, base_url: str, api_key: str, model_id: str) -> ModelProfile:
    """An unsaved profile for chat, with the known window, prices and abilities of a model of this id."""
    row = _row(name, model_id, Role.CHAT, {"provider": provider, "base_url": base_url, "api_key": api_key})
    return ModelProfile(name=name, **row["first"], **row["always"])


def _builtin() -> list[dict[str, Any]]:
    if not builtin.is_available():
        return []
    always = {"provider": Provider.BUILTIN, "model_id": builtin.MODEL_ID, "role": Role.CHAT, "is_local": True}
    first = {
        "window": builtin.WINDOW,
        "window_source": Source.NAME,
        "max_reply_tokens": builtin.MAX_REPLY_TOKENS,
        "parameters_billion": 0.135,
        "token_correction": token_correction.INITIAL["other"],
    }
    return [{"name": builtin.NAME, "always": always, "first": first}]


def _upsert(*, name: str, always: dict[str, Any], first: dict[str, Any], instead_of_unknown: int | None = None) -> None:
    """Create a profile with `first` and `always`, or set `always` on the existing one of the environment.

    `instead_of_unknown` replaces a window that is only UNKNOWN_WINDOW.
    """
    always = always | {"enabled": True}
    row, is_new = ModelProfile.objects.get_or_create(name=name, defaults=first | always | {"from_environment": True})
    if not is_new and row.from_environment:
        if instead_of_unknown and row.window == UNKNOWN_WINDOW:
            always |= {"window": instead_of_unknown, "window_source": Source.INHERITED}
        if any(getattr(row, field) != always[field] for field in ("base_url", "model_id") if field in always):
            # The chat template and the window were learned from another server.
            always["chat_template"] = ModelProfile.ChatTemplate.FREE
            always |= windows.forgotten(row, first) | {name: always[name] for name in always if name in first}
        elif windows.is_disproved(row, always.get("window")):
            always = {name: value for name, value in always.items() if name not in ("window", "window_source")}
        for field, value in always.items():
            setattr(row, field, value)
        row.save(update_fields=always)
