from __future__ import annotations

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q


class MonthlyBudget(models.Model):
    """Limits of a calendar month, in UTC; null for none."""

    monthly_tokens = models.PositiveBigIntegerField(
        "Tokens a month", null=True, blank=True, help_text="Of prompts and answers together. Empty: no limit here."
    )
    monthly_usd = models.DecimalField(
        "US dollars a month",
        max_digits=10,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text="By the prices of the models; a model without a price costs nothing. Empty: no limit here.",
    )

    class Meta:
        abstract = True


class GroupBudget(MonthlyBudget):
    """The budget of each member of a group, and the one that all its members share."""

    group = models.OneToOneField("auth.Group", on_delete=models.CASCADE, related_name="budget")
    shared_tokens = models.PositiveBigIntegerField(
        "Tokens a month, shared", null=True, blank=True, help_text="Of all members together. Empty: no limit here."
    )
    shared_usd = models.DecimalField(
        "US dollars a month, shared",
        max_digits=10,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text="Of all members together. Empty: no limit here.",
    )

    def __str__(self) -> str:
        return str(self.group)


class Spending(models.Model):
    """The tokens and dollars of a person's requests in one month, or of the gateway calls of one of their keys.

    Deleting a conversation lowers neither. `month` is its first day, in UTC.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.ForeignKey("ApiKey", on_delete=models.CASCADE, null=True, related_name="+", db_index=False)
    month = models.DateField()
    tokens = models.PositiveBigIntegerField(default=0)
    usd = models.DecimalField(max_digits=16, decimal_places=6, default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "month"], condition=Q(key=None), name="spending_of_a_person"),
            models.UniqueConstraint(fields=["key", "month"], condition=~Q(key=None), name="spending_of_a_key"),
        ]

    def __str__(self) -> str:
        return f"{self.month:%Y-%m}: {self.tokens} tokens"
