from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser
from django.urls import path

from conversations.models import Conversation, ModelProfile, User
from conversations.page import fragments
from conversations.page.consumers import ASK_FOR_CHANGES, MAX_RECEIVED_FRAMES, ConversationConsumer
from conversations.runtime.events import hub, publish
from conversations.runtime.subscription import MAX_QUEUED_EVENTS, Event
from tests.conversations.chat import Chat, fill
from tests.conversations.pages import Elements, one_line

ROUTES = URLRouter([path("ws/conversations/<uuid:pk>/", ConversationConsumer.as_asgi())])


def socket(user: Any, id: Any) -> WebsocketCommunicator:
    communicator = WebsocketCommunicator(ROUTES, f"/ws/conversations/{id}/")
    communicator.scope |= {"user": user, "session_key": "of a test", "language": "en"}
    return communicator


@pytest.fixture
async def open_socket(conversation: Conversation, user: User) -> AsyncIterator[WebsocketCommunicator]:
    communicator = socket(user, conversation.pk)
    assert (await communicator.connect())[0]
    yield communicator
    await communicator.disconnect()


async def test_anonymous_and_other_people_are_denied(conversation: Conversation) -> None:
    mallory = await User.objects.acreate(username="mallory")
    for id in (conversation.pk, uuid4()):
        assert await socket(mallory, id).connect() == (False, 4403)
    anonymous = socket(AnonymousUser(), conversation.pk)
    assert (await anonymous.connect())[0]
    assert await anonymous.receive_output() == {"type": "websocket.close", "code": 4401}


async def test_a_turn_arrives_as_fragments_each_with_its_place(chat: Chat, user: User) -> None:
    communicator = socket(user, chat.conversation.pk)
    await communicator.connect()
    chat.llm.enqueue("One **two** <three>", drip=0.02)
    await chat.say("count")
    frames = [await communicator.receive_from()]
    while "context-meter" not in frames[-1]:
        frames.append(await communicator.receive_from(timeout=5))
    await communicator.disconnect()
    created = [frame for frame in frames if frame.startswith('<div hx-swap-oob="beforeend:#thread">')]
    assert [("count" in frame, "aria-busy" in frame) for frame in created] == [(True, False), (False, True)]
    assert any(frame.startswith('<span hx-swap-oob="beforeend:#text-') for frame in frames)
    (ended,) = [frame for frame in frames if 'hx-swap-oob="outerHTML"' in frame and "<article" in frame]
    assert "<strong>two</strong> &lt;three&gt;" in ended


async def test_a_block_that_is_whole_is_put_before_the_place_of_what_is_not(
    open_socket: WebsocketCommunicator, conversation: Conversation
) -> None:
    id = str(uuid4())
    frames = []
    for at, text in ((0, "One "), (4, "word.\n\nTwo")):
        hub.hear(conversation.pk, Event("message.delta", {"id": id, "text": text, "at": at}))
        frames.append(await open_socket.receive_from(timeout=5))
    assert frames[0] == f'<span hx-swap-oob="beforeend:#text-{id}">One </span>'
    assert frames[1].startswith(f'<div hx-swap-oob="beforebegin:#tail-{id}-0"><p>One word.</p>')
    assert f'id="text-{id}">Two</div>' in frames[1]
    assert frames[1].endswith(f'<div id="tail-{id}-0" hx-swap-oob="delete"></div>')


async def test_words_of_a_reply_whose_beginning_was_not_heard_are_put_behind_what_is_shown(
    open_socket: WebsocketCommunicator, conversation: Conversation
) -> None:
    id = str(uuid4())
    for at, text in ((400, "One.\n\nTwo"), (409, "\n\nThree\n")):
        hub.hear(conversation.pk, Event("message.delta", {"id": id, "text": text, "at": at}))
        frame = await open_socket.receive_from(timeout=5)
        assert frame == f'<span hx-swap-oob="beforeend:#text-{id}">{text}</span>'


async def test_a_compression_arrives_as_status_then_thread(chat: Chat, user: User) -> None:
    await sync_to_async(fill)(chat.conversation, 20)
    communicator = socket(user, chat.conversation.pk)
    await communicator.connect()
    await chat.compact()
    frames = [await communicator.receive_from(timeout=5)]
    while "compaction-divider" not in frames[-1]:
        frames.append(await communicator.receive_from(timeout=5))
    await communicator.disconnect()
    assert "data-busy" in frames[0] and 'hx-swap-oob="innerHTML:#compression-status"' in frames[0]
    assert "data-busy" not in frames[-1] and "Compacted 16 messages" in one_line(frames[-1])


def test_a_delta_is_escaped_and_reads_nothing(conversation: Conversation, django_assert_num_queries: Any) -> None:
    event = Event("message.delta", {"id": str(uuid4()), "text": " <img src=x onerror=alert(1)>\n"})
    with django_assert_num_queries(0):
        html = fragments.render_event(conversation.pk, event)
    assert [tag for tag, _ in Elements(html).found] == ["span"]
    assert html.endswith("> &lt;img src=x onerror=alert(1)&gt;\n</span>")


def test_events_of_what_is_gone_or_unknown_show_nothing(conversation: Conversation) -> None:
    gone = {"message": {"id": str(uuid4()), "error": ""}}
    assert fragments.render_event(uuid4(), Event("usage.updated")) == ""
    assert "was deleted" in fragments.render_event(uuid4(), Event("resync"))
    assert fragments.render_event(conversation.pk, Event("something.else")) == ""
    assert fragments.render_event(conversation.pk, Event("message.done", gone)) == ""


async def test_what_a_client_sends_is_ignored(open_socket: WebsocketCommunicator, conversation: Conversation) -> None:
    await open_socket.send_to(text_data='{"type": "message.created"}')
    publish(conversation.pk, "title.updated", title="x")
    assert "title-" in await open_socket.receive_from()


@pytest.mark.parametrize(
    ("frames", "code"), [([b"\0"], 4003), (["x"] * (MAX_RECEIVED_FRAMES + 1), 4008)], ids=["bytes", "a flood"]
)
async def test_bytes_and_floods_end_the_socket(
    open_socket: WebsocketCommunicator, frames: list[Any], code: int
) -> None:
    for frame in frames:
        await open_socket.send_to(**{"bytes_data" if isinstance(frame, bytes) else "text_data": frame})
    assert (await open_socket.receive_output())["code"] == code


async def test_a_closed_socket_listens_no_more(conversation: Conversation, user: User) -> None:
    communicator = socket(user, conversation.pk)
    await communicator.connect()
    assert hub.listeners.get(conversation.pk)
    await communicator.disconnect()
    assert not hub.listeners.get(conversation.pk)


async def test_a_page_that_fell_behind_gets_the_whole_thread(
    open_socket: WebsocketCommunicator, conversation: Conversation
) -> None:
    for number in range(MAX_QUEUED_EVENTS + 50):
        publish(conversation.pk, "message.delta", id=str(uuid4()), text=str(number))
    frame = await open_socket.receive_from(timeout=5)
    while 'id="thread"' not in frame:
        frame = await open_socket.receive_from(timeout=5)


async def test_what_is_too_large_for_a_frame_is_fetched_by_the_page(chat: Chat, user: User) -> None:
    communicator = socket(user, chat.conversation.pk)
    await communicator.connect()
    await ModelProfile.objects.aupdate(window=200_000)
    chat.llm.enqueue("a long word " * 9_000, piece=20_000)
    await chat.say("count")
    frames: list[str] = []
    while not frames or "context-meter" not in frames[-1]:
        frames.append(await communicator.receive_from(timeout=5))
    await communicator.disconnect()
    assert all(len(frame.encode()) <= 65_536 for frame in frames)
    assert ASK_FOR_CHANGES in frames
