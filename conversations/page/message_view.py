"""One message as a page shows it, with its state in the model's context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from compression.ids import milliseconds_since
from conversations.context.elisions import elision
from conversations.context.transcript import CONTINUE
from conversations.messages.history import State, run_at, state_of
from conversations.models import Conversation, Message, ToolCall
from conversations.page.ledger_view import EntryView, entries_below
from conversations.page.markup import streaming
from conversations.runtime import end_reasons
from conversations.runtime.error_words import in_language
from conversations.turns import running_replies


@dataclass(frozen=True, slots=True)
class MessageView:
    """One message in full; `text` is its content, or the text streamed so far."""

    message: Message
    state: State
    text: str
    elided: str = ""
    """The treatment of the message's tool results in requests, in words: left out or shortened."""
    waits: str = ""
    """The work for which a reply that has not begun waits, in words."""
    thoughts: str = ""
    """The model's thoughts so far, while the reply is written; later they are read when they are opened."""
    thought_seconds: int = 0
    entries: tuple[EntryView, ...] = ()
    """The ledger's entries of the message that its person is shown below it."""

    template = "conversations/thread/_message.html"

    @property
    def streamed(self) -> SafeString:
        """The HTML of a streaming reply as far as it is written."""
        return mark_safe(streaming.so_far(str(self.message.pk), self.text)[1])

    @property
    def says_something(self) -> bool:
        """Whether the message has text or an attachment."""
        return bool(self.text or self.message.attachments.all())

    @property
    def work(self) -> str:
        """The progress of the message's tool calls, as a text that changes with each event."""
        return ",".join(_call_progress(call) for call in self.message.tool_calls.all())

    @property
    def goes_on(self) -> bool:
        """Whether the reply called tools; the answer is then in a later message."""
        return bool(self.message.tool_calls.all())

    @property
    def why_ended(self) -> str:
        """The provider's reason for ending the reply before it was complete, in words; "" if there is none."""
        return "" if self.goes_on else end_reasons.cut_off_note(self.message)

    @property
    def failure(self) -> end_reasons.Failure | None:
        """The failure of a reply that failed or was interrupted, in the page's language."""
        is_interrupted = self.message.status == Message.Status.INTERRUPTED
        error = self.message.error or (end_reasons.NO_REASON if is_interrupted else "")
        return end_reasons.Failure(*map(in_language, end_reasons.failure(error))) if error else None

    @property
    def can_continue(self) -> bool:
        return self.state in ("live", "protected") and end_reasons.can_continue(self.message)

    @property
    def asks_for_the_rest(self) -> bool:
        """Whether the message only asks for the rest of a reply."""
        return self.message.role == Message.Role.USER and self.message.content == CONTINUE

    @property
    def waited(self) -> int:
        """Seconds since the reply was requested."""
        return milliseconds_since(self.message.pk) // 1000

    @property
    def only_calls(self) -> bool:
        return not self.says_something and bool(self.message.tool_calls.all())


def view_of(
    conversation: Conversation, message: Message, *, waits: str = "", entries: Sequence[EntryView] | None = None
) -> MessageView:
    """The message; its `entries` are looked up where they are not given."""
    text = running_replies.text_so_far(message) if message.is_streaming else message.content
    state = state_of(conversation, message)
    elided = _elided(conversation, message) if state in ("live", "protected") else ""
    if not message.is_streaming:
        if entries is None:
            entries = entries_below(conversation.pk, [message])[message.pk]
        return MessageView(message, state, text, elided, waits, entries=tuple(entries))
    thoughts, seconds = running_replies.thoughts_so_far(message)
    return MessageView(message, state, text, elided, waits, thoughts, seconds)


def _call_progress(call: ToolCall) -> str:
    run = run_at(call)
    return f"{call.status} {run.status} {run.turns}" if run else call.status


def _elided(conversation: Conversation, message: Message) -> str:
    stored = conversation.elided.get(str(message.pk))
    if stored is None:
        return ""
    return _("shortened in requests") if elision(stored).excerpt else _("left out of requests")
