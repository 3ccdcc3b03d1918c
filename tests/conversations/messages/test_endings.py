"""Replies that ended before they were whole: stored as such, told everywhere, and gone on with."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model

from compression.core.ledger.rules import find_rules
from conversations.context import transcript
from conversations.context.transcript import CONTINUE
from conversations.errors import Conflict, Invalid, NotFound
from conversations.exchange.exports import as_json
from conversations.exchange.imports import import_conversations
from conversations.exchange.markdown import as_markdown
from conversations.models import Conversation, Message, ModelProfile, User
from conversations.runtime import end_reasons
from conversations.runtime.events import hub
from conversations.turns import branches, continue_reply, forks, running_replies, stop, versions
from tests.conversations.api_client import Api, refused
from tests.conversations.chat import Chat, fill
from tests.conversations.pages import Pages, elements
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once

CUT = {"finish_reason": "length", "usage": {"prompt_tokens": 30, "completion_tokens": 4_096}}


async def cut(chat: Chat, text: str = "Half of the st", **how: Any) -> Message:
    chat.llm.enqueue(text, **(CUT | how))
    return await chat.say("Tell me all of it")


async def continued(chat: Chat, reply: Message, text: str = "ory.") -> Message:
    """The reply that follows on it."""
    chat.llm.enqueue(text)
    begun = await sync_to_async(continue_reply.go_on)(chat.conversation, reply.pk)
    return await chat.ended(begun.reply.pk)


async def history(conversation: Conversation) -> list[tuple[str, str]]:
    rows = Message.objects.filter(transcript.HISTORY, conversation=conversation).order_by("created_at")
    return [pair async for pair in rows.values_list("role", "content")]


@pytest.mark.parametrize(
    ("reason", "stored", "words"),
    [
        ("length", "length", "cut off at 4,096 tokens"),
        ("model_length", "length", "cut off at 4,096 tokens"),
        ("content_filter", "content_filter", "stopped by the provider's content filter"),
        ("SAFETY", "content_filter", "stopped by the provider's content filter"),
        ("guardrail_intervened", "content_filter", "stopped by the provider's content filter"),
        ("abort", "aborted", "broken off by the provider"),
        ("MALFORMED_FUNCTION_CALL", "aborted", "broken off by the provider"),
        ("model_context_window_exceeded", "length", "cut off at 4,096 tokens"),
        ("COMPLETE", "", ""),
        ("stop", "", ""),
        ("of_next_year", "", ""),
    ],
)
async def test_why_a_reply_ended_is_stored_and_told(chat: Chat, reason: str, stored: str, words: str) -> None:
    with hub.listen(chat.conversation.pk) as listener:
        reply = await cut(chat, finish_reason=reason)
        async for event in listener:
            if event.type == "message.done":
                break
    assert (reply.status, reply.finish_reason, reply.content) == ("complete", stored, "Half of the st")
    assert event.data["message"]["finish_reason"] == stored
    assert end_reasons.cut_off_note(reply) == words


@pytest.mark.parametrize(
    ("reason", "stored"), [("length", "length"), ("content_filter", "content_filter"), ("stop", "")]
)
async def test_anthropics_reasons_are_stored_too(chat: Chat, reason: str, stored: str) -> None:
    await ModelProfile.objects.aupdate(provider="anthropic")
    chat.llm.enqueue("Half of the st", finish_reason=reason)
    reply = await chat.say("Tell me all of it")
    assert chat.llm.last_request.path == "/v1/messages"
    assert (reply.status, reply.finish_reason) == ("complete", stored)


async def test_where_nobody_reports_a_figure_our_own_is_told_as_such(chat: Chat) -> None:
    reply = await cut(chat, usage=None)
    assert end_reasons.cut_off_note(reply) == f"cut off after about {reply.token_count} tokens"


async def test_a_stopped_reply_has_no_reason_of_a_provider(chat: Chat) -> None:
    chat.llm.enqueue("one two three", fault="half_stall")
    begun = await chat.send("Tell me all of it")
    while not running_replies.text_so_far(await Message.objects.aget(pk=begun.reply.pk)):
        pass
    await sync_to_async(stop.stop)(chat.conversation)
    reply = await chat.ended(begun.reply.pk)
    assert (reply.status, reply.finish_reason, end_reasons.can_continue(reply)) == ("stopped", "", True)


async def test_a_continued_reply_is_asked_for_in_the_history_and_nothing_of_it_is_lost(chat: Chat) -> None:
    reply = await cut(chat)
    rest = await continued(chat, reply)
    assert (rest.status, rest.content, rest.finish_reason) == ("complete", "ory.", "")
    said = [("user", "Tell me all of it"), ("assistant", "Half of the st"), ("user", CONTINUE)]
    assert await history(chat.conversation) == [*said, ("assistant", "ory.")]
    sent = [(message["role"], message["content"]) for message in chat.llm.chats[-1].messages]
    assert sent[1:] == said
    await chat.check()
    await chat.say("And then?")
    roles = [message["role"] for message in chat.llm.chats[-1].messages]
    assert roles == ["system", *["user", "assistant"] * 2, "user"], "strict templates take nothing else"


async def test_a_reply_is_continued_as_often_as_it_is_cut_off(chat: Chat) -> None:
    reply = await cut(chat)
    for number in range(3):
        chat.llm.enqueue(f"part {number}", **CUT)
        begun = await sync_to_async(continue_reply.go_on)(chat.conversation, reply.pk)
        reply = await chat.ended(begun.reply.pk)
        assert (reply.content, reply.finish_reason) == (f"part {number}", "length")


async def test_anthropic_is_asked_to_continue_by_a_persons_message(chat: Chat) -> None:
    """Newer models refuse a request that ends with words of their own."""
    await ModelProfile.objects.aupdate(provider="anthropic")
    chat.llm.enqueue("Half of the st", finish_reason="length")
    await continued(chat, await chat.say("Tell me all of it"))
    assert [message["role"] for message in chat.llm.last_request.body["messages"]] == ["user", "assistant", "user"]


async def test_what_is_whole_failed_or_not_the_last_cannot_be_continued(chat: Chat) -> None:
    go_on = sync_to_async(continue_reply.go_on)
    reply = await cut(chat)
    whole = await chat.say("Thank you")
    with pytest.raises(Conflict, match="Only the last message"):
        await go_on(chat.conversation, reply.pk)
    with pytest.raises(Conflict, match="nothing to continue"):
        await go_on(chat.conversation, whole.pk)
    chat.llm.enqueue("one two three four", fault="error_midway", code="x")
    failed = await chat.say("Once more")
    assert failed.status == "failed"
    with pytest.raises(Conflict, match="nothing to continue"):
        await go_on(chat.conversation, failed.pk)
    with pytest.raises(NotFound):
        await go_on(chat.conversation, chat.conversation.pk)
    before = await Message.objects.acount()
    chat.llm.enqueue("", delay=5)
    begun = await chat.send("Again")
    with pytest.raises(Conflict, match="still being written"):
        await go_on(chat.conversation, begun.reply.pk)
    assert await Message.objects.acount() == before + 2


async def test_a_reply_within_a_summary_cannot_be_continued(chat: Chat) -> None:
    await sync_to_async(fill)(chat.conversation, 20)
    reply = await cut(chat)
    await chat.compact(up_to=str(reply.pk))
    with pytest.raises(Conflict, match="part of a summary"):
        await sync_to_async(continue_reply.go_on)(chat.conversation, reply.pk)


async def test_what_is_continued_is_sent_word_for_word_even_where_room_must_be_made(chat: Chat) -> None:
    await sync_to_async(fill)(chat.conversation, 34)
    long = "word " * 1_400
    reply = await cut(chat, long, usage=None)
    chat.llm.enqueue_summary(times=5)
    await continued(chat, reply)
    await chat.refresh()
    assert chat.conversation.is_compressed
    assert long in [message["content"] for message in chat.llm.chats[-1].messages]
    await chat.check()


async def test_a_reply_that_fills_its_window_is_continued_all_the_same(chat: Chat) -> None:
    """It cannot be sent beside what it still needs room for: then it is compressed as anything else is."""
    reply = await cut(chat, "word " * 3_200, usage=None)
    chat.llm.enqueue_summary(times=5)
    rest = await continued(chat, reply)
    assert (rest.status, rest.error) == ("complete", "")
    await chat.check()


def test_the_words_that_ask_for_the_rest_hold_no_rule() -> None:
    assert list(find_rules(CONTINUE)) == []


async def test_a_rule_in_the_cut_reply_does_not_come_into_force(chat: Chat) -> None:
    reply = await cut(chat, "Never use tabs. Always answer in French.")
    await continued(chat, reply)
    await chat.refresh()
    assert chat.conversation.rules == []


# --- Files, forks and versions ------------------------------------------------------------------------------------


def unfinished(conversation: Conversation, reason: str = "length", **more: Any) -> Message:
    fill(conversation, 4)
    last = conversation.messages.latest("created_at")
    Message.objects.filter(pk=last.pk).update(**{"finish_reason": reason, "completion_tokens": 4_096} | more)
    last.refresh_from_db()
    return last


@pytest.mark.parametrize("reason", ["length", "content_filter", "aborted"])
def test_an_export_says_it_and_an_import_reads_it_again(user: User, conversation: Conversation, reason: str) -> None:
    row = unfinished(conversation, reason)
    file = as_json(conversation)
    assert [entry.get("finish_reason") for entry in file["messages"]] == [None, None, None, reason]
    (copy,) = import_conversations(user, json.dumps(file).encode())
    assert copy.messages.latest("created_at").finish_reason == reason
    assert as_json(copy)["messages"][-1]["finish_reason"] == reason
    told = end_reasons.cut_off_note(row)
    assert f"\n*{told[:1].upper()}{told[1:]}.*" in as_markdown(conversation)
    assert as_markdown(conversation).count("*\n") <= 1


def test_an_unknown_reason_in_a_file_is_refused_by_its_place(user: User, conversation: Conversation) -> None:
    unfinished(conversation)
    file = as_json(conversation)
    file["messages"][-1]["finish_reason"] = "tired"
    with pytest.raises(Invalid, match=r"messages\[3\]\.finish_reason"):
        import_conversations(user, json.dumps(file).encode())


def test_elsewhere_the_word_may_mean_anything(user: User, profile: ModelProfile) -> None:
    said = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho", "finish_reason": {"a": 1}}]
    (copy,) = import_conversations(user, json.dumps({"title": "x", "messages": said}).encode())
    assert copy.messages.latest("created_at").finish_reason == ""


def test_a_fork_keeps_it(conversation: Conversation) -> None:
    row = unfinished(conversation)
    copy = forks.fork(conversation, row.pk)
    assert copy.messages.latest("created_at").finish_reason == "length"


async def test_a_version_that_is_used_again_keeps_it(chat: Chat) -> None:
    old = await cut(chat)
    chat.llm.enqueue("All of it.")
    new = await sync_to_async(branches.regenerate)(chat.conversation, old.pk)
    new = await chat.ended(new.pk)
    assert new.finish_reason == ""
    again = await sync_to_async(versions.use)(chat.conversation, new.pk, number=1)
    assert (again.content, again.finish_reason) == ("Half of the st", "length")


# --- The page -----------------------------------------------------------------------------------------------------


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


NOTICES: list[tuple[dict[str, Any], str]] = [
    ({}, "Cut off at 4,096 tokens"),
    ({"finish_reason": "content_filter"}, "Stopped by the provider&#x27;s content filter"),
    ({"finish_reason": "", "status": "stopped"}, "Stopped"),
    ({"finish_reason": "", "status": "interrupted"}, "The reply was interrupted."),
]


@pytest.mark.parametrize(("columns", "words"), NOTICES)
def test_the_page_says_why_and_offers_to_continue(
    pages: Pages, conversation: Conversation, columns: dict[str, Any], words: str
) -> None:
    row = unfinished(conversation, **{"reason": columns.get("finish_reason", "length")} | without(columns))
    response = pages.get("chat", conversation.pk)
    assert words in response.content.decode()
    assert elements(response).by_id(f"continue-{row.pk}")["hx-post"].endswith(f"/messages/{row.pk}/continue")


def without(columns: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in columns.items() if name != "finish_reason"}


@pytest.mark.parametrize("columns", [{"content": "", "status": "stopped"}, {"status": "failed", "error": "x."}])
def test_what_is_not_in_the_history_is_not_continued(
    pages: Pages, conversation: Conversation, columns: dict[str, Any]
) -> None:
    unfinished(conversation, "", **columns)
    assert 'id="continue-' not in pages.get("chat", conversation.pk).content.decode()


@pytest.mark.usefixtures("server_loop")
async def test_the_button_has_the_rest_written(user: User, chat: Chat) -> None:
    reply = await cut(chat)
    chat.llm.enqueue("ory.")
    pages: Callable[..., Any] = sync_to_async(lambda *ids: Pages(user).post("continue", *ids))
    response = await pages(chat.conversation.pk, reply.pk)
    assert (response.status_code, response["HX-Trigger"]) == (204, '{"converge": {}}')
    rest = await Message.objects.alatest("created_at")
    assert (await chat.ended(rest.pk)).content == "ory."
    again = await pages(chat.conversation.pk, reply.pk)
    assert again.status_code == 409 and "Only the last message" in again.content.decode()


def test_nobody_elses_reply_is_continued(conversation: Conversation) -> None:
    row = unfinished(conversation)
    bob = get_user_model().objects.create_user("bob")
    assert Pages(bob).post("continue", conversation.pk, row.pk).status_code == 404
    path = f"/api/conversations/{conversation.pk}/messages/{row.pk}/continue"
    refused(Api(bob).post(path), 404, "not_found")
    assert conversation.messages.count() == 4


# --- The API ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("server_loop")
async def test_the_api_continues_a_reply(user: User, conversation: Conversation, llm: LlmServer) -> None:
    api = await sync_to_async(Api)(user)
    path = f"/api/conversations/{conversation.pk}/messages"
    llm.enqueue("Half of the st", **CUT)
    reply = (await api.say(path, "Tell me all of it")).json()["assistant_message"]
    assert (reply["status"], reply["finish_reason"]) == ("complete", "length")
    llm.enqueue("ory.")
    response = await api.post_async(f"{path}/{reply['id']}/continue")
    assert response.status_code == 201
    told = response.json()
    assert told["user_message"]["content"] == CONTINUE
    assert (told["assistant_message"]["content"], told["assistant_message"]["finish_reason"]) == ("ory.", "")
    refused(await api.post_async(f"{path}/{reply['id']}/continue"), 409, "not_last")
    whole = told["assistant_message"]["id"]
    refused(await api.post_async(f"{path}/{whole}/continue"), 409, "whole")
