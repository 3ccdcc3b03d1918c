"""The pages that create the first account and sign people in."""

from __future__ import annotations

from typing import Any, cast

from allauth.account.utils import perform_login
from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, redirect_to_login
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from conversations import limits
from conversations.access import own_conversations
from conversations.errors import Conflict, Invalid
from conversations.models import User
from conversations.ops import accounts, first_account, invitations, mail
from conversations.page import browsers as signed_in
from conversations.page.forms import AccountForm, ConfirmForm, SetupForm
from conversations.page.views.guard import Request, member


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def setup(request: HttpRequest) -> HttpResponse:
    if has_users():
        return redirect("login")
    needs_token = first_account.needs_token(request)
    form = SetupForm(request.POST or None, initial={"token": request.GET.get("token", "")}, needs_token=needs_token)
    if not form.is_valid() and "token" in form.errors and request.POST.get("token"):
        limits.note_sign_in(request.META.get("REMOTE_ADDR", ""))
    if not form.is_valid():
        return render(request, "registration/setup.html", {"form": form}, status=422 if form.is_bound else 200)
    user = form.save_first()
    if user is None:
        return redirect("login")
    first_account.forget()
    return perform_login(request, user, redirect_url=resolve_url("home"))


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def join(request: HttpRequest) -> HttpResponse:
    """Make an account with an invitation, or without one if SIGN_UP is open."""
    if request.user.is_authenticated or not has_users():
        return redirect("home")
    token = (request.POST if request.method == "POST" else request.GET).get("token", "")
    invitation = invitations.valid(token) if token else None
    if invitation is None and (token or settings.SIGN_UP != "open"):
        limits.note_sign_in(request.META.get("REMOTE_ADDR", ""))
        return _not_invited(request)
    form = AccountForm(request.POST or None)
    if form.is_valid():
        try:
            user = invitations.accept(invitation, form.save(commit=False)) if invitation else form.save()
        except IntegrityError:
            form.add_error("username", _("Somebody has just taken this name."))
        else:
            return perform_login(request, user, redirect_url=resolve_url("home")) if user else _not_invited(request)
    context = {"form": form, "token": token, "invitation": invitation}
    return render(request, "registration/join.html", context, status=422 if form.is_bound else 200)


def _not_invited(request: HttpRequest) -> HttpResponse:
    message = _("This invitation has been used, has expired or was withdrawn. Ask whoever sent it for another one.")
    return render(request, "error.html", {"message": message}, status=410)


class SignIn(LoginView):
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        offered = {
            "is_open": settings.SIGN_UP == "open",
            "services": [(service.name, _sign_in_at(service.id)) for service in settings.SIGN_IN_SERVICES],
            "sends_mail": mail.is_set_up(),
            "passkey_refused": self.request.GET.get("passkey") == "refused",
        }
        return super().get_context_data(**kwargs, **offered)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Sign the person in, or lead to the second step of those who have one."""
        return perform_login(self.request, form.get_user(), redirect_url=self.get_success_url())

    def get(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        return super().get(request, *args, **kwargs) if has_users() else redirect("setup")


@never_cache
@member
@require_http_methods(["GET", "POST"])
def browsers(request: Request) -> HttpResponse:
    """The browsers in which the person is signed in; a POST signs out `browser`, or all others."""
    user, said = cast(User, request.user), ""
    if request.method == "POST":
        chosen = request.POST.get("browser", "")
        if chosen and not (chosen.isascii() and chosen.isdigit() and len(chosen) < 19):
            raise Invalid(_("Choose a browser of the list."), field="browser")
        ended = signed_in.sign_out(request, user, int(chosen) if chosen else None)
        said = ngettext("%(n)s browser is signed out.", "%(n)s browsers are signed out.", ended) % {"n": ended}
    return render(request, "account/browsers.html", {"browsers": signed_in.browsers_of(request, user), "said": said})


@never_cache
@sensitive_post_parameters()
@member
@require_http_methods(["GET", "POST"])
def delete_account(request: Request) -> HttpResponse:
    """Delete the person's account and all that belongs to it, once the password is entered."""
    user = cast(User, request.user)
    form = ConfirmForm(user, request.POST or None)
    refusal = ""
    if form.is_valid():
        try:
            accounts.delete(user)
        except Conflict as fault:
            refusal = fault.message
        else:
            logout(request)
            return redirect("login")
    elif form.is_bound:
        limits.note_sign_in(request.META.get("REMOTE_ADDR", ""))
    chats = own_conversations(user).count()
    context = {"form": form, "chats": chats, "refusal": refusal}
    return render(request, "account/delete.html", context, status=422 if form.is_bound else 200)


@never_cache
@member
@require_safe
def sign_in_again(request: Request) -> HttpResponse:
    """The page for a change by an account that has neither a password nor a second step to confirm it with."""
    return render(request, "account/sign_in_again.html")


def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """The site's own sign-in, which has the second step. Whoever is signed in and arrives here may not administer."""
    if request.user.is_authenticated:
        return render(request, "error.html", {"message": _("Your account does not administer this site.")}, status=403)
    return redirect_to_login(request.GET.get("next", ""))


def _sign_in_at(service: str) -> str:
    """The address where a sign-in by this service begins."""
    return reverse("github_login") if service == "github" else reverse("openid_connect_login", args=[service])


def has_users() -> bool:
    return User.objects.exists()
