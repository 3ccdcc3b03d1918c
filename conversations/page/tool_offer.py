"""The tools of a conversation, as its owner reads of them: who is offered which, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass

from conversations.context import settings
from conversations.context.head import tools_for
from conversations.context.tools import offered_tools
from conversations.llm import tools as llm_tools
from conversations.llm.tools import Spec
from conversations.models import Conversation


@dataclass(frozen=True, slots=True)
class Offer:
    """To `whom` ("" in a chat); `tokens` are in each request, as the model counts them."""

    whom: str
    tools: tuple[Spec, ...]
    tokens: int


def offer(conversation: Conversation) -> list[Offer]:
    """Nothing where the model cannot call tools."""
    profile = settings.profile_of(conversation)
    if profile is None or not profile.can_call:
        return []
    own = tools_for(conversation)
    told = {"": own}
    if conversation.kind == Conversation.Kind.AGENT:
        told = {"The planner": own, "The executor": offered_tools(Conversation.Kind.EXECUTOR, is_compressed=False)}
    window = profile.usable_window
    return [Offer(whom, tools, window.corrected(llm_tools.tokens(tools))) for whom, tools in told.items()]
