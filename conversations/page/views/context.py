"""The Context panel of a conversation: its instructions, model, memory, rules and advanced settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import reswap, retarget, trigger_client_event

from compression.core.goal import Progress
from compression.core.tokens import count_tokens
from conversations.access import get_conversation
from conversations.compaction import compaction, snapshots
from conversations.context.kept_entries import scope_of
from conversations.context.reliability import reliability_of
from conversations.errors import Invalid, Refused
from conversations.instructions import conversation_settings as settings
from conversations.instructions import goals, ledger
from conversations.messages.history import with_visible_parts
from conversations.models import Conversation
from conversations.models.conversation import MAX_SYSTEM_PROMPT_CHARS
from conversations.page import fragments, ledger_view, model_outlook, tool_offer
from conversations.page.bound_forms import refuse_in
from conversations.page.budgets import budgets
from conversations.page.forms import PolicyForm
from conversations.page.meter import meter
from conversations.page.setting_forms import (
    GoalForm,
    ModeChoice,
    ModelChoice,
    SystemPromptForm,
    rule_forms,
    step_forms,
)
from conversations.page.views.guard import Request, View, member
from conversations.page.views.query_params import id_of

TABS = {
    "instructions": gettext_lazy("Instructions"),
    "model": gettext_lazy("Model"),
    "memory": gettext_lazy("Memory"),
    "rules": gettext_lazy("Rules"),
    "advanced": gettext_lazy("Advanced"),
}
SHOWN = 50
"""The most snapshots in the panel's list, the newest."""
STATE_NOTICES = {
    "in_force": gettext_noop("It is a rule now: every request has it."),
    "noted": gettext_noop("It is noted, not an order."),
    "dismissed": gettext_noop("It is no rule: no request has it."),
}


def parts(conversation: Conversation) -> dict[str, Any]:
    """The template context of the panel's sections. Values that are functions run only if a template uses them."""
    goal = goals.active_goal(conversation.pk)
    progress = goals.progress_of(goal) if goal else Progress()
    return {
        "conversation": conversation,
        "tabs": TABS,
        "profile": partial(settings.profile_of, conversation),
        "outlook": partial(model_outlook.outlook, conversation),
        "prompt_tokens": partial(count_tokens, conversation.system_prompt),
        "max_system_prompt": MAX_SYSTEM_PROMPT_CHARS,
        "goal": goal,
        "progress": progress,
        "ledger": partial(ledger_view.ledger_lists, conversation),
        "offer": partial(tool_offer.offer, conversation),
        "model_form": partial(ModelChoice, conversation),
        "system_prompt_form": partial(SystemPromptForm, conversation),
        "mode_form": partial(ModeChoice, conversation),
        "goal_form": partial(GoalForm, goal),
        "step_forms": partial(step_forms, progress),
        "rule_forms": partial(rule_forms, conversation),
        "memory_scope": partial(scope_of, conversation),
        "policy_form": partial(PolicyForm, conversation),
        "snapshots": conversation.snapshots.order_by("-created_at").defer("compressed_context")[:SHOWN],
        "trust": reliability_of(conversation),
    }


def shown(request: Request, conversation: Conversation, name: str, *, status: int = 200, **more: Any) -> HttpResponse:
    """One section of the panel, or the whole panel (`context`), which replaces the section on the page."""
    return _in_place(request, name, parts(conversation) | more, status=status)


def _in_place(
    request: Request, template: str, context: dict[str, Any], *, name: str = "", status: int = 200
) -> HttpResponse:
    response = render(request, f"conversations/context/_{template}.html", context, status=status)
    place = f"#{template}-{name}" if name else f"#{template}-section"
    return reswap(retarget(response, place), "outerHTML")


def changes(name: str, *, form: str = "", answers: str = "") -> Callable[[Callable[..., str]], View]:
    """Decorate a function that changes the section `name` and returns a notice, as a view.

    `form` is the name, in `parts`, of the posted form: after a refusal it shows what was typed. `answers` is the only
    part that is shown again after a success, so that a field keeps what is typed into it meanwhile; "": the section.
    """

    def decorate(act: Callable[..., str]) -> View:
        @member
        @require_POST
        @wraps(act)
        def view(request: Request, pk: UUID, **others: Any) -> HttpResponse:
            conversation = get_conversation(request.user, pk)
            try:
                notice = act(request, conversation, **others)
            except Refused as refusal:
                context = parts(conversation)
                refuse_in(context, form, request.POST, refusal)
                return _in_place(request, name, context, status=refusal.status)
            if answers:
                return HttpResponse(render_to_string(f"conversations/context/_{answers}.html", {"said": notice}))
            return shown(request, conversation, name, said=notice)

        return view

    return decorate


@member
@never_cache
@require_GET
def context(request: Request, pk: UUID) -> HttpResponse:
    """The panel, opened at the tab `at`. Its link in a new tab of the browser leads to the chat, which opens it."""
    conversation = get_conversation(request.user, pk)
    at = request.GET.get("at", "")
    at = at if at in TABS else "instructions"
    if not request.htmx:
        return redirect(f"{reverse('chat', args=[pk])}?context={at}")
    panel = parts(conversation) | {"at": at}
    panel["model_form"] = partial(ModelChoice, conversation, autofocus=at == "model")
    return render(request, "conversations/context/_context.html", panel)


@changes("model", form="model_form")
def model(request: Request, conversation: Conversation) -> str:
    """Choose the model. The section then shows how full the new window is."""
    profile = settings.chosen_profile(request.user, request.POST.get("model", ""))
    settings.change(conversation, model=profile)
    return _("%(model)s answers from now on.") % {"model": profile}


@changes("model", form="model_form")
def effort(request: Request, conversation: Conversation) -> str:
    """Choose how hard the model thinks; an empty choice leaves it to the model's profile."""
    settings.change(conversation, effort=request.POST.get("effort", ""))
    return _("Saved: the next request has it.")


@changes("system_prompt", form="system_prompt_form", answers="kept")
def system_prompt(request: Request, conversation: Conversation) -> str:
    settings.change(conversation, system_prompt=request.POST.get("system_prompt", ""))
    return _("Saved: the next request has it.")


@member
@require_POST
def proposal(request: Request, pk: UUID) -> HttpResponse:
    """Put the instructions of an imported file in force (`use` given), or dismiss them."""
    conversation = get_conversation(request.user, pk)
    if conversation.proposed_system_prompt:
        both = (conversation.system_prompt, conversation.proposed_system_prompt if "use" in request.POST else "")
        settings.change(conversation, system_prompt="\n\n".join(filter(None, both)))
    return render(request, "conversations/context/_proposal.html", {"conversation": conversation})


@changes("mode", form="mode_form")
def mode(request: Request, conversation: Conversation) -> str:
    settings.change(conversation, mode=request.POST.get("mode", ""))
    return _("Saved.")


@changes("offer")
def tools(request: Request, conversation: Conversation) -> str:
    """Offer tools to the model (`on` given), or stop offering them."""
    settings.change(conversation, uses_tools="on" in request.POST)
    return _("Offered from the next request on.") if conversation.uses_tools else _("Offered no more.")


@changes("rules", form="rule_forms")
def rules(request: Request, conversation: Conversation) -> str:
    """Add a rule, or replace the rule `was`; an empty new rule removes it."""
    rule, was = request.POST.get("rule", ""), request.POST.get("was", "")
    present = list(conversation.rules)
    if was not in present:
        if not rule.strip():
            raise Invalid(_("rule: must not be empty."), field="rule")
        settings.add_rule(conversation, rule)
        return _("Saved.")
    present[present.index(was)] = rule
    settings.change(conversation, rules=[line for line in present if line.strip()])
    return _("Saved.") if rule.strip() else _("Removed.")


@changes("rules")
def choose(request: Request, conversation: Conversation, entry_id: UUID) -> str:
    """Put an entry of the ledger in force, note it or dismiss it, by `state`; or keep it for other chats, by `kept`."""
    if "kept" in request.POST:
        entry = ledger.keep(conversation, entry_id, on=bool(request.POST["kept"]))
        if entry.kept_for_id:
            return _("All your chats that are in no project have it.")
        return _("All chats of the project have it.") if entry.kept_in_id else _("Only this chat has it.")
    entry = ledger.choose(conversation, entry_id, state=request.POST.get("state", ""))
    return _(STATE_NOTICES[entry.chosen_state])


@member
@require_POST
def decide(request: Request, pk: UUID, entry_id: UUID) -> HttpResponse:
    """Choose the state of an entry, or keep it for other chats, from below its message, which is shown again."""
    conversation = get_conversation(request.user, pk)
    if "kept" in request.POST:
        entry = ledger.keep(conversation, entry_id, on=bool(request.POST["kept"]))
    else:
        entry = ledger.choose(conversation, entry_id, state=request.POST.get("state", ""))
    row = get_object_or_404(with_visible_parts(conversation.messages.all()), pk=entry.message)
    return HttpResponse(fragments.message(conversation, row) + fragments.meter(conversation))


@member
@require_POST
def policy(request: Request, pk: UUID) -> HttpResponse:
    """Change one setting of the policy; a preset is shown with the settings that it changes the defaults of."""
    conversation = get_conversation(request.user, pk)
    form = PolicyForm(conversation, request.POST)
    name = next((name for name in form.fields if name in request.POST), "")
    if not name:
        raise Invalid("policy: there is no setting in the request.", field="policy")
    if form.is_valid():
        try:
            settings.change(conversation, policy=form.values)
        except Invalid as refusal:
            form.refuse(refusal, beside=name)
    if form.errors:
        return _in_place(request, "setting", {"conversation": conversation, "field": form[name]}, name=name, status=400)
    if name == "preset":
        return shown(request, conversation, "policy", said=_("Saved."))
    field = PolicyForm(conversation)[name]
    return _in_place(request, "setting", {"conversation": conversation, "field": field, "said": "Saved."}, name=name)


@member
@never_cache
@require_GET
def memory(request: Request, pk: UUID) -> HttpResponse:
    """The room of the chat's requests now, and after a compaction."""
    conversation = get_conversation(request.user, pk)
    figures = meter(conversation)
    context = {"conversation": conversation, "meter": figures, "budgets": budgets(figures) if figures else None}
    return render(request, "conversations/context/_memory.html", context)


@changes("snapshots")
def take_snapshot(request: Request, conversation: Conversation) -> str:
    snapshots.take_snapshot(conversation)
    return _("The state as it is now is kept.")


@member
@require_POST
def restore(request: Request, pk: UUID) -> HttpResponse:
    conversation = get_conversation(request.user, pk)
    try:
        snapshot_id = id_of(request.POST, "snapshot")
        if snapshot_id is None:
            raise Invalid("snapshot: must be an id.")
        compaction.rollback(conversation, snapshot_id=snapshot_id)
    except Refused as refusal:
        return shown(request, conversation, "snapshots", status=refusal.status, refusal=refusal)
    notice = _("The conversation is as it was in that snapshot.")
    response = shown(request, conversation, "context", said=notice, at="advanced")
    return trigger_client_event(response, "converge")
