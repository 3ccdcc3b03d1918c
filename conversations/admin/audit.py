"""The administration's page of the audit log, to be read only."""

from __future__ import annotations

from django.contrib import admin

from conversations.admin.base import ReadOnlyAdmin
from conversations.models import AuditEntry


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """The audit log. `manage.py audit` prints it as lines of JSON."""

    list_display = ["created_at", "action", "person_name", "subject", "address"]
    list_filter = ["action"]
    search_fields = ["person_name", "subject", "address"]
    fields = ["created_at", "action", "person_name", "subject", "address"]
    show_full_result_count = False
