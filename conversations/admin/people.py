"""Administration pages of people, groups and API keys, with the limits of administrators below superusers."""

from __future__ import annotations

from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy, ngettext

from conversations.admin.base import Deletion, ReadOnlyAdmin, deletion
from conversations.models import ApiKey, Conversation, GroupBudget, User

BUDGET = ("monthly_tokens", "monthly_usd")


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    """API keys, which their owners create; administrators can only delete them."""

    list_display = ["name", "user", "created_at", "last_used"]
    list_select_related = ["user"]
    search_fields = ["name", "user__username"]
    fields = ["name", "user", "created_at", "last_used", *BUDGET]

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return admin.ModelAdmin.has_delete_permission(self, request, obj)


GRANTS = ("is_staff", "is_superuser", "groups", "user_permissions")
"""The fields of a person that only superusers can change."""


class PersonForm(UserChangeForm):
    class Meta(UserChangeForm.Meta):
        model = User


class NewPersonForm(AdminUserCreationForm):
    class Meta(AdminUserCreationForm.Meta):
        model = User


@admin.register(User)
class PersonAdmin(UserAdmin):
    """A person. Deleting a person deletes their conversations, with compactions that cannot be deleted on their own."""

    form, add_form = PersonForm, NewPersonForm
    actions = ["remove_second_step"]
    fieldsets = (*(UserAdmin.fieldsets or ()), (gettext_lazy("Monthly budget"), {"fields": BUDGET}))

    @admin.action(description=gettext_lazy("Turn off two-step sign-in"), permissions=["change"])
    def remove_second_step(self, request: HttpRequest, people: QuerySet[User]) -> None:
        """Turn off the second step of people who lost their phone and codes; each has to be below the requester."""
        ids = [person.pk for person in people if _is_below(request, person)]
        steps = Authenticator.objects.filter(user__in=ids)
        gone = steps.values("user").distinct().count()
        steps.delete()
        said = ngettext("Two-step sign-in of %(n)s person is off.", "Two-step sign-in of %(n)s people is off.", gone)
        self.message_user(request, said % {"n": gone})

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        given = () if _is_superuser(request) else GRANTS
        return (*super().get_readonly_fields(request, obj), *given)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refused for people of equal rank: setting their password or name would mean taking over their account."""
        return super().has_change_permission(request, obj) and _is_below(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return super().has_delete_permission(request, obj) and _is_below(request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Deletion:
        gone = deletion(objs, Conversation.objects.filter(owner__in=[obj.pk for obj in objs]))
        above = {str(obj) for obj in objs if not _is_below(request, obj)}
        return gone[0], gone[1], above, gone[3]


for made_by_a_library in (Group, Authenticator, EmailAddress, UserSession, SocialAccount, SocialApp, SocialToken):
    admin.site.unregister(made_by_a_library)


class GroupBudgetInline(admin.StackedInline):
    """The budget of each member, and the shared one, which holds beside it.

    A person's own budget takes the place of the first; of several groups, the largest of these holds.
    """

    model = GroupBudget
    verbose_name = verbose_name_plural = gettext_lazy("Monthly budget")
    fieldsets = (
        (gettext_lazy("Of each member"), {"fields": BUDGET}),
        (gettext_lazy("Of all members together"), {"fields": ("shared_tokens", "shared_usd")}),
    )


@admin.register(Group)
class PeopleGroupAdmin(GroupAdmin):
    """A group. Only superusers change groups, since a group's permissions apply to all its members."""

    inlines = [GroupBudgetInline]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return _is_superuser(request) and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_superuser(request) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_superuser(request) and super().has_delete_permission(request, obj)


def _is_superuser(request: HttpRequest) -> bool:
    return request.user.is_active and bool(getattr(request.user, "is_superuser", False))


def _is_below(request: HttpRequest, person: Model | None) -> bool:
    """Whether the requester outranks `person`: superusers outrank everybody, other staff only non-staff."""
    if person is None or _is_superuser(request) or person.pk == request.user.pk:
        return True
    return not (getattr(person, "is_superuser", False) or getattr(person, "is_staff", False))
