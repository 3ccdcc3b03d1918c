"""Builds the next request of a conversation, part by part, as it would be sent now."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from compression.core.values import Usage
from compression.records import active_checkpoints
from conversations.context import prompt
from conversations.llm import tools as llm_tools
from conversations.llm.request import Prompt
from conversations.memory import recall
from conversations.models import Conversation
from conversations.models.model_profile import DEFAULT_WINDOW
from conversations.requests.request_parts import Part, as_counted, messages_of, parts_of, tools_part
from conversations.requests.usage import usage_of


@dataclass(frozen=True, slots=True)
class Context:
    """Exactly what would be sent next, and what it costs (None where no model is set)."""

    prompt: Prompt
    usage: Usage | None

    @property
    def messages(self) -> tuple[dict[str, Any], ...]:
        return self.prompt.messages


def preview(conversation: Conversation) -> Context:
    """The next request of a conversation, as it stands now: passages are recalled for its latest question."""
    loaded = recall.load(conversation.pk)
    return Context(prompt.assemble(loaded), usage_of(loaded))


@dataclass(frozen=True, slots=True)
class NextRequest:
    """The parts of the next request, without the message still to be written, which will come last.

    `usage` is None if no model is set.
    """

    parts: tuple[Part, ...]
    usage: Usage | None

    @property
    def messages(self) -> list[dict[str, Any]]:
        return messages_of(self.parts)

    @property
    def tokens(self) -> int:
        return sum(part.tokens for part in self.parts)


def build_next_request(conversation: Conversation) -> NextRequest:
    """The conversation's next request in parts; `preview` gives the same request as a whole."""
    loaded = recall.load(conversation.pk)
    head, messages = loaded.head, prompt.assemble(loaded).messages
    tools = llm_tools.tokens(head.tools)
    opening = [Part("system", messages[0], prompt.system_tokens(head) - tools)]
    if head.tools:
        opening.append(tools_part(json.dumps(llm_tools.as_functions(head.tools)), tools))
    if head.compressed_context is not None:
        numbers = tuple(checkpoint.number for checkpoint in active_checkpoints(head.id))
        opening.append(Part("summary", messages[1], head.compressed_tokens, checkpoints=numbers))
    window = head.window or DEFAULT_WINDOW
    turns = parts_of(loaded.turns, with_images=head.can_see, instructs=prompt.instructs(head), recalled=loaded.recalled)
    return NextRequest(tuple(as_counted([*opening, *turns], window)), usage_of(loaded))
