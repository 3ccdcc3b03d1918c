"""HTML fragments that update an open page: each event becomes elements that htmx swaps in by their ids."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from html import escape
from typing import Any
from uuid import UUID

from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from compression.models import Compaction
from conversations.compaction import compaction
from conversations.compaction.progress import elapsed_seconds, eta_seconds
from conversations.context.reliability import reliability_of
from conversations.instructions import conversation_settings
from conversations.messages import history
from conversations.models import Attachment, Conversation, Message, Paste
from conversations.page import agent_fragments, message_view, thread
from conversations.page import meter as meters
from conversations.page.markup.streaming import StreamedMarkdown
from conversations.runtime.event_types import EventType
from conversations.runtime.subscription import Event
from conversations.turns import message_queue

METERS = ("chat/_meter", "thread/_notice", "chat/_pills", "chat/_switch_label", "composer/_cannot_call")
FIRST_STAGE = "identify"
QUIET = Compaction.Trigger.AHEAD
"""The trigger of compactions prepared in the background: the page stays usable and does not mention them."""


def render_event(conversation_id: UUID, event: Event) -> str:
    """The fragments of an event; "" if it changes nothing on the page."""
    if event.type == EventType.MESSAGE_DELTA:
        return delta(event)
    if event.type == EventType.MESSAGE_THOUGHT:
        return thought(event)
    if event.type == EventType.MESSAGE_CREATED:
        return created(conversation_id, event)
    conversation = Conversation.objects.select_related("model").filter(pk=conversation_id).first()
    if conversation is None:
        return gone() if event.type in (EventType.RESYNC, EventType.CONVERSATION_DELETED) else ""
    handler = HANDLERS.get(event.type)
    return handler(conversation, event.data) if handler else ""


def gone() -> str:
    """The fragments for a page that still shows a conversation deleted elsewhere."""
    note = render_to_string("conversations/thread/_gone.html")
    return by_itself("#thread", note) + by_itself("#compression-status", "")


def delta(event: Event) -> str:
    """The fragment that appends a piece of a reply. It runs for every token, so it reads no rows."""
    return f'<span hx-swap-oob="beforeend:#text-{escape(event.data["id"])}">{escape(event.data["text"])}</span>'


def thought(event: Event) -> str:
    """The fragment that appends to a reply's thoughts; `thoughts.js` puts it in its place. It reads no rows."""
    id, at, text = escape(event.data["id"]), int(event.data["at"]), escape(event.data["text"])
    return f'<span data-at="{at}" hx-swap-oob="beforeend:#thoughts-{id}">{text}</span>'


def streamed(reply: StreamedMarkdown, event: Event) -> str:
    """The fragment that updates a streaming reply: complete blocks go before its unfinished tail."""
    place, done = reply.place, reply.add(event.data["text"])
    if done is None:
        return delta(event)
    if reply.place == place:
        return by_itself(f"#{escape(place)}", reply.drawn)
    instead = by_itself(f"#{escape(place)}", done + reply.framed, swap="beforebegin")
    return f'{instead}<div id="{escape(place)}" hx-swap-oob="delete"></div>'


def created(conversation_id: UUID, event: Event) -> str:
    """The fragment for a new message, made from the event alone. The reply's first words follow in later events."""
    data = event.data["message"]
    fields = {name: data[name] for name in ("role", "name", "content", "status", "is_protected")}
    moment = datetime.fromisoformat(data["created_at"])
    row = Message(id=UUID(data["id"]), conversation_id=conversation_id, created_at=moment, **fields)
    files = [Attachment(conversation_id=conversation_id, **file) for file in data.get("attachments", ())]
    pastes = [Paste(**paste) for paste in data.get("pastes", ())]
    item = message_view.MessageView(
        history.set_parts(row, tool_calls=[], attachments=files, pastes=pastes), "live", row.content
    )
    html = render_to_string("conversations/thread/_message.html", {"item": item})
    return by_itself("#thread", html, swap="beforeend")


def message(conversation: Conversation, row: Message, *, swap: str = "", waits: str = "") -> SafeString:
    """One message; `swap` is htmx's out-of-band swap, `waits` names the work for which a pending reply waits."""
    history.load_visible_parts(row)
    item = message_view.view_of(conversation, row, waits=waits)
    return mark_safe(render_to_string("conversations/thread/_message.html", {"item": item, "swap": swap}))


def gone_from_composer(attachment_id: UUID) -> str:
    """The fragment that removes a sent file from the composer."""
    return f'<li id="attachment-{attachment_id}" hx-swap-oob="delete"></li>'


def thread_and_meter(conversation: Conversation) -> str:
    """The fragments that a compaction, an undo or a missed event changes."""
    context = {"conversation": conversation, **thread_context(conversation), "oob": True}
    return render_to_string("conversations/thread/_thread.html", context) + meter(conversation) + trust(conversation)


def changed_since(shown: thread.ShownThread, version: str) -> str:
    """The changes since `version`: the whole thread only if more than its end has changed."""
    items = shown.since(version)
    waiting = _queue_updated(shown.conversation, {})
    if items is None:
        return thread_and_meter(shown.conversation) + waiting
    fresh = [render_to_string("conversations/thread/_message.html", {"item": item, "fresh": True}) for item in items]
    seen = render_to_string("conversations/thread/_version.html", {"version": shown.version, "oob": True})
    measured = meter(shown.conversation, with_forecast=False)
    return by_itself("#thread", "".join(fresh), swap="beforeend") + seen + measured + waiting


def queue(conversation: Conversation, *, taken: str = "") -> SafeString:
    """The messages that wait to be sent; `taken` is the text of one that was taken out, to be edited in the box."""
    rows = message_queue.queued(conversation.pk)
    context = {"conversation": conversation, "queued": rows, "taken": taken}
    is_held = bool(rows) and not message_queue.is_writing(conversation.pk)
    return render_to_string("conversations/composer/_queue.html", context | {"is_held": is_held})


def _queue_updated(conversation: Conversation, data: dict[str, Any]) -> str:
    return by_itself("#queue", queue(conversation), swap="outerHTML")


def thread_context(conversation: Conversation) -> dict[str, Any]:
    version = thread.version(conversation)  # first, so that a page that changes meanwhile is fetched again
    return {"page": thread.thread_page(conversation), "version": version}


def meter(conversation: Conversation, *, with_forecast: bool = True) -> str:
    """The meter, its warning, and the header's summary of the system prompt; for an agent, one meter a flow.

    Without `with_forecast`, the page asks for the forecast of a compaction once its place is visible.
    """
    measured = meters.meter(conversation, with_forecast=with_forecast)
    context = {
        "meter": measured,
        "profile": conversation_settings.profile_of(conversation),
        "oob": True,
        "conversation": conversation,
    }
    parts = "".join(render_to_string(f"conversations/{name}.html", context) for name in METERS)
    return parts + agent_fragments.flows(conversation, measured)


def trust(conversation: Conversation) -> str:
    """The note that a fresh conversation would be more reliable, shown after many compactions."""
    context = {"conversation": conversation, "trust": reliability_of(conversation)}
    return by_itself("#trust", render_to_string("conversations/chat/_trust.html", context))


def status(conversation: Conversation, *, finished: Compaction | None = None) -> str:
    """The compaction that runs and blocks, else the outcome of `finished`, else an empty status line.

    `finished` may have ended since it was loaded.
    """
    running = busy(conversation)
    if finished and finished.is_active and not running:
        finished = Compaction.objects.filter(pk=finished.pk).first()
    has_ended = finished is not None and not finished.is_active and not running
    context = {"conversation": conversation, "running": running, "notice": finished if has_ended else None}
    return render_to_string("conversations/chat/_status.html", context | progress_context(running))


def progress_context(running: Compaction | None) -> dict[str, Any]:
    """The compaction's progress, in seconds, for `_progress.html`."""
    return {"eta": eta_seconds(running), "elapsed": elapsed_seconds(running)} if running else {}


def busy(conversation: Conversation) -> Compaction | None:
    """The running compaction for which the page has to wait, if any."""
    running = compaction.active(conversation)
    return running if running and running.trigger != QUIET else None


def by_itself(target: str, html: str, *, swap: str = "innerHTML") -> str:
    """A fragment that htmx swaps into `target`, out of band."""
    return f'<div hx-swap-oob="{swap}:{target}">{html}</div>'


def _reply_ended(conversation: Conversation, data: dict[str, Any]) -> str:
    row = _message_of(data)
    if row is None:
        return ""
    whole = message(conversation, row, swap="outerHTML")
    if row.tool_calls.all():
        return whole  # the turn continues after the tools
    return whole + by_itself("#said", _("The reply failed.") if row.error else _("The reply is there."))


def _compaction_status(conversation: Conversation, data: dict[str, Any]) -> str:
    return by_itself("#compression-status", status(conversation))


def _compaction_progress(conversation: Conversation, data: dict[str, Any]) -> str:
    """Only the progress figures, so that the button beside them keeps the keyboard's focus."""
    running = busy(conversation)
    if running is None or data["stage"] == FIRST_STAGE:
        return _compaction_status(conversation, data)
    html = render_to_string("conversations/chat/_progress.html", {"running": running} | progress_context(running))
    return by_itself("#compression-progress", html)


def _compaction_completed(conversation: Conversation, data: dict[str, Any]) -> str:
    row = Compaction.objects.filter(pk=data["id"]).exclude(trigger=QUIET).first()
    changed = thread_and_meter(conversation) if data["status"] == Compaction.Status.SUCCEEDED else ""
    return changed + by_itself("#compression-status", status(conversation, finished=row))


def _usage_updated(conversation: Conversation, data: dict[str, Any]) -> str:
    return meter(conversation)


def _title_updated(conversation: Conversation, data: dict[str, Any]) -> str:
    return title(conversation)


def _resync(conversation: Conversation, data: dict[str, Any]) -> str:
    whole = thread_and_meter(conversation) + title(conversation) + _queue_updated(conversation, data)
    return whole + by_itself("#compression-status", status(conversation))


def title(conversation: Conversation, *, headed: bool = True) -> str:
    """The conversation's title in the list and, if `headed`, in its page's header."""
    return render_to_string("conversations/chat/_titles.html", {"conversation": conversation, "headed": headed})


def _message_of(data: dict[str, Any]) -> Message | None:
    return history.with_visible_parts(Message.objects.filter(pk=data["message"]["id"])).first()


HANDLERS: dict[str, Callable[[Conversation, dict[str, Any]], str]] = {
    EventType.MESSAGE_DONE: _reply_ended,
    EventType.MESSAGE_FAILED: _reply_ended,
    EventType.COMPACTION_STARTED: _compaction_status,
    EventType.COMPACTION_PROGRESS: _compaction_progress,
    EventType.COMPACTION_COMPLETED: _compaction_completed,
    EventType.USAGE_UPDATED: _usage_updated,
    EventType.TITLE_UPDATED: _title_updated,
    EventType.TOOL_UPDATED: agent_fragments.called,
    EventType.RUN_UPDATED: agent_fragments.ran,
    EventType.STEP_CREATED: agent_fragments.stepped,
    EventType.QUEUE_UPDATED: _queue_updated,
    EventType.RESYNC: _resync,
}
