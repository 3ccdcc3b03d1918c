"""What a conversation's requests are made by: its mode, goal, rules and policy; and the states to go back to."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import reswap, retarget, trigger_client_event

from compression.core.goal import LONGEST, MOST, Progress, Step
from conversations import compaction, goals, policies, states, usage
from conversations import rules as rules_
from conversations.access import get_conversation
from conversations.errors import Invalid, Refused
from conversations.forms import PolicyForm
from conversations.models import Conversation, Goal
from conversations.trust import trust_of
from conversations.validation import clean_text
from conversations.views.guard import Request, View, member
from conversations.views.parse import id_of
from conversations.views.sidebar import sidebar

SHOWN = 50
"""Snapshots and compactions that the panel lists, the newest."""
STEPS = {"pending": "Pending", "in-progress": "In progress", "completed": "Done"}


def parts(conversation: Conversation) -> dict[str, Any]:
    """What the sections of the panel show."""
    goal = goals.active(conversation.pk)
    return {
        "conversation": conversation,
        "goal": goal,
        "progress": goals.progress_of(goal) if goal else None,
        "steps": STEPS,
        "priorities": Goal.Priority.choices,
        "modes": Conversation.Mode.choices,
        "form": PolicyForm(conversation),
        "snapshots": conversation.snapshots.order_by("-created_at").defer("compressed_context")[:SHOWN],
        "compactions": conversation.compactions.order_by("-created_at", "-id")[:SHOWN],
        "trust": trust_of(conversation),
    }


def shown(request: Request, conversation: Conversation, name: str, *, status: int = 200, **more: Any) -> HttpResponse:
    """One section of the panel, or all of it (`context`), in place of the one that is there."""
    context = parts(conversation) | more
    response = render(request, f"conversations/_{name}.html", context, status=status)
    return reswap(retarget(response, f"#{name}-section"), "outerHTML")


def changes(name: str) -> Callable[[Callable[..., str]], View]:
    """For an act on a section, which says what was done; what it refuses is told in the section, its input kept."""

    def decorate(act: Callable[..., str]) -> View:
        @member
        @require_POST
        @wraps(act)
        def view(request: Request, pk: UUID, *args: Any) -> HttpResponse:
            conversation = get_conversation(request.user, pk)
            try:
                said = act(request, conversation, *args)
            except Refused as refusal:
                kept = {"refusal": refusal, "draft": request.POST}
                return shown(request, conversation, name, status=refusal.status, **kept)
            return shown(request, conversation, name, said=said)

        return view

    return decorate


@member
@never_cache
@require_GET
def context(request: Request, pk: UUID) -> HttpResponse:
    conversation = get_conversation(request.user, pk)
    if request.htmx:
        return render(request, "conversations/_context.html", parts(conversation))
    whole = parts(conversation) | {"sidebar": sidebar(request.user, current=conversation)}
    return render(request, "conversations/context.html", whole)


@changes("mode")
def mode(request: Request, conversation: Conversation) -> str:
    chosen = request.POST.get("mode", "")
    if chosen not in Conversation.Mode.values:
        raise Invalid(f"mode: must be one of {', '.join(Conversation.Mode.values)}.", field="mode")
    conversation.mode = chosen
    conversation.save(update_fields=["mode"])
    usage.tell(conversation.pk)
    return "Saved."


@changes("goal")
def goal(request: Request, conversation: Conversation) -> str:
    description, priority = request.POST.get("description", ""), request.POST.get("priority", "normal")
    goals.set_goal(conversation, description=description.replace("\r\n", "\n"), priority=priority)
    return "Saved."


@changes("goal")
def end_goal(request: Request, conversation: Conversation) -> str:
    status = request.POST.get("status", "")
    goals.end_goal(conversation, status=status)
    return "The goal is reached." if status == Goal.Status.COMPLETED else "The goal was dropped."


@changes("goal")
def step(request: Request, conversation: Conversation) -> str:
    """Add a checkpoint of the goal, change its status, or take it away (`remove` given)."""
    current = goals.active(conversation.pk)
    progress = goals.progress_of(current) if current else Progress()
    steps = {one.text: one for one in progress.checkpoints}
    text = " ".join(clean_text("text", request.POST.get("text", ""), limit=LONGEST).split())
    if "remove" in request.POST:
        steps.pop(text, None)
    else:
        steps[text] = _step(text, request.POST.get("status"), steps)
    goals.set_progress(conversation, Progress(tuple(steps.values()), progress.decisions, progress.artifacts))
    return "Saved."


@changes("rules")
def rules(request: Request, conversation: Conversation) -> str:
    """Add a rule; put another in place of `was`, or none where it is empty."""
    rule, was = request.POST.get("rule", ""), request.POST.get("was", "")
    present = list(conversation.rules)
    if was in present:
        present[present.index(was)] = rule
    elif rule.strip():
        present.append(rule)
    else:
        raise Invalid("rule: must not be empty.", field="rule")
    rules_.set_rules(conversation, [one for one in present if one.strip()])
    return "Saved." if rule.strip() else "Removed."


@member
@require_POST
def policy(request: Request, pk: UUID) -> HttpResponse:
    conversation = get_conversation(request.user, pk)
    form = PolicyForm(conversation, request.POST)
    if form.is_valid():
        try:
            policies.set_policy(conversation, form.values)
        except Invalid as refusal:
            form.refuse(refusal)
    if form.errors:
        return shown(request, conversation, "policy", status=400, form=form)
    return shown(request, conversation, "policy", said="Saved.")


@changes("snapshots")
def take_snapshot(request: Request, conversation: Conversation) -> str:
    states.take_snapshot(conversation)
    return "The state as it is now is kept."


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
    response = shown(request, conversation, "context", said="The conversation is as it was in that snapshot.")
    return trigger_client_event(response, "converge")


def _step(text: str, status: str | None, steps: dict[str, Step]) -> Step:
    """A new step, or one of `steps` with another status."""
    if status is None and text in steps:
        raise Invalid("text: there is such a checkpoint already.", field="text")
    if text not in steps and len(steps) >= MOST:
        raise Invalid(f"text: at most {MOST} checkpoints.", field="text", limit=MOST)
    if status not in (None, *STEPS):
        raise Invalid(f"status: must be one of {', '.join(STEPS)}.", field="status")
    if status != "completed":
        return Step(text, status or "pending")  # type: ignore[arg-type]
    before = steps.get(text)
    now = timezone.now().replace(microsecond=0).isoformat()
    return Step(text, "completed", (before and before.completed_at) or now)
