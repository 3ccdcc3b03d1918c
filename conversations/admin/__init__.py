"""The administration pages. They include the engine's rows, since actions on them need this app's functions."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from conversations.admin import labels
from conversations.admin.agents import AgentRunAdmin
from conversations.admin.audit import AuditEntryAdmin
from conversations.admin.compactions import CheckpointAdmin, CompactionAdmin, SnapshotAdmin
from conversations.admin.conversations import ConversationAdmin
from conversations.admin.invitations import InvitationAdmin
from conversations.admin.people import ApiKeyAdmin, PersonAdmin
from conversations.admin.profiles import ModelProfileAdmin
from conversations.admin.templates import PromptTemplateAdmin
from conversations.admin.tool_servers import ToolServerAdmin

admin.site.site_header = admin.site.site_title = _("chatsite administration")
admin.site.enable_nav_sidebar = False
labels.translate(admin.site._registry)

__all__ = [
    "AgentRunAdmin",
    "ApiKeyAdmin",
    "AuditEntryAdmin",
    "CheckpointAdmin",
    "CompactionAdmin",
    "ConversationAdmin",
    "InvitationAdmin",
    "ModelProfileAdmin",
    "PersonAdmin",
    "PromptTemplateAdmin",
    "SnapshotAdmin",
    "ToolServerAdmin",
]
