"""The pages of a person's e-mail address, and those that set a new password by a mail."""

from __future__ import annotations

from typing import Any, cast

from allauth.account.decorators import reauthentication_required
from django import forms
from django.contrib.auth.forms import PasswordResetForm, SetPasswordForm
from django.contrib.auth.views import PasswordResetConfirmView, PasswordResetView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from conversations import limits
from conversations.models import User
from conversations.ops import mail
from conversations.page.forms import without_help
from conversations.page.views.guard import Request, member
from conversations.runtime import audit


def _address_field(*, required: bool) -> forms.EmailField:
    widget = forms.EmailInput(attrs={"autocomplete": "email"})
    return forms.EmailField(label=gettext_lazy("E-mail address"), max_length=254, required=required, widget=widget)


class AddressForm(forms.Form):
    email = _address_field(required=False)


@never_cache
@member
@require_http_methods(["GET", "POST"])
@reauthentication_required
def mail_address(request: Request) -> HttpResponse:
    """Remove the person's e-mail address, or send a link that changes it to the new one."""
    user = cast(User, request.user)
    form = AddressForm(request.POST or None, initial={"email": user.email}, label_suffix="")
    said = ""
    if form.is_valid():
        address = form.cleaned_data["email"]
        if address == user.email:
            said = _("This is your address already.")
        elif not address:
            _change(user, "")
            said = _("The site has no e-mail address of yours any more.")
        elif limits.one_more_mail(address):
            link = request.build_absolute_uri(reverse("confirm_mail_address", args=[mail.token_of(user, address)]))
            ends = _("The link works for an hour. If you do not know this site, ignore this mail.")
            ask = _("Open this link to make this your address:")
            mail.send(address, _("Confirm your e-mail address"), _hello(user), ask, link, ends)
            said = _("A link is on its way to %(address)s. Open it within an hour.") % {"address": address}
        else:
            form.add_error("email", _("Too many mails went to this address. Try again in an hour."))
    context = {"form": form, "said": said, "address": user.email}
    return render(request, "account/mail_address.html", context, status=422 if form.errors else 200)


@never_cache
@require_http_methods(["GET", "POST"])
def confirm_mail_address(request: HttpRequest, token: str) -> HttpResponse:
    """Ask whether the address is the person's, as programs that check mails open links; change it by POST."""
    change = mail.change_of(token)
    if change is None:
        message = _("This link has been used or has expired. Ask for another one in Settings.")
        return render(request, "error.html", {"message": message}, status=410)
    user, address = change
    if request.method == "POST":
        _change(user, address)
        return redirect("settings")
    return render(request, "account/confirm_mail_address.html", {"user_name": user.get_username(), "address": address})


class ForgottenForm(PasswordResetForm):
    email = _address_field(required=True)

    def send_mail(
        self, subject_template_name: str, email_template_name: str, context: Any, *_more: Any, **_also: Any
    ) -> None:
        """Send the link, in place of Django's mail of templates, in the background."""
        user = context["user"]
        path = reverse("new_password", args=[context["uid"], context["token"]])
        link = f"{context['protocol']}://{context['domain']}{path}"
        ask = _("Open this link to choose a new password:")
        ends = _("The link works for an hour, once. If you did not ask for it, ignore this mail: nothing has changed.")
        mail.send(user.email, _("Choose a new password"), _hello(user), ask, link, ends)


class Forgotten(PasswordResetView):
    """Sends a link to the account with the entered address, if there is one; the answer is always the same."""

    form_class = ForgottenForm
    template_name = "account/forgotten.html"

    def form_valid(self, form: PasswordResetForm) -> HttpResponse:
        limits.note_sign_in(self.request.META.get("REMOTE_ADDR", ""))
        if limits.one_more_mail(form.cleaned_data["email"]):
            form.save(use_https=self.request.is_secure(), request=self.request)
        return self.render_to_response(self.get_context_data(form=form, is_sent=True))


class NewPassword(PasswordResetConfirmView):
    """Sets a new password by the link of a mail. The next sign-in still asks for the second step."""

    template_name = "account/new_password.html"
    success_url = reverse_lazy("login")

    def get_form(self, form_class: Any = None) -> SetPasswordForm:
        form: SetPasswordForm = super().get_form(form_class)
        without_help(form)
        return form

    def form_valid(self, form: SetPasswordForm) -> HttpResponse:
        response = super().form_valid(form)
        audit.note(audit.Action.PASSWORD_CHANGED, form.user)
        mail.notify(form.user, _("Your password was changed."))
        return response


def _change(user: User, address: str) -> None:
    earlier, user.email = user.email, address
    user.save(update_fields=["email"])
    audit.note(audit.Action.EMAIL_CHANGED, user)
    if earlier:
        mail.notify(user, _("Your e-mail address was changed."), address=earlier)


def _hello(user: User) -> str:
    return _("Hello %(name)s,") % {"name": user.get_username()}
