"""What comes in from a page's forms."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from conversations.errors import Invalid, TooLarge
from conversations.models.conversation import MAX_TITLE


class SetupForm(UserCreationForm):
    """The first account, which administers the site."""

    class Meta(UserCreationForm.Meta):
        model = User

    def save_first(self) -> User | None:
        """The account; None where another one was made meanwhile."""
        with transaction.atomic():
            # A row that is always there, so that two first visitors wait for each other. SQLite does anyway.
            ContentType.objects.select_for_update().get(app_label="auth", model="user")
            if User.objects.exists():
                return None
            user = self.save(commit=False)
            user.is_staff = user.is_superuser = True
            user.save()
            return user


class RenameForm(forms.Form):
    title = forms.CharField(max_length=MAX_TITLE)


class ImportForm(forms.Form):
    file = forms.FileField()

    def clean_file(self) -> UploadedFile:
        file: UploadedFile = self.cleaned_data["file"]
        if (file.size or 0) > settings.MAX_BODY_BYTES:
            raise TooLarge(
                f"The file is larger than {settings.MAX_BODY_BYTES // 1_000_000} MB.",
                limit=settings.MAX_BODY_BYTES,
                size=file.size,
            )
        return file


def cleaned(form: forms.Form) -> dict[str, Any]:
    """The form's values. Raises Invalid with its first complaint."""
    if form.is_valid():
        return form.cleaned_data
    field, complaints = next(iter(form.errors.items()))
    raise Invalid(f"{field}: {complaints[0]}", field=field)
