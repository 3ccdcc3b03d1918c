"""The views of the panel's goal section: set or end a conversation's goal, and edit its checkpoints."""

from __future__ import annotations

from django.utils import timezone
from django.utils.translation import gettext as _

from compression.core.goal import MAX_ENTRIES, MAX_TEXT_CHARS, Progress, Step
from conversations.errors import Invalid
from conversations.instructions import goals
from conversations.models import Conversation, Goal
from conversations.page.setting_forms import STEPS
from conversations.page.views.context import changes
from conversations.page.views.guard import Request
from conversations.validation import clean_text


@changes("goal", form="goal_form")
def goal(request: Request, conversation: Conversation) -> str:
    description, priority = request.POST.get("description", ""), request.POST.get("priority", "normal")
    goals.set_goal(conversation, description=description.replace("\r\n", "\n"), priority=priority)
    return _("Saved.")


@changes("goal")
def end_goal(request: Request, conversation: Conversation) -> str:
    status = request.POST.get("status", "")
    goals.end_goal(conversation, status=status)
    return _("The goal is reached.") if status == Goal.Status.COMPLETED else _("The goal was dropped.")


@changes("goal", form="step_forms")
def step(request: Request, conversation: Conversation) -> str:
    """Add a checkpoint to the goal, change its status, or remove it (`remove` given)."""
    current = goals.active_goal(conversation.pk)
    progress = goals.progress_of(current) if current else Progress()
    steps = {checkpoint.text: checkpoint for checkpoint in progress.checkpoints}
    text = " ".join(clean_text("text", request.POST.get("text", ""), limit=MAX_TEXT_CHARS).split())
    if "remove" in request.POST:
        steps.pop(text, None)
    else:
        steps[text] = _changed_step(text, request.POST.get("status"), steps)
    goals.set_progress(conversation, Progress(tuple(steps.values()), progress.decisions, progress.artifacts))
    return _("Saved.")


def _changed_step(text: str, status: str | None, steps: dict[str, Step]) -> Step:
    """A new checkpoint, or an existing one of `steps` with a new status."""
    if status is None and text in steps:
        raise Invalid(_("text: there is already a checkpoint with this text."), field="text")
    if text not in steps and len(steps) >= MAX_ENTRIES:
        raise Invalid(_("text: at most %(most)s checkpoints.") % {"most": MAX_ENTRIES}, field="text", limit=MAX_ENTRIES)
    if status not in (None, *STEPS):
        raise Invalid(f"status: must be one of {', '.join(STEPS)}.", field="status")
    if status != "completed":
        return Step(text, status or "pending")  # type: ignore[arg-type]
    before = steps.get(text)
    now = timezone.now().replace(microsecond=0).isoformat()
    return Step(text, "completed", (before and before.completed_at) or now)
