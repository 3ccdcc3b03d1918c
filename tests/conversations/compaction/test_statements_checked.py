"""The outcome of the check of a summary's statements is stored, and the same on all pages, in the API and exports."""

from __future__ import annotations

import json
import re

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from compression.core.citations.marks import MARK
from compression.models import Checkpoint, Compaction
from conversations.compaction import ahead_of_time, compaction, edit_summary
from conversations.exchange.exports import as_json
from conversations.exchange.imports import import_conversations
from conversations.models import Conversation, Message, User
from conversations.turns import forks
from tests.conversations.api_client import Api
from tests.conversations.chat import Chat, fill
from tests.conversations.pages import Pages
from tests.conversations.requests.test_seeing import words_of

pytestmark = pytest.mark.once

MADE_UP = (
    "## Summary\nThey spoke of port 5000 and of port 5003. Gwendolyn took port 9999.\n\n"
    "## State\n- Done: port 5001 was told in message 1\n"
)


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


@pytest.fixture
def api(user: User) -> Api:
    return Api(user)


@pytest.fixture
async def filled(conversation: Conversation, chat: Chat) -> Chat:
    await sync_to_async(fill)(conversation, 20)
    chat.llm.enqueue_summary(MADE_UP, times=4)
    return chat


def newest(conversation: Conversation) -> Checkpoint:
    return Checkpoint.objects.filter(conversation=conversation, active=True).latest("number")


async def test_a_made_up_statement_is_marked_in_the_request_and_stored(filled: Chat) -> None:
    row = await filled.compact()
    assert row.status == "succeeded"
    await filled.say("And now?")
    assert f"Gwendolyn took port 9999 {MARK}." in filled.llm.last_request.text
    checkpoint = await sync_to_async(newest)(filled.conversation)
    assert checkpoint.citations["missing"] and checkpoint.citations["said"] >= 3
    cited = await Message.objects.aget(pk=checkpoint.citations["messages"][0])
    assert cited.content.startswith("Message 0 ") or "500" in cited.content
    await filled.check()


@pytest.mark.parametrize(("policy", "in_text"), [("drop", False), ("keep", True)])
async def test_a_policy_says_what_becomes_of_it(filled: Chat, policy: str, in_text: bool) -> None:
    filled.conversation.policy = {"unsupported": policy}
    await filled.conversation.asave(update_fields=["policy"])
    await filled.compact()
    checkpoint = await sync_to_async(newest)(filled.conversation)
    assert ("Gwendolyn" in checkpoint.summary) == in_text and MARK not in checkpoint.summary
    assert (len(checkpoint.citations["missing"]), checkpoint.citations["dropped"]) == ((1, 0) if in_text else (0, 1))


async def test_every_view_has_the_same_numbers(filled: Chat, pages: Pages, api: Api, admin: Client) -> None:
    row = await filled.compact()
    await sync_to_async(_views_agree)(filled.conversation, row, pages, api, admin)


def _views_agree(conversation: Conversation, row: Compaction, pages: Pages, api: Api, admin: Client) -> None:
    said, told = newest(conversation).citations["said"], "1 not found in the messages"
    context = api.get(f"/api/conversations/{conversation.pk}/context").json()
    (checkpoint,) = context["checkpoints"]
    assert (checkpoint["statements"], checkpoint["unsupported"], checkpoint["dropped"]) == (said, 1, 0)
    assert context["unsupported"] == 1
    (marked,) = [one for one in checkpoint["citations"] if one["missing"]]
    assert marked["statement"] == "Gwendolyn took port 9999." and marked["messages"] == []
    (listed,) = api.get(f"/api/context/{conversation.pk}/compactions").json()["items"]
    task = api.get(f"/api/tasks/{row.pk}/progress").json()["result"]
    for entry in (listed, task):
        assert (entry["statements"], entry["unsupported"], entry["dropped"]) == (said, 1, 0)
    exported = json.loads(json.dumps(as_json(conversation)))
    assert exported["checkpoints"][0]["citations"] == checkpoint["citations"]
    page = pages.get("compaction", conversation.pk, row.pk)
    assert f"Statements {said}, {told}" in words_of(page)
    html = page.content.decode()
    assert re.search(r'Gwendolyn took port 9999\. <span class="unfound">not found in the messages: [^<]*9999', html)
    assert MARK not in html.partition("<textarea")[0].partition('id="summary"')[2].partition("</section>")[0]
    assert 'href="#source-1"' in html
    assert f"Statements {said}, {told}" in words_of(pages.get("timeline", conversation.pk))
    assert "1 statement of the summaries was not found in the messages." in words_of(
        pages.get("facts", conversation.pk)
    )
    for address in (f"compaction/{row.pk}", f"checkpoint/{newest(conversation).pk}"):
        assert f"{said}, {told}" in admin.get(f"/admin/compression/{address}/change/").content.decode()


@pytest.fixture
def admin(user: User) -> Client:
    user.is_staff = user.is_superuser = True
    user.save()
    client = Client()
    client.force_login(user)
    return client


async def test_a_fork_and_an_import_have_the_same_sources(filled: Chat, user: User) -> None:
    await filled.compact()
    await sync_to_async(_copies_agree)(filled.conversation, user)


def _copies_agree(conversation: Conversation, user: User) -> None:
    own = newest(conversation).citations
    last = Message.objects.filter(conversation=conversation).latest("created_at")
    copies = [
        forks.fork(conversation, last.pk),
        *import_conversations(user, json.dumps(as_json(conversation)).encode()),
    ]
    for copy in copies:
        found = newest(copy).citations
        assert {**found, "messages": []} == {**own, "messages": []}
        texts = [
            list(Message.objects.filter(pk__in=ids).order_by("created_at").values_list("content", flat=True))
            for ids in (own["messages"], found["messages"])
        ]
        assert texts[0] == texts[1] != []
        assert not set(own["messages"]) & set(found["messages"])


async def test_a_summary_from_before_is_looked_at_once_and_told_alike(filled: Chat, pages: Pages, api: Api) -> None:
    filled.conversation.policy = {"unsupported": "keep"}
    await filled.conversation.asave(update_fields=["policy"])
    row = await filled.compact()
    await sync_to_async(_looked_at)(filled.conversation, row, pages, api)


def _looked_at(conversation: Conversation, row: Compaction, pages: Pages, api: Api) -> None:
    noted = newest(conversation).citations
    Checkpoint.objects.update(citations=None)
    page = words_of(pages.get("compaction", conversation.pk, row.pk))
    found = newest(conversation).citations
    assert found["missing"] == noted["missing"] and found["said"] == noted["said"]
    assert f"Statements {noted['said']}, 1 not found in the messages" in page
    Checkpoint.objects.update(citations=None)
    (listed,) = api.get(f"/api/context/{conversation.pk}/compactions").json()["items"]
    assert (listed["statements"], listed["unsupported"]) == (noted["said"], 1)
    with CaptureQueriesContext(connection) as queries:
        pages.get("timeline", conversation.pk)
    assert not any(query["sql"].startswith("UPDATE") for query in queries), "it is looked at once"


async def test_what_a_person_writes_needs_no_message_and_a_doubt_of_before_stays(filled: Chat) -> None:
    await filled.compact()
    for policy, mark in (("mark", f" {MARK}"), ("drop", f" {MARK}"), ("keep", "")):
        filled.conversation.policy = {"unsupported": policy}
        await filled.conversation.asave(update_fields=["policy"])
        row = await sync_to_async(newest)(filled.conversation)
        written = f"## Summary\nGwendolyn took port 9999. Ask Archibald at 7777 {MARK}.\n\n## State\n- Done: {policy}"
        saved = await sync_to_async(edit_summary.edit)(filled.conversation, number=row.number, text=written)
        assert f"Gwendolyn took port 9999{mark}. Ask Archibald at 7777." in saved.summary
        assert (saved.citations["said"], len(saved.citations["missing"]), saved.citations["dropped"]) == (3, 1, 0)
        await filled.refresh()
        assert saved.summary in filled.conversation.compressed_context


async def test_the_form_of_a_summary_has_no_marks(filled: Chat, pages: Pages) -> None:
    row = await filled.compact()
    page = await sync_to_async(pages.get)("compaction", filled.conversation.pk, row.pk, edit="")
    (text,) = re.findall(r"<textarea[^>]*>(.*?)</textarea>", page.content.decode(), re.DOTALL)
    assert "Gwendolyn took port 9999." in text and MARK not in text


async def test_an_undone_summary_is_checked_no_more_and_comes_back_as_it_was(filled: Chat) -> None:
    await filled.compact()
    noted = (await sync_to_async(newest)(filled.conversation)).citations
    row = await sync_to_async(newest)(filled.conversation)
    await sync_to_async(edit_summary.edit)(
        filled.conversation, number=row.number, text="## Summary\nPort 5000.\n\n## State\n- Done: it"
    )
    recovery = await filled.conversation.snapshots.filter(purpose="recovery").alatest("created_at")
    await filled.refresh()
    await sync_to_async(compaction.rollback)(filled.conversation, snapshot_id=recovery.pk)
    assert (await sync_to_async(newest)(filled.conversation)).citations == noted


async def test_a_summary_that_was_prepared_ahead_has_its_sources(filled: Chat) -> None:
    row = await filled.start_compaction("ahead")
    row = await filled.compacted(row.pk)
    assert row.status == "ready" and row.prepared is not None
    assert await sync_to_async(ahead_of_time.put_in_force)(filled.conversation.pk)
    checkpoint = await sync_to_async(newest)(filled.conversation)
    assert len(checkpoint.citations["missing"]) == 1 and MARK in checkpoint.summary and checkpoint.citations["messages"]
