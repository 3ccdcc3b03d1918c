"""Defines the tasks that can be enqueued by name. Arguments are ids as text, which a broker can carry."""

from uuid import UUID

from asgiref.sync import sync_to_async

from conversations.compaction import compaction
from conversations.llm.probes import window_probe
from conversations.llm.windows import windows
from conversations.memory import message_index
from conversations.ops import maintenance
from conversations.requests import shadow
from conversations.runtime import log_context
from conversations.turns import message_queue, recovery, titles, turn, whole_files


async def answer(conversation_id: str, reply_id: str, token: str = "") -> None:
    with log_context.bound(conversation_id=conversation_id, reply_id=reply_id):
        await turn.run(UUID(conversation_id), UUID(reply_id), UUID(token) if token else None)


async def send_queued(conversation_id: str) -> None:
    with log_context.bound(conversation_id=conversation_id):
        await sync_to_async(message_queue.send_next)(UUID(conversation_id))


async def compact(compaction_id: str) -> None:
    await compaction.run(UUID(compaction_id))


async def suggest_title(conversation_id: str, reply_id: str) -> None:
    with log_context.bound(conversation_id=conversation_id, reply_id=reply_id):
        await titles.suggest(UUID(conversation_id), UUID(reply_id))


async def compare_with_whole_history(conversation_id: str, reply_id: str) -> None:
    with log_context.bound(conversation_id=conversation_id, reply_id=reply_id):
        await shadow.compare(UUID(conversation_id), UUID(reply_id))


async def read_whole(reading_id: str) -> None:
    await whole_files.run(UUID(reading_id))


async def ask_window(profile_id: str) -> None:
    await windows.ask(int(profile_id))


async def check_window(profile_id: str, tokens: str) -> None:
    await window_probe.check(int(profile_id), int(tokens))


async def sweep() -> None:
    await sync_to_async(recovery.sweep)()
    await sync_to_async(message_queue.go_on_everywhere)()
    await sync_to_async(message_index.keep_up)()


async def tidy() -> None:
    await sync_to_async(maintenance.tidy)()
