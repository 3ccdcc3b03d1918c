"""Messages that are sent while a reply is written wait in a queue, and go in order, each once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from conversations import tasks
from conversations.errors import Conflict, Invalid, NotFound
from conversations.messages.attachments import upload
from conversations.models import Conversation, Message, QueuedMessage, User
from conversations.turns import message_queue, stop
from tests.conversations.chat import START, Chat
from tests.conversations.pages import Pages

pytestmark = pytest.mark.once


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


def words_of(conversation: Conversation) -> list[tuple[str, str]]:
    return list(Message.objects.filter(conversation=conversation).order_by("created_at").values_list("role", "content"))


async def writing(chat: Chat, *texts: str, seconds: float = 0.3) -> Any:
    """A reply that takes a while, and messages that wait for it."""
    chat.llm.enqueue("One. " * 5, delay=seconds)
    begun = await chat.send("first")
    for text in texts:
        await sync_to_async(message_queue.add)(chat.conversation, content=text, shown=text)
    return begun


async def until_sent(chat: Chat) -> None:
    for _ in range(200):
        await chat.idle()
        if not await QueuedMessage.objects.aexists() and not await Message.objects.filter(status="streaming").aexists():
            return
    raise AssertionError("the queue was not sent")


async def test_what_waits_is_sent_in_order_after_the_reply(chat: Chat) -> None:
    begun = await writing(chat, "second", "third")
    assert await QueuedMessage.objects.acount() == 2
    await chat.ended(begun.reply.pk)
    await until_sent(chat)
    words = await sync_to_async(words_of)(chat.conversation)
    assert [content for role, content in words if role == "user"] == ["first", "second", "third"]
    assert [role for role, _ in words] == ["user", "assistant"] * 3


async def test_after_stop_the_queue_waits_for_its_owner(chat: Chat) -> None:
    begun = await writing(chat, "second", seconds=20)
    await sync_to_async(stop.stop)(chat.conversation)
    await chat.ended(begun.reply.pk)
    await chat.idle()
    await sync_to_async(message_queue.go_on_everywhere)()
    await chat.idle()
    assert await QueuedMessage.objects.acount() == 1
    chat.llm.clear()  # the model may not have been asked before the stop
    assert await sync_to_async(message_queue.send_next)(chat.conversation.pk, anyway=True)
    await until_sent(chat)


async def test_a_worker_that_stopped_in_between_loses_nothing(chat: Chat) -> None:
    await chat.say("first")
    await QueuedMessage.objects.acreate(conversation=chat.conversation, content="second", shown="second")
    await tasks.sweep()
    await until_sent(chat)
    assert ("user", "second") in await sync_to_async(words_of)(chat.conversation)


async def test_a_message_is_sent_once_whoever_sends_it(chat: Chat) -> None:
    await chat.say("first")
    row = await QueuedMessage.objects.acreate(conversation=chat.conversation, content="second", shown="second")
    one = await sync_to_async(message_queue.send_next)(chat.conversation.pk)
    assert one is not None
    await QueuedMessage.objects.acreate(pk=row.pk, conversation=chat.conversation, content="second", shown="second")
    await chat.ended(one.reply.pk)
    await sync_to_async(message_queue.send_next)(chat.conversation.pk)
    await chat.idle()
    assert [content for _, content in await sync_to_async(words_of)(chat.conversation)].count("second") == 1


async def test_one_that_is_refused_says_why_and_waits(chat: Chat) -> None:
    await chat.say("first")
    long = "word " * 20_000
    await QueuedMessage.objects.acreate(conversation=chat.conversation, content=long, shown="long")
    assert await sync_to_async(message_queue.send_next)(chat.conversation.pk) is None
    assert "Too long for scripted" in (await QueuedMessage.objects.aget()).error


@pytest.fixture
def replying(conversation: Conversation) -> Conversation:
    first = Message.objects.create(conversation=conversation, role="user", content="first", created_at=START)
    later = first.created_at + timedelta(seconds=1)
    Message.objects.create(conversation=conversation, role="assistant", status="streaming", created_at=later)
    return conversation


def test_the_page_queues_edits_and_removes(pages: Pages, replying: Conversation) -> None:
    sent = pages.post("send", replying.pk, content="second <b>", client_id="a")
    assert sent.headers["HX-Retarget"] == "#queue" and "second &lt;b&gt;" in sent.content.decode()
    pages.post("send", replying.pk, content="second <b>", client_id="a")
    pages.post("send", replying.pk, content="third", client_id="b")
    first, second = QueuedMessage.objects.all()
    page = pages.get("chat", replying.pk).content.decode()
    assert page.index("second &lt;b&gt;") < page.index("when the reply is there") < page.index("third")
    taken = pages.post("take_queued", replying.pk, first.pk, edit="1").content.decode()
    assert "second &lt;b&gt;</pre>" in taken
    assert pages.post("take_queued", replying.pk, first.pk).status_code == 404
    assert "third" not in pages.post("take_queued", replying.pk, second.pk).content.decode()
    assert not QueuedMessage.objects.exists()


def test_files_do_not_wait_and_a_queue_has_its_end(
    pages: Pages, replying: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = upload(replying, name="a.txt", data=b"hello")
    refused = pages.post("send", replying.pk, content="see", attachments=str(row.pk))
    assert refused.status_code == 409 and "cannot wait in the queue" in refused.content.decode()
    monkeypatch.setattr(message_queue, "MAX_QUEUED", 1)
    message_queue.add(replying, content="a", shown="a")
    with pytest.raises(Conflict, match="At most 1 messages can wait"):
        message_queue.add(replying, content="b", shown="b")
    with pytest.raises(Invalid):
        message_queue.add(replying, content=" ", shown=" ")


def test_nobody_else_reaches_the_queue(pages: Pages, replying: Conversation) -> None:
    row = message_queue.add(replying, content="mine", shown="mine")
    eve = Pages(User.objects.create_user("eve"))
    assert eve.post("take_queued", replying.pk, row.pk).status_code == 404
    assert eve.post("send_queued", replying.pk).status_code == 404
    other = Conversation.objects.create(owner=replying.owner)
    with pytest.raises(NotFound):
        message_queue.take(other, row.pk)
