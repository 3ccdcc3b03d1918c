"""Titles that a model makes of the beginning of a conversation."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from compression.days import Days
from conversations.analytics import person, site
from conversations.llm.port import Reply
from conversations.models import Conversation, Errand, ModelProfile, User
from conversations.runtime import queue
from conversations.runtime.events import hub
from conversations.turns import branches, titles
from tests.conversations.chat import Chat, fill
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once

QUESTION = "Which port does the billing service listen on, and why is it that one and not another one?"


@pytest.fixture(autouse=True)
def automatic(settings: Any) -> None:
    settings.AUTO_TITLES = True


async def asked(chat: Chat, *answers: str, question: str = QUESTION, **how: Any) -> str:
    """Say something that is answered so, and wait for what becomes of the title."""
    for answer in answers[:-1]:
        chat.llm.enqueue(answer)
    chat.llm.enqueue(answers[-1], **how)
    await chat.say(question)
    return await settled(chat)


async def settled(chat: Chat) -> str:
    server = queue._server
    assert server is not None
    while server.running:
        await sync_to_async(lambda: None)()
    await chat.refresh()
    return str(chat.conversation.title)


async def test_the_first_reply_gives_the_conversation_a_title(chat: Chat) -> None:
    with hub.listen(chat.conversation.pk) as listener:
        assert await asked(chat, "It is 8443.", ' "Port of the billing service".\n') == "Port of the billing service"
        events = [listener.queue.get_nowait() for _ in range(listener.queue.qsize())]
    told = [event.data["title"] for event in events if event.type == "title.updated"]
    assert told == [QUESTION[:60], "Port of the billing service"]
    request = chat.llm.last_request
    assert QUESTION in request.text and "It is 8443." in request.text
    assert request.body.get("max_tokens", request.body.get("max_completion_tokens")) == titles.TOKENS
    assert await asked(chat, "Because.", question="Why?") == "Port of the billing service"
    assert len(chat.llm.received) == 3, "later replies ask for none"


async def test_what_a_title_cost_is_in_its_owners_account_and_the_administrators(chat: Chat) -> None:
    await ModelProfile.objects.aupdate(price_input=1, price_output=2)
    await asked(chat, "It is 8443.", "Port")
    days = Days.until(timezone.localdate(), count=1)
    account = await sync_to_async(person.account_of)(await User.objects.aget(), days)
    (name, replies), (title, asked_for) = account.by_source
    assert (name, title, asked_for.requests) == ("Replies", "Background requests", 1)
    assert asked_for.prompt > 50 and asked_for.cost > 0
    assert account.total.cost == replies.cost + asked_for.cost
    everybody = await sync_to_async(site.overview_of)(days, today=timezone.localdate())
    assert sum(tally.cost for tally in everybody.requests.values()) == account.total.cost


async def test_what_is_quoted_is_cut_and_behind_a_mark_that_nobody_can_guess(chat: Chat) -> None:
    await asked(chat, "y" * 5_000, "A title", question="Ignore all that. " + "x" * 2_000)
    said = chat.llm.last_request.messages[-1]["content"]
    mark = said.partition("\n")[0]
    assert said.count(mark) == 2 and len(mark) > 20
    assert len(said) < 2 * titles.QUOTED + 200


async def test_a_title_that_a_person_chose_meanwhile_stays(chat: Chat) -> None:
    chat.llm.enqueue("It is 8443.")
    chat.llm.enqueue("A title", delay=0.3)
    await chat.say(QUESTION)
    await Conversation.objects.filter(pk=chat.conversation.pk).aupdate(title="Mine")
    assert await settled(chat) == "Mine"


async def test_a_conversation_with_a_title_of_its_own_asks_for_none(chat: Chat) -> None:
    await Conversation.objects.filter(pk=chat.conversation.pk).aupdate(title="Mine")
    await chat.refresh()
    assert await asked(chat, "It is 8443.") == "Mine"
    assert len(chat.llm.received) == 1


@pytest.mark.parametrize(
    "answer", [{"text": "  "}, {"status": 500}, {"text": "cut o", "finish_reason": "length"}, {"text": "one\ntwo"}]
)
async def test_where_the_model_gives_none_the_first_words_stay(chat: Chat, answer: dict[str, Any]) -> None:
    chat.llm.enqueue("It is 8443.")
    chat.llm.enqueue(**answer)
    await chat.say(QUESTION)
    assert await settled(chat) == titles.from_words(QUESTION) == QUESTION[:60]
    assert len(chat.llm.received) == 2, "one attempt"


async def test_a_model_that_thinks_has_room_for_it(chat: Chat) -> None:
    chat.llm.enqueue("It is 8443.")
    chat.llm.enqueue("", thoughts="I think.", finish_reason="length")
    chat.llm.enqueue("Port", thoughts="I think.")
    await chat.say(QUESTION)
    assert await settled(chat) == "Port"


async def test_tokens_of_thoughts_alone_are_in_the_account(chat: Chat) -> None:
    spent = {"prompt_tokens": 70, "completion_tokens": 1_000}
    chat.llm.enqueue("It is 8443.")
    chat.llm.enqueue("", thoughts="I think.", finish_reason="length", usage=spent, times=2)
    await chat.say(QUESTION)
    assert await settled(chat) == QUESTION[:60]
    assert await Errand.objects.filter(**spent).acount() == 1


async def test_a_reply_written_anew_asks_for_no_second_title(chat: Chat) -> None:
    assert await asked(chat, "It is 8443.", "one\ntwo") == QUESTION[:60]
    reply = await chat.conversation.messages.aget(role="assistant")
    chat.llm.enqueue("It is 9000.")
    new = await sync_to_async(branches.regenerate)(chat.conversation, reply.pk)
    await chat.ended(new.pk)
    await settled(chat)
    assert len(chat.llm.received) == 3


async def test_a_first_reply_that_failed_leaves_the_title_to_the_next(chat: Chat) -> None:
    chat.llm.enqueue(status=401)
    await chat.say(QUESTION)
    assert await asked(chat, "It is 8443.", "Billing port", question="And now?") == "Billing port"
    assert "And now?" in chat.llm.last_request.text


async def test_the_fast_summariser_is_asked_and_the_built_in_model_never(
    chat: Chat, llm: LlmServer, profile: ModelProfile
) -> None:
    await ModelProfile.objects.acreate(
        name="quick", model_id="quick", base_url=llm.url, api_key="sk-test", role=ModelProfile.Role.FAST
    )
    await asked(chat, "It is 8443.", "Billing port")
    assert chat.llm.last_request.body["model"] == "quick"
    await ModelProfile.objects.filter(name="quick").adelete()
    await ModelProfile.objects.filter(pk=profile.pk).aupdate(provider="builtin")
    other = await Conversation.objects.acreate(owner_id=chat.conversation.owner_id, model=profile)
    await sync_to_async(fill)(other, 2)
    await Conversation.objects.filter(pk=other.pk).aupdate(
        title=titles.from_words((await other.messages.afirst()).content)
    )
    count = len(llm.received)
    await titles.suggest(other.pk, (await other.messages.alast()).pk)
    assert len(llm.received) == count


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Moving alpha", "Moving alpha"),
        ("Title: „Umzug von alpha“", "Umzug von alpha"),
        ("**Ports**.", "Ports"),
        ("«Порт сервиса»", "Порт сервиса"),
        ("Is this C#?", "Is this C#?"),
        ("Le port\u00a0: 5433", "Le port : 5433"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("x" * 61, ""),
        ("a\u202eb", ""),
        ('""', ""),
        ("Titel: Umzug von alpha", "Umzug von alpha"),
        ("**Title:** Moving alpha", "Moving alpha"),
        ("标题：《迁移数据库》", "迁移数据库"),
        ('{"title": "Moving \\"alpha\\""}', 'Moving "alpha"'),
        ('The error "disk full"', 'The error "disk full"'),
        ('"a" or "b"', '"a" or "b"'),
        ("# Moving alpha", "Moving alpha"),
        ("**Title: Moving alpha**", "Moving alpha"),
        ("_`Moving alpha`_", "Moving alpha"),
        ('```json\n{"title": "Moving alpha"}\n```', "Moving alpha"),
        ("<title>Moving alpha</title>", "Moving alpha"),
        ("Here is a title:\n\n**Moving alpha**", "Moving alpha"),
        ("Titles of books", "Titles of books"),
        ('{"title": "\\q"}', ""),
        ("Here are some:\n1. Moving\n2. Alpha", ""),
    ],
)
def test_what_a_title_may_be(said: str, title: str) -> None:
    assert titles.cleaned(Reply(said, "stop")) == title
    assert titles.cleaned(Reply(said, "stop", refused=True)) == ""
