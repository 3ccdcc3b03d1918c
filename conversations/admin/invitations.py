"""The administration's page of invitations: made, listed and withdrawn."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from conversations.models import Invitation
from conversations.ops import invitations


@admin.register(Invitation)
class InvitationAdmin(admin.ModelAdmin):
    """Invitations. The link of one is shown when it is made, and never again; deleting one withdraws it."""

    list_display = ["note", "state", "account", "made_by", "created_at"]
    list_select_related = ["made_by", "account"]
    fields = ["note", "ends_at"]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """The form, with one way to save it: the others would not show the link."""
        only = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, {**(extra_context or {}), **only})

    def save_model(self, request: HttpRequest, obj: Invitation, form: Any, change: bool) -> None:
        token = invitations.new_token()
        obj.digest, obj.made_by_id = invitations.digest_of(token), request.user.pk or 0
        super().save_model(request, obj, form, change)
        request.invitation = request.build_absolute_uri(f"{reverse('join')}?token={token}")  # type: ignore[attr-defined]

    def response_add(self, request: HttpRequest, obj: Invitation, *_args: Any, **_how: Any) -> HttpResponse:
        context = {
            **admin.site.each_context(request),
            "title": _("Invitation of %(name)s") % {"name": obj.note},
            "invitation": obj,
            "address": request.invitation,  # type: ignore[attr-defined]
            "opts": self.opts,
        }
        return render(request, "admin/conversations/invitation/made.html", context)

    @admin.display(description=gettext_lazy("State"))
    def state(self, invitation: Invitation) -> str:
        if invitation.used_at:
            return _("used")
        return _("ended") if invitation.ends_at <= timezone.now() else _("open")
