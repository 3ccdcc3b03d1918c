"""The pages that sign people in by a passkey, and confirm by one that it is them."""

from __future__ import annotations

from urllib.parse import urlencode

from allauth.mfa.webauthn.forms import AuthenticateWebAuthnForm
from allauth.mfa.webauthn.views import LoginWebAuthnView, ReauthenticateWebAuthnView
from django.http import HttpResponse
from django.shortcuts import redirect, resolve_url


class SignIn(LoginWebAuthnView):
    """GET answers with the challenge for the browser as JSON; POST of the passkey's answer to it signs in."""

    def form_invalid(self, form: AuthenticateWebAuthnForm) -> HttpResponse:
        query = {"passkey": "refused", "next": self.request.POST.get("next", "")}
        return redirect(f"{resolve_url('login')}?{urlencode(query)}")


class Confirm(ReauthenticateWebAuthnView):
    def form_invalid(self, form: AuthenticateWebAuthnForm) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)
