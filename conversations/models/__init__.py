from conversations.models.api_key import ApiKey
from conversations.models.conversation import Conversation
from conversations.models.goal import Goal
from conversations.models.message import Message, ToolCall
from conversations.models.model_profile import ModelProfile

__all__ = ["ApiKey", "Conversation", "Goal", "Message", "ModelProfile", "ToolCall"]
