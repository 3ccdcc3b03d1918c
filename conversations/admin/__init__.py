"""The administration pages. They include the engine's rows, since actions on them need this app's functions."""

from django.contrib import admin

from conversations.admin.agents import AgentRunAdmin
from conversations.admin.compactions import CheckpointAdmin, CompactionAdmin, SnapshotAdmin
from conversations.admin.conversations import ConversationAdmin
from conversations.admin.people import ApiKeyAdmin, PersonAdmin
from conversations.admin.profiles import ModelProfileAdmin
from conversations.admin.templates import PromptTemplateAdmin
from conversations.admin.tool_servers import ToolServerAdmin

admin.site.site_header = admin.site.site_title = "chatsite administration"
admin.site.enable_nav_sidebar = False

__all__ = [
    "AgentRunAdmin",
    "ApiKeyAdmin",
    "CheckpointAdmin",
    "CompactionAdmin",
    "ConversationAdmin",
    "ModelProfileAdmin",
    "PersonAdmin",
    "PromptTemplateAdmin",
    "SnapshotAdmin",
    "ToolServerAdmin",
]
