"""The forms of a conversation's settings, of its summaries, and of what new conversations begin with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import AbstractBaseUser
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from compression.core.goal import MAX_TEXT_CHARS, Progress
from conversations.api_keys import MAX_NAME
from conversations.instructions import ledger_entries
from conversations.instructions.conversation_settings import profile_of
from conversations.llm.profiles import chat_profiles
from conversations.models import Conversation, Goal, LedgerEntry, ModelProfile, Preference, Project, SavedPrompt
from conversations.models.conversation import MAX_SYSTEM_PROMPT_CHARS
from conversations.models.goal import MAX_GOAL_CHARS
from conversations.models.model_profile import Effort
from conversations.models.project import MAX_INSTRUCTIONS_CHARS, MAX_PROJECT_NAME_CHARS
from conversations.models.saved_prompt import MAX_NAME_CHARS, MAX_PROMPT_CHARS
from conversations.page.bound_forms import Data, FormRows, KeepingSelect, PageForm, TypedField
from conversations.preferences import begin_with

STEPS = {"pending": _("Pending"), "in-progress": _("In progress"), "completed": _("Done")}


def _textarea(**attrs: Any) -> forms.Textarea:
    return forms.Textarea({"cols": False} | attrs)


def _model_field(**options: Any) -> TypedField:
    return TypedField(
        label=_("Model"), required=False, widget=KeepingSelect(gone=_("A model (not there any more)")), **options
    )


def _mode_field(**options: Any) -> TypedField:
    return TypedField(label=_("Style"), widget=KeepingSelect(choices=Conversation.Mode.choices), **options)


def _system_prompt_field() -> TypedField:
    widget = _textarea(
        id="system-prompt",
        rows=3,
        maxlength=MAX_SYSTEM_PROMPT_CHARS,
        placeholder=_("Instructions for this chat: who the model is, and how it should answer"),
    )
    return TypedField(label=_("Instructions"), required=False, widget=widget, described_by="system-prompt-cost")


def _labelled(models: Sequence[ModelProfile]) -> list[tuple[Any, str]]:
    """The choices of models, each with its window and prices."""
    labels = (render_to_string("conversations/context/_model_label.html", {"model": model}) for model in models)
    return [(model.pk, SafeString(" ".join(label.split()))) for model, label in zip(models, labels, strict=True)]


class ModelChoice(PageForm):
    """The model that answers and its effort; saved as soon as chosen, so a refused choice is not shown as chosen."""

    model = _model_field(described_by="model-help")
    effort = TypedField(label=_("Effort"), required=False, widget=KeepingSelect(), described_by="effort-help")

    def __init__(self, conversation: Conversation, data: Data = None, *, autofocus: bool = False) -> None:
        profile, models = profile_of(conversation), list(chat_profiles(conversation.owner_id))
        own = {"model": profile.pk if profile else "", "effort": conversation.effort}
        super().__init__(None if data is None else own, initial=own, auto_id="%s-select")
        first = [] if profile in models else [(own["model"], str(profile or gettext("None is connected")))]
        widget: Any = self.fields["model"].widget
        widget.choices = [*first, *_labelled(models)]
        widget.attrs["autofocus"] = autofocus
        usual = gettext("As the model has it")
        if profile and profile.effort:
            usual = gettext("As the model: %(effort)s") % {"effort": profile.get_effort_display()}
        effort: Any = self.fields["effort"].widget
        effort.choices = [("", usual), *Effort.choices]


class BeginForm(PageForm):
    """The model and the effort of a new chat. The project's model, or that of the person's preferences, is chosen."""

    model = TypedField(label=_("Model"), required=False, widget=KeepingSelect())
    effort = TypedField(
        label=_("Effort"), required=False, widget=KeepingSelect(choices=[("", _("Usual effort")), *Effort.choices])
    )

    def __init__(self, user: AbstractBaseUser, project: Project | None = None) -> None:
        profile = (project and project.model) or begin_with(user)["model"]
        super().__init__(None, initial={"model": profile.pk if profile else "", "effort": ""}, auto_id="begin-%s")
        widget: Any = self.fields["model"].widget
        widget.choices = [(model.pk, model.name) for model in chat_profiles(user.pk)]


class ProjectForm(PageForm):
    """The settings of a project, each saved when it changes; every name begins with `project_`."""

    project_name = TypedField(
        label=_("Name"), widget=forms.TextInput({"maxlength": MAX_PROJECT_NAME_CHARS, "required": True})
    )
    project_instructions = TypedField(
        label=_("Instructions"),
        required=False,
        widget=_textarea(
            rows=7,
            maxlength=MAX_INSTRUCTIONS_CHARS,
            placeholder=_("For all chats of this project: who the model is, and how it should answer"),
        ),
    )
    project_model = TypedField(
        label=_("Model of new chats"),
        required=False,
        widget=KeepingSelect(gone=_("A model (not there any more)")),
    )
    project_recalls = TypedField(
        label=_("Recall between its chats"),
        required=False,
        widget=KeepingSelect(choices=[("on", _("On: each chat gets passages of the others")), ("", _("Off"))]),
    )
    project_colour = TypedField(label=_("Colour"), widget=KeepingSelect(choices=Project.Colour.choices))

    def __init__(self, project: Project, *, is_new: bool = False) -> None:
        own = {f"project_{name}": getattr(project, name) for name in ("name", "instructions", "colour")}
        own |= {"project_model": project.model_id or "", "project_recalls": "on" if project.recalls else ""}
        super().__init__(None, initial=own, auto_id="%s")
        if is_new:
            self.fields["project_name"].widget.attrs["autofocus"] = True
        widget: Any = self.fields["project_model"].widget
        widget.choices = [
            ("", _("The usual one")),
            *((model.pk, model.name) for model in chat_profiles(project.owner_id)),
        ]


class ModeChoice(PageForm):
    """The mode of a conversation; saved as soon as it is chosen, so a refused choice is not shown as chosen."""

    mode = _mode_field(described_by="mode-help")

    def __init__(self, conversation: Conversation, data: Data = None) -> None:
        own = {"mode": conversation.mode}
        super().__init__(None if data is None else own, initial=own, auto_id="%s-select")


class SystemPromptForm(PageForm):
    system_prompt = _system_prompt_field()

    def __init__(self, conversation: Conversation, data: Data = None) -> None:
        super().__init__(data, initial={"system_prompt": conversation.system_prompt}, auto_id="%s")


class GoalForm(PageForm):
    description = TypedField(
        widget=_textarea(rows=2, maxlength=MAX_GOAL_CHARS, placeholder=_("What is the goal of this conversation?"))
    )
    priority = TypedField(required=False, widget=KeepingSelect(choices=Goal.Priority.choices))

    def __init__(self, goal: Goal | None, data: Data = None) -> None:
        own = {"description": goal.description, "priority": goal.priority} if goal else {"priority": "normal"}
        super().__init__(data, initial=own, auto_id="goal-%s")


class StepForm(PageForm):
    """The status of a goal's checkpoint; saved as soon as it is chosen, so a refused choice is not shown as chosen."""

    text = TypedField(widget=forms.HiddenInput)
    status = TypedField(widget=KeepingSelect(choices=STEPS))

    def __init__(self, number: int, own: dict[str, str], *, is_posted: bool) -> None:
        super().__init__(own if is_posted else None, initial=own, auto_id=f"step-{number}-%s")
        self.fields["status"].widget.attrs |= {
            "id": f"step-{number}",
            "aria-label": gettext("Status of %(step)s") % {"step": own["text"]},
        }


class NewStepForm(PageForm):
    text = TypedField(
        widget=forms.TextInput(
            {"maxlength": MAX_TEXT_CHARS, "autocomplete": "off", "placeholder": _("A further checkpoint")}
        )
    )

    def __init__(self, data: Data = None) -> None:
        super().__init__(data, auto_id="step-%s")


def step_forms(progress: Progress, data: Data = None) -> FormRows:
    """A form for each checkpoint of a goal, and one for a further checkpoint."""
    is_present = data is not None and bool({"status", "remove"} & data.keys())
    posted = data["text"] if data and is_present and "text" in data else None
    rows = [
        StepForm(number, {"text": step.text, "status": step.status}, is_posted=step.text == posted)
        for number, step in enumerate(progress.checkpoints, 1)
    ]
    return FormRows([*rows], NewStepForm(None if any(row.is_bound for row in rows) else data))


class RuleForm(PageForm):
    """A rule that is edited in place; `entry` is its entry of the ledger, None for a rule without one."""

    PLACES: ClassVar = {"rules": "rule"}
    was = TypedField(widget=forms.HiddenInput)
    rule = TypedField(required=False, widget=_textarea(rows=1, dir="auto", **{"data-enter": True}))

    def __init__(self, number: int, rule: str, entry: LedgerEntry | None, data: Data = None) -> None:
        self.entry = entry
        super().__init__(data, initial={"was": rule, "rule": rule}, auto_id=f"rule-{number}-%s")
        self.fields["rule"].widget.attrs |= {
            "id": f"rule-{number}",
            "aria-label": gettext("Rule %(number)s") % {"number": number},
        }


class NewRuleForm(PageForm):
    PLACES: ClassVar = {"rules": "rule"}
    rule = TypedField(
        widget=forms.TextInput(
            {"id": "rule-new", "autocomplete": "off", "placeholder": _("Add a rule in your own words")}
        )
    )

    def __init__(self, data: Data = None) -> None:
        super().__init__(data, auto_id="rule-new-%s")


def rule_forms(conversation: Conversation, data: Data = None) -> FormRows:
    """A form for each rule, and one for a further rule."""
    was = data.get("was", "") if data else None
    entries = {entry.text: entry for entry in ledger_entries.in_force(conversation.pk)}
    rows = [
        RuleForm(number, rule, entries.get(rule), data if rule == was else None)
        for number, rule in enumerate(conversation.rules, 1)
    ]
    return FormRows([*rows], NewRuleForm(None if any(row.is_bound for row in rows) else data))


class SummaryForm(PageForm):
    """A summary that is edited by hand."""

    summary = TypedField(widget=_textarea(id="summary-text", rows=16, autofocus=True), described_by="summary-help")

    def __init__(self, summary: str, data: Data = None) -> None:
        super().__init__(data, initial={"summary": summary}, auto_id="%s")


class BeginningForm(PageForm):
    """The settings that a person's new conversations begin with; `default` gives the site's model."""

    model = _model_field()
    mode = _mode_field(required=False)
    system_prompt = _system_prompt_field()

    def __init__(self, preference: Preference, default: Callable[[], ModelProfile | None], data: Data = None) -> None:
        own = {name: getattr(preference, name) for name in ("mode", "system_prompt")}
        models, site = list(chat_profiles(preference.user_id)), default()
        is_there = preference.model in models
        own["model"] = preference.model_id if is_there else ""
        super().__init__(data, initial=own, auto_id="beginning-%s")
        unset = f"{gettext('Default')} ({site})" if site else gettext("Default")
        widget: Any = self.fields["model"].widget
        widget.choices = [("", unset), *_labelled(models)]


class PromptForm(PageForm):
    """The name and the text of a saved prompt; `prompt` is None for a new one."""

    prompt_name = TypedField(widget=forms.TextInput({"maxlength": MAX_NAME_CHARS, "autocomplete": "off"}))
    prompt_text = TypedField(widget=_textarea(rows=3, maxlength=MAX_PROMPT_CHARS, dir="auto"))

    def __init__(self, prompt: SavedPrompt | None, data: Data = None) -> None:
        self.prompt = prompt
        own = {"prompt_name": prompt.name, "prompt_text": prompt.text} if prompt else None
        super().__init__(data, initial=own, auto_id=f"prompt-{prompt.pk if prompt else 'new'}-%s")


def prompt_forms(prompts: Iterable[SavedPrompt], posted: str, data: Data = None) -> FormRows:
    """A form for each prompt, and one for a further one. The form of the prompt with the id `posted` shows the data."""
    rows: list[PageForm] = [PromptForm(one, data if str(one.pk) == posted else None) for one in prompts]
    return FormRows(rows, PromptForm(None, None if any(row.is_bound for row in rows) else data))


class KeyForm(PageForm):
    """The name of a new API key."""

    name = TypedField(
        widget=forms.TextInput(
            {"maxlength": MAX_NAME, "autocomplete": "off", "placeholder": _("What it is for: backup script, editor…")}
        )
    )

    def __init__(self, data: Data = None) -> None:
        super().__init__(data, auto_id="key-%s")
