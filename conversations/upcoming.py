"""The next request of a conversation, part by part, as it would be sent now."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from compression.core.values import Usage
from compression.records import active_checkpoints
from conversations import prompt
from conversations.agents.tools import spec
from conversations.context import recall
from conversations.models import Conversation, ModelProfile
from conversations.request_parts import Part, as_counted, messages_of, parts_of, tools_part
from conversations.usage import measured


@dataclass(frozen=True, slots=True)
class Upcoming:
    """`usage` is None where no model is set. The message that will be answered is not written yet: it comes last."""

    parts: tuple[Part, ...]
    usage: Usage | None

    @property
    def messages(self) -> list[dict[str, Any]]:
        return messages_of(self.parts)

    @property
    def tokens(self) -> int:
        return sum(part.tokens for part in self.parts)


def upcoming(conversation: Conversation) -> Upcoming:
    """What `prompt.look` tells as a whole."""
    loaded = recall.load(conversation.pk)
    head, messages = loaded.head, prompt.assemble(loaded).messages
    tools = spec.tokens(head.tools)
    opening = [Part("system", messages[0], prompt.system_tokens(head) - tools)]
    if head.tools:
        opening.append(tools_part(json.dumps(spec.as_functions(head.tools)), tools))
    if head.compressed_context is not None:
        numbers = tuple(checkpoint.number for checkpoint in active_checkpoints(head.id))
        opening.append(Part("summary", messages[1], head.compressed_tokens, checkpoints=numbers))
    window = head.window or ModelProfile().usable_window
    turns = parts_of(loaded.turns, with_images=head.can_see, instructs=prompt.instructs(head), recalled=loaded.recalled)
    return Upcoming(tuple(as_counted([*opening, *turns], window)), measured(loaded))
