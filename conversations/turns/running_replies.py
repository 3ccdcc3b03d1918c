"""Registry of the replies that this process is writing: their text so far, and a way to stop each."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from conversations.messages.answer import Answer
from conversations.models import Message
from conversations.runtime.event_types import EventType, Signal
from conversations.runtime.events import hub

in_progress: dict[UUID, Running] = {}


@dataclass(slots=True)
class Running:
    """A reply that this process is writing. `token` is the lease token that allows this process to write it."""

    conversation_id: UUID
    answer: Answer
    token: UUID
    task: asyncio.Task[Any]
    stopping: bool = False
    makes_room: bool = False
    """Whether the reply may be waiting for a compaction, started by itself or by another."""
    number: int = 1
    """The number of this request within the turn, from 1."""

    @property
    def reply_id(self) -> UUID:
        return self.answer.id

    @property
    def text(self) -> str:
        return self.answer.text


def stop_here(conversation_id: UUID) -> bool:
    running = in_progress.get(conversation_id)
    if running is None or running.task.done():
        return False
    running.stopping = True
    running.task.get_loop().call_soon_threadsafe(running.task.cancel)
    return True


def text_so_far(reply: Message) -> str:
    """The text of a running reply as far as this process knows it, whichever process writes it."""
    return max(heard(reply.conversation_id, str(reply.pk)), reply.content, key=len)


def thoughts_so_far(reply: Message) -> tuple[str, int]:
    """The thoughts of a running reply and their seconds, as far as this process knows them, whichever writes it."""
    running = in_progress.get(reply.conversation_id)
    if running and running.reply_id == reply.pk:
        return running.answer.thoughts.text, running.answer.thoughts.ms_so_far // 1000
    return hub.draft(str(reply.pk), EventType.MESSAGE_THOUGHT), 0


def heard(conversation_id: UUID, reply_id: str) -> str:
    """The reply's text that this process wrote, or received in full from another process; else ""."""
    running = in_progress.get(conversation_id)
    return running.text if running and str(running.reply_id) == reply_id else hub.draft(reply_id)


def leave(running: Running) -> None:
    """Forget a reply that this process does not write in the end."""
    if in_progress.get(running.conversation_id) is running:
        del in_progress[running.conversation_id]


def forget(running: Running) -> None:
    """Forget a reply that has ended."""
    leave(running)
    hub.ended(running.conversation_id, str(running.reply_id))


hub.commands[Signal.REPLY_STOP] = stop_here
