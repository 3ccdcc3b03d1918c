"""Adapts django-allauth to the site: who gets an account, how a change is confirmed, encrypted second steps."""

from __future__ import annotations

import secrets
import time
from base64 import b32encode
from typing import Any, cast

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.base import AuthProcess
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from conversations import preferences
from conversations.models import User, encrypted
from conversations.ops import mail
from conversations.page.browsers import name_of

RECENT_SECONDS = 300
METHODS = {
    "reauthenticate": gettext_lazy("Use your password"),
    "mfa_reauthenticate": gettext_lazy("Use a code of your authenticator app, or a recovery code"),
    "mfa_reauthenticate:webauthn": gettext_lazy("Use a passkey"),
}
NOTICES = {
    "mfa/email/totp_activated": gettext_lazy("Two-step sign-in was turned on for your account."),
    "mfa/email/totp_deactivated": gettext_lazy("Two-step sign-in was turned off for your account."),
    "mfa/email/recovery_codes_generated": gettext_lazy("Your account got new recovery codes."),
    "mfa/email/webauthn_added": gettext_lazy("A passkey was added to your account."),
    "mfa/email/webauthn_removed": gettext_lazy("A passkey was removed from your account."),
}
"""Mails that a person gets of changes, by django-allauth's names for them."""


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def post_login(self, request: HttpRequest, user: AbstractBaseUser, **how: Any) -> HttpResponse:
        """The page after a sign-in, with the person's appearance in cookies for the pages before the next one."""
        return preferences.remember(super().post_login(request, user, **how), preferences.preference_of(user))

    def respond_user_inactive(self, request: HttpRequest, user: AbstractBaseUser) -> HttpResponse:
        return render(request, "error.html", {"message": _("This account is disabled.")}, status=403)

    def get_client_ip(self, request: HttpRequest) -> str:
        """The address that the server names: it reads a proxy's header where the operator trusts the proxy."""
        return str(request.META.get("REMOTE_ADDR") or "0.0.0.0")

    def is_reauthentication_required(self, *, app: str, **more: Any) -> bool:
        """Whether a change asks who it is. Accounts without a password confirm by a sign-in of the last minutes."""
        request = self.request
        if super().get_reauthentication_methods(request.user):
            return super().is_reauthentication_required(app=app, **more)
        signed_in_at = max((record["at"] for record in get_authentication_records(request, request.user)), default=0)
        return time.time() - signed_in_at > RECENT_SECONDS

    def get_reauthentication_methods(self, user: AbstractBaseUser | AnonymousUser) -> list[dict[str, Any]]:
        methods = super().get_reauthentication_methods(user)
        named = [{**one, "description": METHODS.get(one["id"], one["description"])} for one in methods]
        again = {"id": "sign_in_again", "description": _("Sign in again"), "url": reverse("sign_in_again")}
        return named or ([again] if user.is_authenticated else [])

    def send_notification_mail(self, template_prefix: str, user: AbstractBaseUser, *_: Any, **__: Any) -> None:
        if change := NOTICES.get(template_prefix):
            mail.notify(cast(User, user), str(change))

    def add_message(self, *_: Any, **__: Any) -> None:
        """The pages themselves say what happened."""


class SingleSignOnAdapter(DefaultSocialAccountAdapter):
    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Refuse to link the service to an account that is signed in: a link from elsewhere could ask for that."""
        if sociallogin.state.get("process") == AuthProcess.CONNECT:
            raise PermissionDenied

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Whether a person who signs in for the first time gets an account.

        With OIDC_DOMAINS set, they need a verified e-mail address of one of these domains; of Microsoft, which verifies
        none, the tenant is enough. Without, a service that everybody may use needs SIGN_UP=open. The account that
        administers the site is made before, by setup.
        """
        service = next((one for one in settings.SIGN_IN_SERVICES if one.id == sociallogin.account.provider), None)
        if service is None or not User.objects.filter(is_superuser=True).exists():
            return False
        domains = [domain.lower() for domain in settings.OIDC_DOMAINS]
        if service.id == "microsoft":
            return True
        if not domains:
            return settings.SIGN_UP == "open" or not service.is_public
        verified = [one.email.lower() for one in sociallogin.email_addresses if one.verified]
        return any(email.rpartition("@")[2] in domains for email in verified)


class SecondStepAdapter(DefaultMFAAdapter):
    def encrypt(self, text: str) -> str:
        return encrypted.encrypt(text)

    def generate_authenticator_name(self, user: AbstractBaseUser, type: str) -> str:
        """A passkey's first name: that of the browser which asks for it."""
        return name_of(context.request.headers.get("User-Agent", ""))

    def decrypt(self, encrypted_text: str) -> str:
        """The secret; a random one if SECRET_KEY has changed since, so that no code fits and the step must be reset."""
        return encrypted.decrypt(encrypted_text) or b32encode(secrets.token_bytes(20)).decode()
