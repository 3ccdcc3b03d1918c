"""One message as it is read, and how it stands to what the model is sent."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe

from compression.ids import milliseconds_since
from conversations.context.transcript import CONTINUE
from conversations.messages.history import State, run_at, state_of
from conversations.models import Conversation, Message, ToolCall
from conversations.page.markup import streaming
from conversations.runtime import endings
from conversations.turns import running


@dataclass(frozen=True, slots=True)
class Bubble:
    """One message in full; `text` is what has streamed so far, or its content."""

    message: Message
    state: State
    text: str
    elided: bool = False
    """Sent, but for its tool results."""
    waits: str = ""
    """What a reply that has not begun waits for."""

    template = "conversations/_message.html"

    @property
    def growing(self) -> SafeString:
        """Of one that is being written: what there is."""
        return mark_safe(streaming.so_far(str(self.message.pk), self.text)[1])

    @property
    def says_something(self) -> bool:
        """In words, or by a picture."""
        return bool(self.text or self.message.attachments.all())

    @property
    def work(self) -> str:
        """How far the tools are that it called: another text with each thing that happens."""
        return ",".join(_progress(call) for call in self.message.tool_calls.all())

    @property
    def goes_on(self) -> bool:
        """Whether the reply called tools, so that the answer is in a later message."""
        return bool(self.message.tool_calls.all())

    @property
    def why_ended(self) -> str:
        """Before it was whole, as its provider told it."""
        return "" if self.goes_on else endings.told(self.message)

    @property
    def failure(self) -> endings.Failure | None:
        """Of a reply that failed or was interrupted."""
        is_interrupted = self.message.status == Message.Status.INTERRUPTED
        error = self.message.error or (endings.NO_REASON if is_interrupted else "")
        return endings.failure(error) if error else None

    @property
    def can_continue(self) -> bool:
        return self.state in ("live", "protected") and endings.can_continue(self.message)

    @property
    def asks_for_the_rest(self) -> bool:
        """Of a reply; nothing else is said in it."""
        return self.message.role == Message.Role.USER and self.message.content == CONTINUE

    @property
    def waited(self) -> int:
        """Seconds since the reply was asked for."""
        return milliseconds_since(self.message.pk) // 1000

    @property
    def only_calls(self) -> bool:
        return not self.says_something and bool(self.message.tool_calls.all())


def bubble(conversation: Conversation, message: Message, *, waits: str = "") -> Bubble:
    text = running.text_so_far(message) if message.is_streaming else message.content
    state = state_of(conversation, message)
    elided = str(message.pk) in conversation.elided and state in ("live", "protected")
    return Bubble(message, state, text, elided, waits)


def _progress(call: ToolCall) -> str:
    run = run_at(call)
    return f"{call.status} {run.status} {run.turns}" if run else call.status
