"""Images on their way to a model that sees, and what remains of them in summaries and records."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection
from django.test.utils import CaptureQueriesContext

from compression.core.values import Image, Turn
from conversations.compaction import snapshots
from conversations.context import prompt, transcript
from conversations.llm import request as llm_request
from conversations.llm.known_models import sees_images
from conversations.llm.profiles import sync_profiles
from conversations.llm.providers.images import with_bytes
from conversations.messages import images as image_files
from conversations.models import Attachment, Conversation, Message, ModelProfile
from conversations.requests import next_request, replay
from tests.conversations.chat import START, Chat
from tests.conversations.messages.test_attachments import ask, put
from tests.conversations.pictures import opened, picture

pytestmark = pytest.mark.once

RED = picture("JPEG", size=(30, 20), colour="red")


@pytest.fixture
def profile(profile: ModelProfile) -> ModelProfile:
    ModelProfile.objects.filter(pk=profile.pk).update(sees_images=True, window=16_000)
    profile.refresh_from_db()
    return profile


async def show(chat: Chat, content: str, *images: bytes, name: str = "rack.png") -> Message:
    rows = [await sync_to_async(put)(chat.conversation, data, name) for data in images]
    return await chat.say(content, attachments=[row.pk for row in rows])


def seen(body: Any) -> list[tuple[str, bytes]]:
    """Media type and bytes of every image in a request of either API."""
    found = []
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "image_url":
                media_type, data = block["image_url"]["url"].removeprefix("data:").split(";base64,")
                found.append((media_type, b64decode(data)))
            if block["type"] == "image":
                assert block["source"]["type"] == "base64"
                found.append((block["source"]["media_type"], b64decode(block["source"]["data"])))
    return found


@pytest.mark.parametrize(
    ("provider", "status", "words"),
    [
        ("anthropic", 400, "This model does not support image input"),
        ("openai", 404, "No endpoints found that support image input"),
        (
            "openai",
            500,
            "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
        ),
        ("openai", 422, "Failed to deserialize: messages[1]: unknown variant `image_url`, expected `text` at line 1"),
        ("openai", 400, "messages[1].content must be a string"),
        ("openai", 400, "This model does not support image inputs."),
        ("openai", 415, "Images are not supported by this model"),
        ("openai", 501, "multimodal input is not supported"),
    ],
)
async def test_a_chat_goes_on_before_a_server_that_takes_no_images(
    chat: Chat, provider: str, status: int, words: str
) -> None:
    await ModelProfile.objects.aupdate(provider=provider)
    chat.llm.enqueue(status=status, message=words)
    reply = await show(chat, "What stands there?", RED)
    assert reply.status == "complete", reply.error
    assert (await chat.say("And now?")).status == "complete"
    first, again, next_turn = chat.llm.chats
    assert [len(seen(one.body)) for one in (first, again, next_turn)] == [1, 0, 0]
    assert "[image/jpeg, " in json.dumps(again.body)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_the_oldest_images_give_way_where_a_server_takes_few(chat: Chat, provider: str) -> None:
    await ModelProfile.objects.aupdate(provider=provider)
    shown = [picture("PNG", size=(30, 20 + number), colour="red") for number in range(5)]
    chat.llm.enqueue(status=400, message="At most 1 image(s) may be provided in one prompt.", times=2)
    reply = await show(chat, "Compare them.", *shown)
    assert reply.status == "complete", reply.error
    requests = [seen(one.body) for one in chat.llm.chats]
    assert [len(one) for one in requests] == [5, 2, 1]
    assert requests[2][0] == requests[0][-1]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_model_that_sees_gets_the_bytes_of_images_in_every_turn(chat: Chat, provider: str) -> None:
    await ModelProfile.objects.aupdate(provider=provider)
    for _ in range(2):
        reply = await show(chat, "What is in them?", picture(), RED)
        assert reply.status == "complete"
    await chat.say("and now?")
    sent = seen(chat.llm.last_request.body)
    assert sent == [("image/png", picture()), ("image/jpeg", RED)] * 2
    assert [opened(data).size for _, data in sent[:2]] == [(40, 30), (30, 20)]
    assert chat.llm.last_request.text.count("What is in them?") == 2


async def test_images_are_read_in_one_query_and_only_when_a_request_leaves(chat: Chat) -> None:
    await show(chat, "What is in them?", picture(), RED)

    def look() -> tuple[llm_request.Prompt, llm_request.Prompt]:
        with CaptureQueriesContext(connection) as asked:
            told = next_request.preview(chat.conversation).prompt
        assert not [query for query in asked if "_attachment" in query["sql"]]
        with CaptureQueriesContext(connection) as asked:
            whole = async_to_sync(with_bytes)(told)
        assert len(asked) == 1
        return told, whole

    told, whole = await sync_to_async(look)()
    parts = told.messages[1]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "image_url"]
    assert all(part["image_url"]["url"].startswith("attachment:") for part in parts[1:])
    assert len(seen({"messages": whole.messages})) == 2
    await Attachment.objects.filter(kind="image").aupdate(data=None)
    assert "an image that is not there any more" in str((await with_bytes(told)).messages)


async def test_an_image_that_is_sent_again_and_again_is_read_once(chat: Chat) -> None:
    for _ in range(3):
        await show(chat, "And now?", RED)

    def read() -> int:
        with CaptureQueriesContext(connection) as asked:
            whole = async_to_sync(with_bytes)(next_request.preview(chat.conversation).prompt)
        assert len(seen({"messages": whole.messages})) == 3
        with connection.cursor() as cursor:
            cursor.execute(asked[-1]["sql"])
            return len(cursor.fetchall())

    assert await sync_to_async(read)() == 1


async def test_a_model_that_does_not_see_is_told_their_names(chat: Chat) -> None:
    await show(chat, "What is in it?", picture())
    await ModelProfile.objects.aupdate(sees_images=False)
    await chat.say("and now?")
    body = chat.llm.last_request.body
    assert body["messages"][1] == {"role": "user", "content": "What is in it?\n[image: rack.png]"}
    assert "base64" not in json.dumps(body)


async def test_what_was_sent_is_on_record_without_bytes_and_can_be_told_exactly(chat: Chat) -> None:
    reply = await show(chat, "What is in it?", picture())
    await ModelProfile.objects.aupdate(sees_images=False)
    await Attachment.objects.all().aupdate(data=None)
    told = await sync_to_async(replay.replay)(chat.conversation, reply.pk)
    assert told.is_exact
    part = told.parts[-1]
    assert part.text == "What is in it?\n[image: rack.png]"
    question = await chat.conversation.messages.aget(role="user")
    assert part.tokens == question.token_count > image_files.TOKENS
    assert question.images[0]["hash"] in json.dumps(part.message) and "base64" not in json.dumps(part.message)
    later = await chat.say("and now?")
    assert (await sync_to_async(replay.replay)(chat.conversation, later.pk)).is_exact


async def test_a_guess_at_an_images_cost_teaches_nothing_about_the_models_tokens(chat: Chat) -> None:
    await ModelProfile.objects.aupdate(token_correction=1.5)
    await show(chat, "What is in it?", picture())
    assert (await ModelProfile.objects.aget()).token_correction == 1.5


@pytest.mark.parametrize("summariser", ["model", "extractive"])
async def test_a_compaction_names_an_image_and_undoing_it_shows_it_again(chat: Chat, summariser: str) -> None:
    await show(chat, "This is our rack.", picture(), name="rack in the cellar.png")
    for number in range(4):
        await chat.say(f"pad {number} " + "pad " * 200)
    if summariser == "extractive":
        await Conversation.objects.aupdate(policy={"summariser": "extractive"})
        await chat.refresh()
    row = await chat.compact()
    assert row.status == "succeeded", row.error
    for request in chat.llm.summaries:
        assert "base64" not in json.dumps(request.body) and "data:" not in request.text
    asked = "\n".join(request.text for request in chat.llm.summaries)
    told = asked if summariser == "model" else chat.conversation.compressed_context
    assert "image: rack in the cellar.png" in str(told)
    await chat.say("go on")
    assert not seen(chat.llm.last_request.body)
    await sync_to_async(snapshots.rollback)(chat.conversation)
    await chat.say("what is in it?")
    assert seen(chat.llm.last_request.body) == [("image/png", picture())]


SEEING = """
    gpt-4o gpt-4o-mini-2024-07-18 gpt-4.1-nano gpt-4.5-preview gpt-4-turbo gpt-5 gpt-5-nano gpt-5.1 o1 o3-pro o4-mini
    claude-3-haiku-20240307 claude-sonnet-5-5 anthropic/claude-opus-4-6 gemini-2.5-flash gemma3:27b google/gemma-3-4b-it
    llava:13b qwen-vl-max qwen2.5vl:7b Qwen/Qwen3-VL-8B pixtral-12b llama-3.2-11b-vision grok-4 x-ai/grok-4.1-fast
    z-ai/glm-4.6v moonshotai/kimi-k2.5 mistral-medium-latest mistral-small-2506 mistral-small3.2:24b mistral-large-2512
    amazon.nova-lite-v1:0 ministral-3:8b us.anthropic.claude-sonnet-4-5-20250929-v1:0
"""
BLIND = """
    gpt-4 gpt-4-0613 gpt-3.5-turbo gpt-4o-audio-preview o1-mini o1-preview o3-mini claude-2.1 claude-instant-1.2
    gpt-oss-20b llama-3.1-8b qwen3-8b deepseek-chat smollm2 gemma-2-9b gemma3:1b default
    grok-code-fast-1 grok-3 kimi-k2-thinking glm-4.6 minimax-m2 nova-micro mistral-nemo
"""


@pytest.mark.once
@pytest.mark.parametrize(("sees", "models"), [(True, SEEING), (False, BLIND)])
def test_which_models_see_is_known_by_their_ids(sees: bool, models: str) -> None:
    assert [model for model in models.split() if sees_images(model) != sees] == []


def test_a_profile_of_the_environment_sees_as_its_id_says_until_it_is_edited(
    transactional_db: None, settings: Any
) -> None:
    settings.OPENAI_API_KEY, settings.OPENAI_MODEL, settings.OPENAI_FAST_MODEL = "sk-test", "gpt-4o", "gpt-3.5-turbo"
    sync_profiles()
    profiles = ModelProfile.objects.filter(provider="openai").order_by("pk")
    assert list(profiles.values_list("sees_images", flat=True)) == [True, False]
    profiles.filter(model_id="gpt-4o").update(sees_images=False)
    sync_profiles()
    assert not profiles.get(model_id="gpt-4o").sees_images


@pytest.mark.once
def test_a_turn_is_loaded_with_its_images_in_no_further_query(
    conversation: Conversation, django_assert_num_queries: Any
) -> None:
    ask(conversation, "look", put(conversation, picture(), "rack.png"))
    next_request.preview(conversation)
    with django_assert_num_queries(2):
        (turn, _) = transcript.load(conversation.pk).turns
    assert turn.images[0].caption == "[image: rack.png]"


@pytest.mark.once
@pytest.mark.parametrize(
    ("count", "size", "shown"), [(9, 1_000, 2), (1, 1_000, 20), (1, 6_000_000, 3), (1, 30_000_000, 0)]
)
def test_a_request_holds_the_latest_images_and_no_more_than_providers_take(count: int, size: int, shown: int) -> None:
    images = (Image("0" * 64, "rack.png", size),) * count
    turns = [Turn(str(number), "user", "", START, 1, images=images) for number in range(30)]
    assert prompt.turns_with_images(turns) == {str(number) for number in range(30 - shown, 30)}
