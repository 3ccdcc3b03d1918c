"""The form that adds a passkey."""

from __future__ import annotations

import json
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import AddWebAuthnForm
from allauth.mfa.webauthn.internal.auth import parse_registration_response
from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

MAX_PASSKEYS = 20
MAX_ANSWER = 20_000
"""Characters of a browser's answer to the challenge; those of known authenticators have at most a fifth of that."""


class PasskeyForm(AddWebAuthnForm):
    """A passkey's name, and the browser's answer to the challenge; the authenticator must have verified its person."""

    name = forms.CharField(label=_("Name"), max_length=60, required=False)
    passwordless = forms.BooleanField(widget=forms.HiddenInput, initial=True)

    def clean_credential(self) -> Any:
        answer = self.cleaned_data["credential"]
        if len(json.dumps(answer)) > MAX_ANSWER:
            raise forms.ValidationError(gettext("The answer of this authenticator is too long."))
        if Authenticator.objects.filter(user=self.user, type=Authenticator.Type.WEBAUTHN).count() >= MAX_PASSKEYS:
            raise forms.ValidationError(gettext("You have %(n)d passkeys already.") % {"n": MAX_PASSKEYS})
        try:
            parse_registration_response(answer)
        except (ValueError, KeyError, AttributeError) as fault:
            raise forms.ValidationError(gettext("This authenticator did not confirm that it is you.")) from fault
        return answer
