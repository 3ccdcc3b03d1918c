"""The page on which an administrator connects a model: a preset, an address, a key, a model of the server's list."""

from __future__ import annotations

import time
from copy import copy
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect

from conversations.errors import Invalid, NotFound
from conversations.llm.pasted import pasted_address, pasted_key, with_version
from conversations.llm.presets import BY_ID, PRESETS, Preset
from conversations.llm.probes.connection_test import ConnectionTest, offered_models, test_connections
from conversations.llm.profiles import new_profile
from conversations.llm.windows import windows
from conversations.models import ModelProfile
from conversations.page.views.guard import Request, member
from conversations.page.views.sidebar import sidebar

MAX_LISTED = 2_000
"""The most models of a server that the page suggests."""
QUICK_SECONDS = 5.0
"""A server that answers later, or not at all, is not asked at a second address: a person waits."""


@member
@never_cache
@require_GET
def connect_model(request: Request) -> HttpResponse:
    """The form for a preset."""
    _require_administrator(request)
    preset = BY_ID.get(request.GET.get("preset", ""), PRESETS[0])
    context = {"preset": preset, "presets": PRESETS, "sidebar": sidebar(request.user)}
    return render(request, "conversations/settings/connect.html", context)


@member
@require_POST
def list_models(request: Request) -> HttpResponse:
    """The models that the server of the form lists."""
    _require_administrator(request)
    profile = _profile(request.POST, _preset(request.POST), model_id="none")
    began = time.monotonic()
    offered = async_to_sync(offered_models)(profile)
    if not offered and (versioned := _with_version(profile, since=began)):
        offered = async_to_sync(offered_models)(versioned)
    return render(request, "conversations/settings/_offered.html", {"offered": offered[:MAX_LISTED]})


@member
@require_POST
def save_model(request: Request) -> HttpResponse:
    """Ask the model for a few words, and save it if it answers, or `anyway`. The response says why it does not."""
    _require_administrator(request)
    preset = _preset(request.POST)
    profile = _profile(request.POST, preset, model_id=request.POST.get("model_id", "").strip())
    trial = _tried(profile)
    profile = trial.profile
    if trial.fault and "anyway" not in request.POST:
        return render(
            request, "conversations/settings/_connected.html", {"trial": trial, "offered": trial.offered[:12]}
        )
    profile.save()
    windows.inherit(profile)
    windows.ask_later(profile)
    if trial.fault:
        messages.success(
            request,
            _("%(model)s is saved. It did not answer: %(fault)s") % {"model": profile.name, "fault": trial.fault},
        )
    else:
        words = _("%(model)s is connected: it answered in %(seconds)s s.")
        messages.success(request, words % {"model": profile.name, "seconds": f"{trial.ms / 1000:.1f}"})
    return HttpResponseClientRedirect(reverse("home"))


def _tried(profile: ModelProfile) -> ConnectionTest:
    """The test of a profile; where it fails at an address without a path, that of the address with a version."""
    began = time.monotonic()
    (trial,) = async_to_sync(test_connections)([profile])
    if trial.fault and (versioned := _with_version(profile, since=began)):
        (other,) = async_to_sync(test_connections)([versioned])
        return trial if other.fault else other
    return trial


def _with_version(profile: ModelProfile, *, since: float) -> ModelProfile | None:
    """The profile at its address with a version; None if that has a path, or if its server was slow `since` then."""
    address = with_version(profile.base_url)
    if not address or time.monotonic() - since > QUICK_SECONDS:
        return None
    versioned = copy(profile)
    versioned.base_url = address
    return versioned


def _require_administrator(request: Request) -> None:
    user = request.user
    if not (isinstance(user, AbstractUser) and user.is_staff and user.has_perm("conversations.add_modelprofile")):
        raise NotFound("There is no such page for you: an administrator connects models.")


def _preset(form: Any) -> Preset:
    preset = BY_ID.get(form.get("preset", ""))
    if preset is None:
        raise Invalid("preset: there is no such preset.", field="preset")
    return preset


def _profile(form: Any, preset: Preset, *, model_id: str) -> ModelProfile:
    """The unsaved profile of the form. Raises Invalid, naming the field."""
    address = pasted_address(form.get("address", preset.address))
    if preset.id == "other" and not address:
        raise Invalid("address: Address: is required.", field="address")
    profile = new_profile(
        form.get("called", "").strip() or model_id[:100],
        provider=preset.provider,
        base_url=address,
        api_key=pasted_key(form.get("key", "")),
        model_id=model_id,
    )
    try:
        profile.full_clean()
    except ValidationError as fault:
        field, (words, *_rest) = next(iter(fault.message_dict.items()))
        if fault.error_dict[field][0].code == "unique":
            words = _("There is a model of this name already. Enter another name.")
        label = {"base_url": "address", "api_key": "key", "model_id": "model"}.get(field, field)
        # The page shows refusals without their field, in one place for the whole form.
        raise Invalid(f"{label}: {label.capitalize()}: {words}", field=label) from None
    return profile
