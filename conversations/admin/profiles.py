from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin

from conversations.models import ModelProfile


class ModelProfileForm(forms.ModelForm):
    """The key goes in and never comes out."""

    api_key = forms.CharField(
        label="API key",
        required=False,
        max_length=1_000,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Kept encrypted and never shown. Left empty, the key stays as it is.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["api_key"] = ""

    def clean_api_key(self) -> str:
        return self.cleaned_data["api_key"] or str(self.instance.api_key)


@admin.register(ModelProfile)
class ModelProfileAdmin(admin.ModelAdmin):
    form = ModelProfileForm
    list_display = ["name", "provider", "model_id", "window", "role", "enabled", "from_environment"]
    list_filter = ["provider", "role", "enabled"]
    readonly_fields = ["from_environment", "token_correction"]
