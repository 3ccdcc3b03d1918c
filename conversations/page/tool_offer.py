"""The tools offered to a conversation's models, with their cost in tokens, as the panel shows them."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from conversations.context.head import tools_for
from conversations.context.tools import offered_tools
from conversations.instructions import conversation_settings
from conversations.llm import tools as llm_tools
from conversations.llm.tools import Spec
from conversations.models import Conversation


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """The tools offered to `whom` ("" in a chat); each request carries them in `tokens`, as the model counts."""

    whom: str
    tools: tuple[Spec, ...]
    tokens: int


def offer(conversation: Conversation) -> list[ToolOffer]:
    """The conversation's offers; none if the model cannot call tools."""
    profile = conversation_settings.profile_of(conversation)
    if profile is None or not profile.can_call:
        return []
    own = tools_for(conversation)
    tools_by_flow = {"": own}
    if conversation.kind == Conversation.Kind.AGENT:
        tools_by_flow = {
            _("The planner"): own,
            _("The executor"): offered_tools(Conversation.Kind.EXECUTOR, has_gaps=False),
        }
    window = profile.usable_window
    return [ToolOffer(whom, tools, window.corrected(llm_tools.tokens(tools))) for whom, tools in tools_by_flow.items()]
