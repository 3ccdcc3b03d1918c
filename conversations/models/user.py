from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models

from conversations.models.spending import MonthlyBudget


class User(MonthlyBudget, AbstractUser):
    """A person with an account. The table is that of Django's own model, which earlier versions of the site used."""

    id = models.AutoField(primary_key=True, verbose_name="ID")

    class Meta(AbstractUser.Meta):
        db_table = "auth_user"
        swappable = "AUTH_USER_MODEL"
