"""What changes on an open page, as HTML: each event becomes the parts that htmx swaps by their ids."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any
from uuid import UUID

from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from compression.models import Compaction
from conversations.compaction import compaction
from conversations.compaction.progress import elapsed_seconds, eta_seconds
from conversations.context import settings
from conversations.context.reliability import reliability_of
from conversations.messages import history
from conversations.models import Attachment, Conversation, Message, Paste
from conversations.page import agent_fragments, message_view, thread
from conversations.page import meter as meters
from conversations.page.markup.streaming import Growing
from conversations.runtime.event_types import EventType
from conversations.runtime.subscription import Event

METERS = ("meter", "notice", "pills", "cannot_call")
FIRST_STAGE = "identify"
QUIET = Compaction.Trigger.AHEAD
"""Prepared in the background: the page stays usable and says nothing."""


def render(conversation_id: UUID, event: Event) -> str:
    """The fragments of an event; "" where it changes nothing that is shown."""
    if event.type == EventType.MESSAGE_DELTA:
        return delta(event)
    if event.type == EventType.MESSAGE_CREATED:
        return created(conversation_id, event)
    conversation = Conversation.objects.select_related("model").filter(pk=conversation_id).first()
    if conversation is None:
        return gone() if event.type in (EventType.RESYNC, EventType.CONVERSATION_DELETED) else ""
    handler = HANDLERS.get(event.type)
    return handler(conversation, event.data) if handler else ""


def gone() -> str:
    """For pages that still show a conversation which was deleted elsewhere."""
    note = render_to_string("conversations/_gone.html")
    return by_itself("#thread", note) + by_itself("#compression-status", "")


def refetch(conversation_id: UUID) -> str:
    """For what is too large for a socket: the page fetches what has changed."""
    return by_itself("#said", render_to_string("conversations/_refetch.html", {"conversation_id": conversation_id}))


def delta(event: Event) -> str:
    """A piece of a reply, put behind what is shown. It is all of the work per token, so it reads nothing."""
    return f'<span hx-swap-oob="beforeend:#text-{escape(event.data["id"])}">{escape(event.data["text"])}</span>'


def grown(growing: Growing, event: Event) -> str:
    """The same of a page that shows `growing`: blocks that are whole by now stand before what is not."""
    place, done = growing.place, growing.add(event.data["text"])
    if done is None:
        return delta(event)
    if growing.place == place:
        return by_itself(f"#{escape(place)}", growing.drawn)
    instead = by_itself(f"#{escape(place)}", done + growing.framed, swap="beforebegin")
    return f'{instead}<div id="{escape(place)}" hx-swap-oob="delete"></div>'


def created(conversation_id: UUID, event: Event) -> str:
    """A new bubble, out of the event alone: the first words wait behind it, and are no part of it yet."""
    told = event.data["message"]
    fields = {name: told[name] for name in ("role", "name", "content", "status", "is_protected")}
    row = Message(id=UUID(told["id"]), conversation_id=conversation_id, **fields)
    files = [Attachment(conversation_id=conversation_id, **file) for file in told.get("attachments", ())]
    pastes = [Paste(**paste) for paste in told.get("pastes", ())]
    item = message_view.Bubble(
        history.set_parts(row, tool_calls=[], attachments=files, pastes=pastes), "live", row.content
    )
    html = render_to_string("conversations/_message.html", {"item": item})
    return by_itself("#thread", html, swap="beforeend")


def message(conversation: Conversation, row: Message, *, swap: str = "", waits: str = "") -> SafeString:
    """One bubble; `swap` names how it goes into the page by itself, `waits` what a pending reply waits for."""
    history.load_visible_parts(row)
    item = message_view.bubble(conversation, row, waits=waits)
    return mark_safe(render_to_string("conversations/_message.html", {"item": item, "swap": swap}))


def gone_from_composer(attachment_id: UUID) -> str:
    """A file that is part of a message now."""
    return f'<li id="attachment-{attachment_id}" hx-swap-oob="delete"></li>'


def thread_and_meter(conversation: Conversation) -> str:
    """What a compaction, an undo or a missed event changes."""
    context = {"conversation": conversation, **thread_context(conversation), "oob": True}
    return render_to_string("conversations/_thread.html", context) + meter(conversation) + trust(conversation)


def changed_since(shown: thread.Shown, version: str) -> str:
    """What a page that shows `version` does not know: all of the thread only where more than its end has changed."""
    items = shown.since(version)
    if items is None:
        return thread_and_meter(shown.conversation)
    fresh = [render_to_string("conversations/_message.html", {"item": item, "fresh": True}) for item in items]
    seen = render_to_string("conversations/_version.html", {"version": shown.version, "oob": True})
    return by_itself("#thread", "".join(fresh), swap="beforeend") + seen + meter(shown.conversation)


def thread_context(conversation: Conversation) -> dict[str, Any]:
    return {"page": thread.page(conversation), "version": thread.version(conversation)}


def meter(conversation: Conversation) -> str:
    """The meter, its warning, and the header's summary of the system prompt; for an agent, one meter a flow."""
    measured = meters.meter(conversation)
    context = {
        "meter": measured,
        "profile": settings.profile_of(conversation),
        "oob": True,
        "conversation": conversation,
    }
    parts = "".join(render_to_string(f"conversations/_{name}.html", context) for name in METERS)
    return parts + agent_fragments.flows(conversation, measured)


def trust(conversation: Conversation) -> str:
    """A note from so many compactions on that a fresh conversation would be more reliable."""
    context = {"conversation": conversation, "trust": reliability_of(conversation)}
    return by_itself("#trust", render_to_string("conversations/_trust.html", context))


def status(conversation: Conversation, *, finished: Compaction | None = None) -> str:
    """The compression that runs and blocks, else how the `finished` one ended, else nothing."""
    running = busy(conversation)
    context = {"conversation": conversation, "running": running, "notice": None if running else finished}
    return render_to_string("conversations/_status.html", context | progress_context(running))


def progress_context(running: Compaction | None) -> dict[str, Any]:
    """How far it is, for `_progress.html`."""
    return {"eta": eta_seconds(running), "elapsed": elapsed_seconds(running)} if running else {}


def busy(conversation: Conversation) -> Compaction | None:
    """The compression that the page has to wait for."""
    running = compaction.active(conversation)
    return running if running and running.trigger != QUIET else None


def by_itself(target: str, html: str, *, swap: str = "innerHTML") -> str:
    """A fragment that finds its own place."""
    return f'<div hx-swap-oob="{swap}:{target}">{html}</div>'


def _ended(conversation: Conversation, data: dict[str, Any]) -> str:
    row = _message(data)
    if row is None:
        return ""
    bubble = message(conversation, row, swap="outerHTML")
    if row.tool_calls.all():
        return bubble  # it goes on
    return bubble + by_itself("#said", "The reply failed." if row.error else "The reply is there.")


def _compressing(conversation: Conversation, data: dict[str, Any]) -> str:
    return by_itself("#compression-status", status(conversation))


def _progressing(conversation: Conversation, data: dict[str, Any]) -> str:
    """Its figures alone: what stands beside them, and may have the keyboard, stays."""
    running = busy(conversation)
    if running is None or data["stage"] == FIRST_STAGE:
        return _compressing(conversation, data)
    html = render_to_string("conversations/_progress.html", {"running": running} | progress_context(running))
    return by_itself("#compression-progress", html)


def _compressed(conversation: Conversation, data: dict[str, Any]) -> str:
    row = Compaction.objects.filter(pk=data["id"]).exclude(trigger=QUIET).first()
    changed = thread_and_meter(conversation) if data["status"] == Compaction.Status.SUCCEEDED else ""
    return changed + by_itself("#compression-status", status(conversation, finished=row))


def _used(conversation: Conversation, data: dict[str, Any]) -> str:
    return meter(conversation)


def _titled(conversation: Conversation, data: dict[str, Any]) -> str:
    return title(conversation)


def _resync(conversation: Conversation, data: dict[str, Any]) -> str:
    return thread_and_meter(conversation) + title(conversation) + by_itself("#compression-status", status(conversation))


def title(conversation: Conversation, *, headed: bool = True) -> str:
    """In the list, and in the head of its own page."""
    return render_to_string("conversations/_titles.html", {"conversation": conversation, "headed": headed})


def _message(data: dict[str, Any]) -> Message | None:
    return history.with_visible_parts(Message.objects.filter(pk=data["message"]["id"])).first()


HANDLERS: dict[str, Callable[[Conversation, dict[str, Any]], str]] = {
    EventType.MESSAGE_DONE: _ended,
    EventType.MESSAGE_FAILED: _ended,
    EventType.COMPACTION_STARTED: _compressing,
    EventType.COMPACTION_PROGRESS: _progressing,
    EventType.COMPACTION_COMPLETED: _compressed,
    EventType.USAGE_UPDATED: _used,
    EventType.TITLE_UPDATED: _titled,
    EventType.TOOL_UPDATED: agent_fragments.called,
    EventType.RUN_UPDATED: agent_fragments.ran,
    EventType.STEP_CREATED: agent_fragments.stepped,
    EventType.RESYNC: _resync,
}
