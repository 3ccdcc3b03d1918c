"""The page of all that a person's chats remember: found, put in force, forgotten and taken out; one's own alone."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from conversations.instructions import ledger_entries
from conversations.instructions.conversation_settings import add_rule
from conversations.models import Conversation, LedgerEntry, User
from tests.conversations.chat import Chat
from tests.conversations.pages import Pages

pytestmark = [pytest.mark.once, pytest.mark.django_db]


@pytest.fixture
def other() -> User:
    return User.objects.create_user("bob", password="correct horse battery")


def words(response: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def noted(conversation: Conversation, text: str, **columns: Any) -> LedgerEntry:
    fields = {"kind": "decision", "state": "noted", "chosen_state": "noted", "topic": text[:32]}
    return LedgerEntry.objects.create(conversation=conversation, text=text, **fields | columns)


async def test_what_was_typed_stands_there_with_its_chat_and_goes_there(user: User, chat: Chat) -> None:
    await chat.say("Always answer in French.")
    response = await sync_to_async(lambda: Pages(user).get("remembered"))()
    shown = words(response)
    assert "Always answer in French." in shown and "In force 1" in shown
    message = await chat.conversation.messages.filter(role="user").aget()
    assert f"/c/{chat.conversation.pk}/#message-{message.pk}" in response.content.decode()


def test_lists_and_words_choose_what_is_shown(user: User, conversation: Conversation) -> None:
    add_rule(conversation, "Never use port 5433.")
    noted(conversation, "We ship on Tuesday.")
    noted(conversation, "The old plan.", state="superseded")
    another = Conversation.objects.create(owner=user, title="Billing")
    noted(another, "Invoices go out on Monday.")
    pages = Pages(user)
    shown = words(pages.get("remembered"))
    assert "Never use port 5433." in shown and "Tuesday" not in shown and "Noted 2" in shown and "Past 1" in shown
    shown = words(pages.get("remembered", state="noted"))
    assert "Tuesday" in shown and "Monday" in shown and "5433" not in shown
    shown = words(pages.get("remembered", state="noted", q="BILLING monday"))
    assert "Monday" in shown and "Tuesday" not in shown and "Noted 1" in shown
    assert "Nothing here contains these words." in words(pages.get("remembered", q="zebra"))
    assert "The old plan." in words(pages.get("remembered", state="past"))


def test_an_entry_is_put_in_force_and_forgotten(user: User, conversation: Conversation) -> None:
    entry = noted(conversation, "Answer in short sentences.", kind="preference")
    pages = Pages(user)
    assert "In force now" in words(pages.post("choose_remembered", entry.pk, state="in_force"))
    conversation.refresh_from_db()
    assert conversation.rules == ["Answer in short sentences."]
    assert "Dismissed now" in words(pages.post("choose_remembered", entry.pk, state="dismissed"))
    conversation.refresh_from_db()
    assert conversation.rules == []
    assert pages.post("choose_remembered", entry.pk, state="loved").status_code == 400


def test_nobody_sees_or_changes_anothers(user: User, other: User, conversation: Conversation) -> None:
    entry = noted(conversation, "SECRET PLAN")
    pages = Pages(other)
    assert "SECRET" not in words(pages.get("remembered", state="noted"))
    assert "SECRET" not in pages.get("export_remembered").content.decode()
    assert pages.post("choose_remembered", entry.pk, state="dismissed").status_code == 404
    entry.refresh_from_db()
    assert entry.state == "noted"


def test_the_trash_and_deletion_take_it_away(user: User, conversation: Conversation) -> None:
    noted(conversation, "A plan.")
    Conversation.objects.update(trashed_at=timezone.now())
    assert "A plan." not in words(Pages(user).get("remembered", state="noted"))
    Conversation.objects.update(trashed_at=None)
    assert "A plan." in words(Pages(user).get("remembered", state="noted"))
    conversation.delete()
    assert not LedgerEntry.objects.exists()


def test_many_entries_come_page_by_page_in_a_constant_number_of_queries(
    user: User, conversation: Conversation, django_assert_max_num_queries: Any
) -> None:
    moment = timezone.now()  # one message may have several entries
    for number in range(230):
        noted(conversation, f"Plan {number}.", said_at=moment)
    seen, pages = set[str](), Pages(user)
    for page in ("1", "2", "3"):
        with django_assert_max_num_queries(14):
            response = pages.get("remembered", state="noted", page=page)
        seen |= set(re.findall(r"Plan \d+\.", words(response)))
    assert len(seen) == 230 and "Earlier" not in words(response)


def test_odd_questions_are_answered(user: User, conversation: Conversation) -> None:
    noted(conversation, "A plan.")
    pages = Pages(user)
    for odd in ({"q": "\0"}, {"q": "%_"}, {"page": "-7"}, {"page": "x"}, {"state": "\0"}):
        assert pages.get("remembered", **odd).status_code == 200


def test_the_export_has_each_with_its_chat(user: User, conversation: Conversation) -> None:
    entry = noted(conversation, "Über den Plan.")
    response = Pages(user).get("export_remembered")
    (told,) = json.loads(response.content)
    assert (told["id"], told["text"]) == (str(entry.pk), "Über den Plan.")
    assert told["conversation"]["id"] == str(conversation.pk)
    assert "attachment" in response["Content-Disposition"]


def test_markup_in_an_entry_is_data(user: User, conversation: Conversation) -> None:
    noted(conversation, "<script>alert(1)</script>")
    assert "<script>alert" not in Pages(user).get("remembered", state="noted").content.decode()
    assert ledger_entries.current(conversation.pk).count() == 1


def test_a_rule_is_reworded_and_the_earlier_words_are_superseded(user: User, conversation: Conversation) -> None:
    add_rule(conversation, "Never use port 5433.")
    add_rule(conversation, "Answer in French.")
    old = LedgerEntry.objects.get(text="Never use port 5433.")
    pages = Pages(user)
    assert "Edit" in words(pages.get("remembered"))
    shown = words(pages.post("reword", old.pk, words=" Never use\n port 6000. "))
    assert "Never use port 6000." in shown and "In force now" in shown
    conversation.refresh_from_db()
    assert conversation.rules == ["Never use port 6000.", "Answer in French."]
    old.refresh_from_db()
    assert old.state == "superseded"
    assert LedgerEntry.objects.get(pk=old.superseded_by).text == "Never use port 6000."


def test_words_that_no_rule_may_have_and_other_entries_are_refused(
    user: User, other: User, conversation: Conversation
) -> None:
    add_rule(conversation, "Never use port 5433.")
    rule = LedgerEntry.objects.get()
    later = noted(conversation, "We ship on Tuesday.")
    pages = Pages(user)
    refusals = ((rule, " ", 400), (rule, "a\0b", 400), (rule, "x" * 5_000, 400), (later, "We wait.", 409))
    for entry, text, status in refusals:
        assert pages.post("reword", entry.pk, words=text).status_code == status, text[:9]
    assert Pages(other).post("reword", rule.pk, words="Always use it.").status_code == 404
    conversation.refresh_from_db()
    assert conversation.rules == ["Never use port 5433."]


async def test_what_is_sent_says_for_which_reply_it_was_sent_last(user: User, chat: Chat) -> None:
    conversation = chat.conversation
    await chat.say("Always answer in French.")
    reply = await conversation.messages.filter(role="assistant").alatest("created_at")
    response = await sync_to_async(lambda: Pages(user).get("remembered"))()
    assert f"/c/{conversation.pk}/#message-{reply.pk}" in response.content.decode()
    assert "last sent for the reply of" in words(response)
    await conversation.arefresh_from_db()
    await sync_to_async(lambda: add_rule(conversation, "Answer in one line."))()
    html = (await sync_to_async(lambda: Pages(user).get("remembered"))()).content.decode()
    assert html.count("last sent for the reply of") == 1, "no reply had the rule that was just added"
