from conversations.models.agent import AgentRun, AgentStep
from conversations.models.api_key import ApiKey
from conversations.models.attachment import Attachment, Paste
from conversations.models.audit_entry import AuditEntry
from conversations.models.conversation import Conversation
from conversations.models.errand import Errand
from conversations.models.gateway import Folding, GatewayCall
from conversations.models.goal import Goal
from conversations.models.held_response import HeldResponse
from conversations.models.invitation import Invitation
from conversations.models.ledger_entry import LedgerEntry
from conversations.models.link import Link
from conversations.models.message import Message, ToolCall
from conversations.models.model_profile import ModelProfile
from conversations.models.preference import Preference
from conversations.models.project import Project, ProjectMember
from conversations.models.queued_message import QueuedMessage
from conversations.models.saved_prompt import SavedPrompt
from conversations.models.shadow_comparison import ShadowComparison
from conversations.models.spending import GroupBudget, MonthlyBudget, Spending
from conversations.models.stored_prompt import Wording
from conversations.models.tool_server import ToolServer
from conversations.models.user import User
from conversations.models.whole_reading import WholeReading

__all__ = [
    "AgentRun",
    "AgentStep",
    "ApiKey",
    "Attachment",
    "AuditEntry",
    "Conversation",
    "Errand",
    "Folding",
    "GatewayCall",
    "Goal",
    "GroupBudget",
    "HeldResponse",
    "Invitation",
    "LedgerEntry",
    "Link",
    "Message",
    "ModelProfile",
    "MonthlyBudget",
    "Paste",
    "Preference",
    "Project",
    "ProjectMember",
    "QueuedMessage",
    "SavedPrompt",
    "ShadowComparison",
    "Spending",
    "ToolCall",
    "ToolServer",
    "User",
    "WholeReading",
    "Wording",
]
