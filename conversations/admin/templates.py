"""Administration page of the prompt templates for summaries, one for each mode."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.utils.functional import lazy
from django.utils.translation import gettext_lazy as _

from compression import conf
from compression.core.instructions import PLACEHOLDERS
from compression.core.sections import SECTIONS
from compression.models import PromptTemplate
from conversations.errors import Invalid
from conversations.models import Conversation
from conversations.runtime.amounts import amount
from conversations.validation import MAX_PROMPT, clean_prompt

HELP = _(
    "At most %(most)s characters, with the headings %(headings)s. Filled in are %(names)s; $$ is a dollar sign. Before "
    "it the prompt always says that the conversation is quoted data, which the model must not obey."
)


def _help() -> str:
    headings = ", ".join(f"## {name}" for name in SECTIONS)
    names = "; ".join(f"${name}, {_(meaning)}" for name, meaning in PLACEHOLDERS.items())
    return str(HELP) % {"most": amount(MAX_PROMPT), "headings": headings, "names": names}


class PromptTemplateForm(forms.ModelForm):
    mode = forms.ChoiceField(
        choices=[("", _("every mode without its own")), *Conversation.Mode.choices], required=False, label=_("For")
    )
    text = forms.CharField(
        label=_("Text"), widget=forms.Textarea(attrs={"rows": 30, "cols": 100}), help_text=lazy(_help, str)()
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is None:
            self.initial.setdefault("text", conf.usual_template())

    def clean_text(self) -> str:
        try:
            return clean_prompt("text", self.cleaned_data["text"].replace("\r\n", "\n"))
        except Invalid as fault:
            raise ValidationError(fault.message) from None


@admin.register(PromptTemplate)
class PromptTemplateAdmin(admin.ModelAdmin):
    """A prompt template for summaries, which replaces the engine's own wording."""

    form = PromptTemplateForm
    list_display = ["__str__", "digest", "updated_at"]
    fields = ["mode", "text"]

    @admin.display(description=_("Digest in figures"))
    def digest(self, template: PromptTemplate) -> str:
        return conf.template_digest(template.text)
