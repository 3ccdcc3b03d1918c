from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser, UserManager
from django.db import models

from conversations.compiled_query import PreparedObjects
from conversations.models.spending import MonthlyBudget


class People(UserManager["User"]):
    use_in_migrations = False

    def get(self, *args: Any, **kwargs: Any) -> User:
        """One person. By `pk` alone, as authentication asks for each request, the query is a compiled one."""
        found = _BY_KEY.first(**kwargs) if not args and kwargs.keys() == {"pk"} else None
        return found or super().get(*args, **kwargs)


class User(MonthlyBudget, AbstractUser):
    """A person with an account. The table is that of Django's own model, which earlier versions of the site used."""

    id = models.AutoField(primary_key=True, verbose_name="ID")

    objects: ClassVar[People] = People()

    class Meta(AbstractUser.Meta):
        db_table = "auth_user"
        swappable = "AUTH_USER_MODEL"

    @property
    def initials(self) -> str:
        """The first letters of the first and the last name, or of the user name: one or two capitals."""
        names = (self.get_full_name() or self.get_username()).split()
        return "".join(name[0] for name in (names[:1] + names[1:][-1:])).upper()


_BY_KEY = PreparedObjects(lambda pk: User.objects.filter(pk=pk), pk=(User._meta.get_field("id"), -8))
