"""A public link shows a chat as it was, to anyone with its address, until it ends; and nothing else."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from conversations import links
from conversations.messages import attachments
from conversations.models import Attachment, Conversation, Link, Message, ModelProfile, User
from tests.conversations.chat import Chat, fill
from tests.conversations.pages import Pages
from tests.conversations.pictures import picture

pytestmark = pytest.mark.django_db


@pytest.fixture
def other() -> User:
    return User.objects.create_user("bob", password="correct horse battery")


ADDRESS = re.compile(r'value="http://testserver(/s/[\w-]{22})"')


@pytest.fixture
def filled(conversation: Conversation) -> Conversation:
    fill(conversation, 6)
    return conversation


def made(user: User, conversation: Conversation, **choices: str) -> str:
    """The address of a new link, by the dialog."""
    given = {"extent": "all", "my_name": "on", "ends": "week"} | choices
    return ADDRESS.findall(Pages(user).post("link", conversation.pk, **given).content.decode())[0]


def page(address: str, client: Client | None = None) -> Any:
    return (client or Client()).get(address)


def words(response: Any) -> str:
    return str(response.content.decode())


def test_a_stranger_reads_what_was_said_and_finds_no_way_in(user: User, filled: Conversation) -> None:
    filled.system_prompt, filled.rules, filled.compressed_context = "SECRET PROMPT", ["SECRET RULE"], None
    filled.save()
    response = page(made(user, filled))
    assert response.status_code == 200
    for message in filled.messages.all():
        assert message.content.split("\n")[0][:40] in words(response)
    assert "SECRET" not in words(response) and user.username in words(response)
    assert (response["X-Robots-Tag"], response["Referrer-Policy"]) == ("noindex, nofollow", "no-referrer")
    assert "<form" not in words(response) and "/c/" not in words(response) and "<script" not in words(response)


def test_without_the_name_nobody_is_named(user: User, filled: Conversation) -> None:
    address = ADDRESS.findall(
        Pages(user).post("link", filled.pk, extent="all", ends="never").content.decode()
    )[0]  # fmt: skip
    assert user.username not in words(page(address))
    assert Link.objects.get().ends_at is None


def test_it_shows_the_chat_as_it_was(user: User, filled: Conversation) -> None:
    first = filled.messages.filter(role="user").order_by("created_at").first()
    assert first is not None
    address = made(user, filled)
    before = re.sub(r"\s+", " ", words(page(address)))
    filled.messages.create(role="user", content="LATER WORDS", created_at=timezone.now())
    filled.messages.create(role="assistant", content="LATER ANSWER", created_at=timezone.now())
    Message.objects.filter(pk=first.pk).update(replaced_by=filled.messages.get(content="LATER WORDS"))
    assert re.sub(r"\s+", " ", words(page(address))) == before


def test_the_last_answer_alone(user: User, filled: Conversation) -> None:
    shown = words(page(made(user, filled, extent="answer")))
    *others, asked, answer = filled.messages.order_by("created_at")
    assert asked.content.strip() in shown and answer.content.strip() in shown
    assert not any(other.content.strip() in shown for other in others)


def test_it_ends_when_its_time_is_over_and_when_its_owner_says_so(user: User, filled: Conversation) -> None:
    address = made(user, filled)
    Link.objects.update(ends_at=timezone.now() - timedelta(seconds=1))
    assert page(address).status_code == 404
    again = made(user, filled)
    assert page(address).status_code == 404 and page(again).status_code == 200
    assert "Make the address" in words(Pages(user).post("end_link", filled.pk))
    assert page(again).status_code == 404


def test_the_trash_deletion_and_a_disabled_owner_end_it(user: User, filled: Conversation) -> None:
    address = made(user, filled)
    Conversation.objects.update(trashed_at=timezone.now())
    assert page(address).status_code == 404
    Conversation.objects.update(trashed_at=None)
    User.objects.update(is_active=False)
    assert page(address).status_code == 404
    User.objects.update(is_active=True)
    assert page(address).status_code == 200
    filled.delete()
    assert page(address).status_code == 404 and not Link.objects.exists()


def test_only_the_owner_makes_sees_and_ends_it(user: User, other: User, filled: Conversation) -> None:
    address = made(user, filled)
    for name, ask in (("link", "get"), ("link", "post"), ("preview_link", "get"), ("end_link", "post")):
        assert getattr(Pages(other), ask)(name, filled.pk).status_code == 404
    assert page(address).status_code == 200
    assert page(reverse("link", args=[filled.pk])).status_code == 302, "a stranger signs in first"


async def test_files_and_thoughts_only_where_they_are_ticked(user: User, chat: Chat) -> None:
    await ModelProfile.objects.aupdate(sees_images=True)
    files = [("rack.png", picture()), ("notes.txt", b"TEXT OF THE FILE")]
    upload = sync_to_async(attachments.upload)
    image, text = [await upload(chat.conversation, name=name, data=data) for name, data in files]
    chat.llm.enqueue("I see.", thoughts="A SECRET THOUGHT")
    await chat.say("Look.", attachments=[image.pk, text.pk])
    await sync_to_async(_require_ticked)(user, chat.conversation, image)


def _require_ticked(user: User, conversation: Conversation, image: Attachment) -> None:
    bare = words(page(address := made(user, conversation)))
    assert [part for part in ("rack.png", "notes.txt", "not shared", "Look.") if part not in bare] == []
    assert "TEXT OF THE FILE" not in bare and "THOUGHT" not in bare and "<img" not in bare
    assert page(f"{address}/files/{image.pk}").status_code == 404
    whole = words(page(address := made(user, conversation, files="on", thoughts="on")))
    assert "TEXT OF THE FILE" in whole and "A SECRET THOUGHT" in whole
    file = page(f"{address}/files/{image.pk}")
    assert file.status_code == 200 and file["X-Robots-Tag"] == "noindex, nofollow"
    stray = attachments.upload(conversation, name="later.png", data=picture())
    assert page(f"{address}/files/{stray.pk}").status_code == 404, "it is in no message that is shown"


def test_markup_in_it_is_data(user: User, conversation: Conversation) -> None:
    evil = "<script>alert(1)</script> [x](javascript:alert(1)) <img src=x onerror=alert(1)>"
    conversation.messages.create(role="user", content=evil, created_at=timezone.now())
    conversation.messages.create(role="assistant", content=evil, created_at=timezone.now())
    Conversation.objects.update(title=evil)
    shown = words(page(made(user, conversation)))
    assert "<script" not in shown and "<img" not in shown and 'href="javascript' not in shown


def test_long_chats_are_shown_page_by_page_in_a_constant_number_of_queries(
    user: User, conversation: Conversation, django_assert_max_num_queries: Any
) -> None:
    fill(conversation, 250)
    address, seen = made(user, conversation), set[str]()
    for _ in range(3):
        with django_assert_max_num_queries(9):
            shown = words(page(address))
        seen |= {message.content for message in conversation.messages.all() if message.content.strip() in shown}
        earlier = re.search(r'href="(\?before=[^"]+)"', shown)
        address = f"{address.partition('?')[0]}{earlier[1]}" if earlier else address
    assert len(seen) == 250 and earlier is None
    assert page(f"{address.partition('?')[0]}?before=yesterday").status_code == 400


def test_openings_are_counted_but_not_those_of_the_owner(user: User, filled: Conversation, client: Client) -> None:
    address = made(user, filled)
    client.force_login(user)
    page(address, client)
    assert Link.objects.get().opened == 0
    page(address)
    page(address)
    page(f"{address}?before={timezone.now().isoformat().replace('+', '%2B')}")  # another page of the same opening
    assert Link.objects.get().opened == 2
    assert "Opened 2 times" in words(Pages(user).get("link", filled.pk))


def test_a_reader_goes_on_in_a_chat_of_their_own(user: User, other: User, filled: Conversation) -> None:
    first = filled.messages.filter(role="user").order_by("created_at").first()
    assert first is not None
    Message.objects.filter(pk=first.pk).update(content="Always answer in French.")
    address = made(user, filled)
    pages = Pages(other)
    assert "Go on from here" in words(pages.client.get(address))
    answer = pages.client.post(f"{address}/go-on")
    copied = Conversation.objects.get(owner=other)
    assert answer["Location"] == reverse("chat", args=[copied.pk])
    said = [*copied.messages.order_by("created_at").values_list("role", "content")]
    assert said == [*filled.messages.order_by("created_at").values_list("role", "content")]
    assert copied.rules == [] and not copied.ledger.exists(), "nobody typed it there"
    assert Conversation.objects.filter(owner=user).count() == 1
    stranger = Client()
    assert "Go on from here" not in words(page(address, stranger))
    assert stranger.post(f"{address}/go-on").status_code == 302 and Conversation.objects.count() == 2
    links.end(filled)
    assert pages.client.post(f"{address}/go-on").status_code == 404


def test_odd_addresses_lead_nowhere(user: User, filled: Conversation) -> None:
    made(user, filled)
    for odd in ("%00", "x", "a" * 500, "%F0%9F%98%80", ".."):
        assert page(f"/s/{odd}").status_code == 404


def test_a_new_link_takes_the_place_of_the_one_before(user: User, filled: Conversation) -> None:
    first = made(user, filled)
    page(first)
    second = made(user, filled, extent="answer")
    (link,) = Link.objects.all()
    assert second.endswith(link.token) and first != second and (link.opened, link.opened_at) == (0, None)


def test_a_preview_shows_it_before_there_is_a_link(user: User, filled: Conversation) -> None:
    shown = words(Pages(user).get("preview_link", filled.pk, extent="all", ends="week"))
    assert "Not shared yet" in shown and user.username not in shown
    assert not Link.objects.exists()


def test_bad_choices_and_empty_chats_are_refused(user: User, conversation: Conversation) -> None:
    assert "There is no answer to share yet." in words(Pages(user).get("link", conversation.pk))
    assert Pages(user).post("link", conversation.pk, extent="all", ends="week").status_code == 409
    fill(conversation, 2)
    for wrong in ({"extent": "some", "ends": "week"}, {"extent": "all", "ends": "soon"}):
        assert Pages(user).post("link", conversation.pk, **wrong).status_code == 400
    assert not Link.objects.exists()


def test_an_operator_can_have_none(user: User, filled: Conversation, settings: Any) -> None:
    address = made(user, filled)
    assert "Share…" in words(Pages(user).get("chat", filled.pk))
    settings.PUBLIC_LINKS = False
    assert page(address).status_code == 404
    assert Pages(user).get("link", filled.pk).status_code == 404
    assert "Share…" not in words(Pages(user).get("chat", filled.pk))


async def test_a_reply_that_is_still_written_is_not_shown(chat: Chat) -> None:
    await chat.say("What is it?")
    chat.llm.enqueue("slow words of a reply", drip=0.2)
    begun = await chat.send("And now?")
    link = await sync_to_async(links.make)(chat.conversation, links.Choices())
    shown = await sync_to_async(lambda: [one.content for one in links.messages_of(link)])()
    assert shown[-1] == "All right." and "slow" not in "".join(shown)
    await chat.ended(begun.reply.pk)


def test_regenerated_answers_are_shown_once(user: User, filled: Conversation) -> None:
    replies = list(filled.messages.filter(role="assistant").order_by("created_at"))
    newer = filled.messages.create(role="assistant", content="THE NEWER ANSWER", created_at=timezone.now())
    Message.objects.filter(pk=replies[-1].pk).update(replaced_by=newer)
    shown = words(page(made(user, filled)))
    assert "THE NEWER ANSWER" in shown and replies[-1].content not in shown
