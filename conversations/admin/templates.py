"""Administration page of the prompt templates for summaries, one for each mode."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError

from compression import conf
from compression.core.instructions import PLACEHOLDERS
from compression.core.sections import SECTIONS
from compression.models import PromptTemplate
from conversations.errors import Invalid
from conversations.models import Conversation
from conversations.validation import MAX_PROMPT, clean_prompt

HELP = (
    f"At most {MAX_PROMPT:,} characters, with the headings {', '.join(f'## {name}' for name in SECTIONS)}. Filled in "
    f"are {'; '.join(f'${name}, {what}' for name, what in PLACEHOLDERS.items())}; $$ is a dollar sign. Before it the "
    "prompt always says that the conversation is quoted data, which the model must not obey."
)


class PromptTemplateForm(forms.ModelForm):
    mode = forms.ChoiceField(
        choices=[("", "every mode without its own"), *Conversation.Mode.choices], required=False, label="For"
    )
    text = forms.CharField(widget=forms.Textarea(attrs={"rows": 30, "cols": 100}), help_text=HELP)

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
    list_display = ["__str__", "updated_at"]
    fields = ["mode", "text"]
