"""The ledger: what a person typed as rules, preferences, decisions and corrections, with states and history."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from conversations.compaction import compaction
from conversations.errors import Invalid, NotFound
from conversations.exchange.exports import as_json
from conversations.exchange.imports import import_conversations
from conversations.instructions import ledger, ledger_entries
from conversations.instructions.conversation_settings import change
from conversations.models import Conversation, LedgerEntry, Message, User
from conversations.turns import branches, forks, versions
from tests.conversations.api_client import Api
from tests.conversations.chat import Chat, fill
from tests.conversations.pages import Pages

State = LedgerEntry.State


async def states(conversation: Conversation) -> dict[str, str]:
    """The state of each entry, by its text."""
    rows = ledger_entries.current(conversation.pk).order_by("decided_at").values_list("text", "state")
    return {text: state async for text, state in rows}


async def entry(conversation: Conversation, text: str) -> LedgerEntry:
    return await ledger_entries.current(conversation.pk).aget(text=text)


async def choose(conversation: Conversation, text: str, state: str) -> None:
    found = await entry(conversation, text)
    await sync_to_async(ledger.choose)(conversation, found.pk, state=state)


async def test_an_order_is_in_force_and_the_rest_is_noted_whole_and_with_its_message(chat: Chat) -> None:
    await chat.say("Hello! Always cite your sources. I prefer tables over lists. We decided to use port 5433.")
    question = await chat.conversation.messages.aget(role="user")
    rows = [row async for row in ledger_entries.current(chat.conversation.pk).order_by("said_at")]
    assert [(row.kind, row.text, row.state) for row in rows] == [
        ("rule", "Always cite your sources.", "in_force"),
        ("preference", "I prefer tables over lists.", "noted"),
        ("decision", "We decided to use port 5433.", "noted"),
    ]
    assert {row.message for row in rows} == {question.pk}
    assert [change["by"] for row in rows for change in row.history] == ["message"] * 3
    assert "- Always cite your sources." in chat.llm.chats[-1].messages[0]["content"]


async def test_a_noted_entry_is_in_the_head_word_for_word_once_its_message_is_compacted(chat: Chat) -> None:
    await chat.say("I prefer tables over lists.")
    assert "# Noted" not in chat.llm.chats[-1].messages[0]["content"], "its message is sent itself"
    for number in range(4):
        await chat.say(f"Port {number} is open. " * 60)
    assert (await chat.compact()).status == "succeeded"
    await chat.say("And now?")
    first = chat.llm.chats[-1].messages[0]["content"]
    day = (await entry(chat.conversation, "I prefer tables over lists.")).said_at.date().isoformat()
    assert f"- {day}: “I prefer tables over lists.”" in first
    await chat.say("I prefer ports above 8000.")
    assert chat.llm.chats[-1].messages[0]["content"] == first, "the request begins alike until the next compaction"


async def test_a_noted_entry_becomes_a_rule_and_stops_being_one_at_one_press(chat: Chat) -> None:
    await chat.say("I prefer tables over lists.")
    await choose(chat.conversation, "I prefer tables over lists.", "in_force")
    await chat.say("And now?")
    assert "- I prefer tables over lists." in chat.llm.chats[-1].messages[0]["content"]
    await choose(chat.conversation, "I prefer tables over lists.", "dismissed")
    await chat.say("And now?")
    assert "I prefer tables" not in chat.llm.chats[-1].messages[0]["content"]
    found = await entry(chat.conversation, "I prefer tables over lists.")
    assert [(change["state"], change["by"]) for change in found.history] == [
        ("noted", "message"),
        ("in_force", "person"),
        ("dismissed", "person"),
    ]


async def test_a_later_entry_supersedes_an_earlier_one_about_the_same_thing(chat: Chat) -> None:
    await chat.say("Always answer in French.")
    await chat.say("Antworte immer auf Deutsch.")
    await chat.refresh()
    assert chat.conversation.rules == ["Antworte immer auf Deutsch."]
    old, new = [await entry(chat.conversation, text) for text in ("Always answer in French.", *chat.conversation.rules)]
    assert (old.state, old.superseded_by, old.history[-1]["by"]) == ("superseded", new.pk, "entry")
    await choose(chat.conversation, old.text, "in_force")
    assert chat.conversation.rules == ["Always answer in French."]
    assert (await states(chat.conversation))[new.text] == "superseded"


async def test_what_is_only_noted_takes_no_rule_out_of_force(chat: Chat) -> None:
    await chat.say("Keep answers short.")
    await chat.say("I prefer short answers with detail.")
    await chat.refresh()
    assert chat.conversation.rules == ["Keep answers short."]


async def test_an_entry_leaves_with_its_message_and_what_it_superseded_stands_again(chat: Chat) -> None:
    await chat.say("Always answer in French.")
    await chat.say("Always answer in German.")
    german = await Message.objects.aget(content="Always answer in German.")
    begun = await sync_to_async(branches.edit)(chat.conversation, german.pk, content="Which port?")
    await chat.ended(begun.reply.pk)
    assert await states(chat.conversation) == {"Always answer in French.": "in_force"}
    await chat.refresh()
    assert chat.conversation.rules == ["Always answer in French."]
    await sync_to_async(versions.use)(chat.conversation, begun.question.pk, number=1)
    assert await states(chat.conversation) == {
        "Always answer in French.": "superseded",
        "Always answer in German.": "in_force",
    }
    back = await entry(chat.conversation, "Always answer in German.")
    assert await Message.objects.filter(pk=back.message, replaced_by=None).aexists()


async def test_a_persons_choice_outlives_an_edit_and_an_earlier_version(chat: Chat) -> None:
    await chat.say("Never use tabs. Which port?")
    await choose(chat.conversation, "Never use tabs.", "dismissed")
    question = await chat.conversation.messages.aget(role="user")
    begun = await sync_to_async(branches.edit)(chat.conversation, question.pk, content="Never use tabs. Which host?")
    await chat.ended(begun.reply.pk)
    assert await states(chat.conversation) == {"Never use tabs.": "dismissed"}
    await sync_to_async(versions.use)(chat.conversation, begun.question.pk, number=1)
    assert await states(chat.conversation) == {"Never use tabs.": "dismissed"}
    await chat.refresh()
    assert chat.conversation.rules == []


async def test_a_fork_has_the_entries_of_its_messages_with_their_states(chat: Chat) -> None:
    await chat.say("Always answer in French. I prefer tables.")
    await choose(chat.conversation, "I prefer tables.", "in_force")
    first = await chat.conversation.messages.aget(role="user")
    await chat.say("Always answer in German. Never use tabs.")
    copy = await sync_to_async(forks.fork)(chat.conversation, first.pk)
    assert await states(copy) == {"Always answer in French.": "in_force", "I prefer tables.": "in_force"}
    assert copy.rules == ["Always answer in French.", "I prefer tables."]
    last = await chat.conversation.messages.alatest("created_at")
    whole = await sync_to_async(forks.fork)(chat.conversation, last.pk)
    assert await states(whole) == await states(chat.conversation)
    old = await entry(whole, "Always answer in French.")
    assert old.superseded_by == (await entry(whole, "Always answer in German.")).pk
    ids = {pk async for pk in whole.messages.values_list("pk", flat=True)}
    assert {row.message async for row in ledger_entries.current(whole.pk)} <= ids


async def test_a_fresh_conversation_begins_with_what_is_in_force(chat: Chat) -> None:
    await chat.say("Always answer in French. I prefer tables.")
    await sync_to_async(fill)(chat.conversation, 20)
    assert (await chat.compact()).status == "succeeded"
    copy = await sync_to_async(forks.fresh)(chat.conversation)
    assert copy.rules == ["Always answer in French."] and await states(copy) == {"Always answer in French.": "in_force"}


async def test_undoing_a_compaction_changes_no_state(chat: Chat) -> None:
    await chat.say("Always answer in French. I prefer tables.")
    await sync_to_async(fill)(chat.conversation, 20)
    row = await chat.compact()
    before = await states(chat.conversation)
    await choose(chat.conversation, "I prefer tables.", "dismissed")
    await sync_to_async(compaction.undo)(chat.conversation, row.pk)
    assert await states(chat.conversation) == before | {"I prefer tables.": "dismissed"}


def test_a_message_without_entries_costs_no_query_and_one_with_entries_a_fixed_number(
    conversation: Conversation,
) -> None:
    fill(conversation, 40)
    message = conversation.messages.filter(role="user").latest("created_at")
    window = conversation.model.usable_window

    def queries(text: str) -> int:
        with CaptureQueriesContext(
            connection,
        ) as made:
            ledger.add_entries(message, text, window)
        return len(made)

    assert queries("Which port?") == 0
    begin = queries("Never use port 1.")
    for number in range(2, 12):
        ledger.add_entries(message, f"Never use port {number}. I prefer port {number}.", window)
    assert queries("Never use port 99.") == begin <= 7


async def test_a_thousand_preferences_neither_starve_a_request_nor_are_lost(chat: Chat) -> None:
    window = chat.conversation.model.usable_window
    await sync_to_async(fill)(chat.conversation, 20)
    message = await chat.conversation.messages.filter(role="user").aearliest("created_at")
    for number in range(25):
        text = " ".join(f"I prefer port {40 * number + one} for the service." for one in range(40))
        await sync_to_async(ledger.add_entries)(message, text, window)
    assert await ledger_entries.current(chat.conversation.pk).filter(state="noted").acount() == 1_000
    assert (await chat.compact()).status == "succeeded"
    await chat.say("And now?")
    system = chat.llm.chats[-1].messages[0]["content"]
    assert system.count("I prefer port") >= 5
    assert len(system.partition("# Noted")[2]) < 4 * window.size / 24 * 1.5
    await chat.refresh()
    assert len(chat.conversation.noted) < 100


async def test_orders_without_room_are_noted_and_say_so(chat: Chat) -> None:
    await chat.say("\n".join(f"Never use construct number {number} in this code base." for number in range(60)))
    rows = [row async for row in ledger_entries.current(chat.conversation.pk).order_by("said_at")]
    without = [row for row in rows if row.state == "noted"]
    assert len(rows) == 60 and 10 < 60 - len(without) < 40
    assert {row.history[-1]["by"] for row in without} == {"budget"}
    with pytest.raises(Invalid, match="rules"):
        for row in without:
            await sync_to_async(ledger.choose)(chat.conversation, row.pk, state="in_force")


async def test_repeated_and_contradicting_rules_leave_the_last_in_force(chat: Chat) -> None:
    for number in range(6):
        await chat.say(f"{'Always' if number % 2 else 'Never'} push to main.")
    await chat.refresh()
    assert chat.conversation.rules == ["Always push to main."]
    assert await ledger_entries.current(chat.conversation.pk).filter(state="superseded").acount() == 5


def test_rules_set_by_hand_are_entries_and_an_edited_one_supersedes_its_earlier_words(
    conversation: Conversation,
) -> None:
    change(conversation, rules=["Use UTC", "Answer briefly"])
    change(conversation, rules=["Always use UTC", "Answer briefly"])
    change(conversation, rules=["Answer briefly"])
    rows = {row.text: row for row in ledger_entries.current(conversation.pk)}
    assert {text: row.state for text, row in rows.items()} == {
        "Use UTC": "superseded",
        "Always use UTC": "dismissed",
        "Answer briefly": "in_force",
    }
    change(conversation, rules=["Use UTC", "Answer briefly"])
    conversation.refresh_from_db()
    assert conversation.rules == ["Use UTC", "Answer briefly"]
    assert ledger_entries.current(conversation.pk).count() == 3


def test_a_state_that_there_is_not_and_an_entry_of_another_conversation_are_refused(
    conversation: Conversation, user: User
) -> None:
    change(conversation, rules=["Use UTC"])
    other = Conversation.objects.create(owner=user)
    found = ledger_entries.current(conversation.pk).get()
    for state in ("superseded", "on", ""):
        with pytest.raises(Invalid, match="state: must be one of in_force, noted, dismissed"):
            ledger.choose(conversation, found.pk, state=state)
    for where, pk in ((other, found.pk), (conversation, uuid4())):
        with pytest.raises(NotFound):
            ledger.choose(where, pk, state="noted")


async def test_rules_of_a_row_without_entries_stay_when_one_is_found(chat: Chat) -> None:
    await Conversation.objects.filter(pk=chat.conversation.pk).aupdate(rules=["Use UTC"])
    await chat.refresh()
    await chat.say("Never guess.")
    await chat.refresh()
    assert chat.conversation.rules == ["Use UTC", "Never guess."]


async def test_an_export_that_comes_back_has_nothing_in_force_until_its_person_says_so(chat: Chat, user: User) -> None:
    await chat.say("Always answer in French. I prefer tables. We decided to use port 5433.")
    await chat.say("Always answer in German. Never use tabs. Never use eval.")
    await choose(chat.conversation, "I prefer tables.", "in_force")
    await choose(chat.conversation, "Never use tabs.", "dismissed")
    await chat.refresh()
    before = await states(chat.conversation)
    row = await Conversation.objects.select_related("model").aget(pk=chat.conversation.pk)
    file = json.dumps(await sync_to_async(as_json)(row)).encode()
    (back,) = (await sync_to_async(import_conversations)(user, file)).conversations
    was_in_force = [text for text, state in before.items() if state == State.IN_FORCE]
    assert sorted(was_in_force) == ["Always answer in German.", "I prefer tables.", "Never use eval."]
    assert await states(back) == before | dict.fromkeys(was_in_force, "noted") and back.rules == []
    german = await entry(back, "Always answer in German.")
    assert [(change["state"], change["by"]) for change in german.history] == [
        ("in_force", "message"),
        ("noted", "import"),
    ]
    assert (await Message.objects.aget(pk=german.message)).content.startswith("Always answer in German.")
    assert (await entry(back, "Always answer in French.")).superseded_by == german.pk
    again = await sync_to_async(as_json)(await Conversation.objects.select_related("model").aget(pk=back.pk))
    places = {message["id"]: at for at, message in enumerate(again["messages"])}
    assert [one["message"] in places for one in again["ledger"]] == [True] * 6
    for text in chat.conversation.rules:
        await choose(back, text, "in_force")
    assert back.rules == chat.conversation.rules and await states(back) == before


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ("none", "ledger: must be a list"),
        ([{}], r"ledger\[0\].text: must not be empty"),
        ([{"text": "x" * 1_001}], r"ledger\[0\].text: at most 1,000"),
        ([{"text": "x", "said_at": "2026-01-01", "kind": "law"}], r"ledger\[0\].kind: must be one of"),
        ([{"text": "x", "said_at": "2026-01-01", "kind": "rule", "state": "superseded"}], r"ledger\[0\].state"),
        ([{"text": "x", "said_at": "never", "kind": "rule", "state": "noted"}], r"ledger\[0\].said_at: must be a date"),
        (
            [{"text": "x", "said_at": "2026-01-01", "kind": "rule", "state": "noted", "superseded_by": 7}],
            r"ledger\[0\].superseded_by: must be a whole number from 0 to 0",
        ),
        (
            [{"text": "x", "said_at": "2026-01-01", "kind": "rule", "state": "noted", "superseded_by": -1}],
            r"ledger\[0\].superseded_by",
        ),
        (
            [{"text": "x", "said_at": "2026-01-01", "kind": "rule", "state": "noted", "history": [{"state": "on"}]}],
            r"ledger\[0\].history\[0\].state",
        ),
    ],
)
def test_a_ledger_in_a_file_that_cannot_be_is_refused_by_name(
    conversation: Conversation, user: User, wrong: Any, named: str
) -> None:
    file = as_json(Conversation.objects.select_related("model").get(pk=conversation.pk)) | {"ledger": wrong}
    with pytest.raises(Invalid, match=named):
        import_conversations(user, json.dumps(file).encode())
    assert Conversation.objects.count() == 1


def test_the_panel_offers_both_presses_and_shows_the_chain(conversation: Conversation, user: User) -> None:
    pages = Pages(user)
    message = conversation.messages.create(role="user", content="x", created_at=timezone.now())
    ledger.add_entries(message, "Always answer in French. I prefer tables.", conversation.model.usable_window)
    panel = pages.get("context", conversation.pk, htmx=True).content.decode()
    assert "“I prefer tables.”" in panel and "Make it a rule" in panel and "Not a rule" in panel
    assert reverse("around", args=[conversation.pk, message.pk]) in panel
    noted = ledger_entries.current(conversation.pk).get(state="noted")
    response = pages.post("choose", conversation.pk, noted.pk, state="in_force")
    assert response.status_code == 200 and "It is a rule now" in response.content.decode()
    conversation.refresh_from_db()
    assert conversation.rules == ["Always answer in French.", "I prefer tables."]
    panel = pages.post("rules", conversation.pk, rule="Always answer in German.").content.decode()
    assert '<s dir="auto">Always answer in French.</s>' in panel and "Put in force" in panel and "→" in panel
    assert pages.post("choose", conversation.pk, noted.pk, state="on").status_code == 400
    assert pages.post("choose", conversation.pk, uuid4(), state="noted").status_code == 404


def test_nobody_else_reads_or_changes_a_ledger(conversation: Conversation) -> None:
    change(conversation, rules=["Use UTC"])
    found = ledger_entries.current(conversation.pk).get()
    other = User.objects.create(username="mallory")
    address = f"/api/conversations/{conversation.pk}/ledger"
    assert Api(other).get(address).status_code == 404
    assert Api(other).patch(f"{address}/{found.pk}", {"state": "dismissed"}).status_code == 404
    assert Api(other).post(address, {"text": "Never use UTC"}).status_code == 404
    assert Pages(other).post("choose", conversation.pk, found.pk, state="dismissed").status_code == 404
    assert ledger_entries.current(conversation.pk).get().state == "in_force"


def test_the_ledger_by_the_api(conversation: Conversation, user: User) -> None:
    api, address = Api(user), f"/api/conversations/{conversation.pk}/ledger"
    message = conversation.messages.create(role="user", content="x", created_at=timezone.now())
    ledger.add_entries(message, "Always answer in French. I prefer tables.", conversation.model.usable_window)
    first, second = api.get(f"{address}?limit=1").json(), api.get(address).json()
    assert [one["text"] for one in first["items"]] == ["I prefer tables."] and first["next"]
    assert [one["text"] for one in api.get(f"{address}?cursor={first['next']}").json()["items"]] == [
        "Always answer in French."
    ]
    assert {one["message_id"] for one in second["items"]} == {str(message.pk)}
    (noted,) = api.get(f"{address}?state=noted&kind=preference").json()["items"]
    assert api.patch(f"{address}/{noted['id']}", {"state": "in_force"}).json()["state"] == "in_force"
    made = api.post(address, {"text": " Always  answer in German. "})
    assert made.status_code == 201 and made.json()["text"] == "Always answer in German."
    texts = [one["text"] for one in api.get(f"{address}?state=superseded").json()["items"]]
    assert texts == ["Always answer in French."]
    assert api.get(f"/api/conversations/{conversation.pk}").json()["rules"] == [
        "I prefer tables.",
        "Always answer in German.",
    ]
    for wrong in ({"state": "superseded"}, {"state": 1}, {}):
        assert api.patch(f"{address}/{noted['id']}", wrong).status_code in (400, 422)
    assert api.post(address, {"text": "x" * 1_001}).status_code == 400
    assert api.get(f"{address}?state=on").status_code in (400, 422)
