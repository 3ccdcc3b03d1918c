"""Models whose chat templates refuse what others take: learned from the refusal, and kept in the profile."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from compression.models import Compaction
from conversations.llm.profiles import connect
from conversations.llm.providers import chat_templates
from conversations.llm.request import Prompt
from conversations.llm.retries import Attempts
from conversations.models import ApiKey, Conversation, ModelProfile
from conversations.requests import replay
from tests import llm_templates
from tests.conversations.chat import Chat, fill
from tests.conversations.pages import one_line
from tests.llm_answers import Request, text_of
from tests.llm_server import LlmServer
from tests.llm_templates import TEMPLATES, complaint

pytestmark = pytest.mark.once

LEARNED = {"qwen": "strict", "mistral": "strict", "mistral-api": "strict", "gemma": "no_system", "llama-2": "no_system"}


@pytest.fixture
def filled(conversation: Conversation) -> Conversation:
    fill(conversation, 20)
    return conversation


def refused(llm: LlmServer) -> list[Request]:
    return [request for request in llm.received if complaint(llm.template, request)]


async def learned() -> str:
    return (await ModelProfile.objects.aget()).chat_template


@pytest.mark.parametrize("template", TEMPLATES)
async def test_a_turn_after_a_compaction_is_answered_and_later_ones_are_not_refused(
    filled: Conversation, chat: Chat, template: str
) -> None:
    chat.llm.template = template
    assert (await chat.compact()).summariser == "scripted"
    reply = await chat.say("What was port 3?")
    assert (reply.status, reply.content) == ("complete", "All right.")
    assert await learned() == LEARNED[template]
    before = len(refused(chat.llm))
    assert 1 <= before <= 3
    last = chat.llm.last_request
    for words in ("[Compressed Message Summary]", "Message 16 ", "Message 19 ", "What was port 3?"):
        assert last.text.count(words) == 1, "each of them, and none twice"
    assert len([one for one in last.messages if one["role"] == "system"]) == (LEARNED[template] == "strict")
    again = await chat.say("And port 4?")
    assert again.status == "complete"
    assert (await chat.compact()).summariser == "scripted"
    assert (await chat.say("And port 5?")).status == "complete"
    assert len(refused(chat.llm)) == before, "it is known by now"


@pytest.mark.parametrize("template", ["gemma", "llama-2"])
async def test_the_first_turn_of_a_model_without_a_system_role(chat: Chat, template: str) -> None:
    chat.llm.template = template
    assert (await chat.say("Hello.")).status == "complete"
    (message,) = chat.llm.last_request.messages
    assert message["role"] == "user" and message["content"].endswith("\n\nHello.")
    assert message["content"].startswith("You are a helpful assistant."), "the system prompt stands before it"
    assert await learned() == "no_system"
    assert (await chat.say("Again.")).status == "complete"
    assert len(refused(chat.llm)) <= 2


async def test_a_free_model_learns_nothing_and_is_sent_what_it_always_was(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    await chat.say("What was port 3?")
    await chat.check()
    assert [one["role"] for one in chat.llm.last_request.messages][:2] == ["system", "system"]
    assert await learned() == "free"


async def test_what_another_process_has_learned_holds_here(filled: Conversation, chat: Chat) -> None:
    chat.llm.template = "mistral"
    await ModelProfile.objects.aupdate(chat_template="strict")
    await chat.compact()
    await chat.say("What was port 3?")
    assert not refused(chat.llm)


async def test_a_refusal_of_something_else_is_told_and_nothing_is_learned(chat: Chat) -> None:
    chat.llm.enqueue(status=400, message="temperature must be at most 1")
    assert (await chat.say("Hello.")).status == "failed"
    assert len(chat.llm.chats) == 1 and await learned() == "free"


async def test_a_template_that_takes_nothing_ends_in_the_refusal(profile: ModelProfile, llm: LlmServer) -> None:
    llm.enqueue(status=500, message="Jinja Exception: roles must alternate", times=9)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "system", "content": "More."}]
    prompt = Prompt((*messages, {"role": "user", "content": "Hi."}))
    with pytest.raises(Exception, match="500"):
        await connect(profile).complete(prompt, max_tokens=5, attempts=Attempts(1))
    assert len(llm.received) == 3, "as it is, strict, without a system role"
    assert await learned() == "free"


async def test_a_refusal_within_the_stream_is_learned_from_too(profile: ModelProfile, llm: LlmServer) -> None:
    complaint = 'Error rendering prompt with jinja template: "Conversation roles must alternate"'
    llm.enqueue(events=[{"error": complaint}])
    prompt = Prompt(tuple({"role": role, "content": role} for role in ("system", "system", "user")))
    assert (await connect(profile).complete(prompt, max_tokens=5)).text == "All right."
    assert [one["role"] for one in llm.last_request.messages] == ["system", "user"]
    assert await learned() == "strict"


async def test_a_budget_of_one_request_is_enough_to_learn(profile: ModelProfile, llm: LlmServer) -> None:
    llm.template = "llama-2"
    prompt = Prompt(tuple({"role": role, "content": role} for role in ("system", "system", "user", "user")))
    reply = await connect(profile).complete(prompt, max_tokens=5, attempts=Attempts(1))
    assert reply.text == "All right."
    assert profile.chat_template == await learned() == "no_system"


async def test_a_reply_that_comes_last_and_a_stopped_call_are_put_right(profile: ModelProfile, llm: LlmServer) -> None:
    llm.template = "mistral-api"
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    prompt = Prompt((
        {"role": "system", "content": "S"},
        {"role": "assistant", "content": "Before.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "3"},
        {"role": "user", "content": "Go away."},
        {"role": "assistant", "content": "I"},
    ))  # fmt: skip
    await connect(profile).complete(prompt, max_tokens=5)
    assert [(one["role"], one["content"]) for one in llm.last_request.messages] == [
        ("system", "S"),
        ("user", "[The conversation goes on.]"),
        ("assistant", "Before."),
        ("tool", "3"),
        ("assistant", "[No reply.]"),
        ("user", "Go away."),
        ("assistant", "I"),
        ("user", "[Go on.]"),
    ]


async def test_what_the_model_saw_says_how_it_was_put_and_its_hash_still_holds(
    filled: Conversation, chat: Chat, user: Any
) -> None:
    chat.llm.template = "mistral"
    await chat.compact()
    reply = await chat.say("What was port 3?")
    replayed = await sync_to_async(replay.replay)(filled, reply.pk)
    assert replayed.is_exact and replayed.chat_template == "strict"
    sent = chat.llm.last_request.messages
    assert chat_templates.shaped(replayed.messages, "strict") == sent and replayed.shaped_count == len(sent)
    assert len(replayed.messages) > len(sent)
    client = Client()
    await sync_to_async(client.force_login)(user)
    page = await sync_to_async(client.get)(reverse("request", args=[filled.pk, reply.pk]))
    assert f"sent as {len(sent)} messages" in one_line(page.content.decode())
    coming = await sync_to_async(client.get)(reverse("next", args=[filled.pk]))
    assert "takes one system message" in one_line(coming.content.decode())


async def test_a_compaction_is_made_by_the_model_and_not_by_what_stands_in_for_it(
    filled: Conversation, chat: Chat
) -> None:
    chat.llm.template = "gemma"
    row = await chat.compact()
    assert (row.status, row.summariser) == (Compaction.Status.SUCCEEDED, "scripted")
    assert await learned() == "no_system"


def test_names_of_speakers_and_images_survive_the_joining() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    joined = chat_templates.shaped(
        [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "name": "Ann", "content": "Hello."},
            {"role": "user", "name": "Bob", "content": [{"type": "text", "text": "See:"}, image]},
        ],
        "strict",
    )
    text = [{"type": "text", "text": text} for text in ("Ann: Hello.", "Bob:", "See:")]
    assert joined == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [*text, image]}]


ROLES = st.sampled_from(["system", "developer", "user", "assistant", "calls"])


@given(st.lists(ROLES, min_size=1, max_size=12), st.sampled_from(["strict", "no_system"]))
def test_any_history_is_taken_and_keeps_every_word_in_order(roles: list[str], template: str) -> None:
    messages: list[dict[str, Any]] = []
    for number, role in enumerate(roles):
        if role == "calls":
            call = {"id": f"c{number}", "function": {"name": "add", "arguments": "{}"}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"<{number}>"})
        else:
            messages.append({"role": role, "content": f"<{number}>"})
    put = chat_templates.shaped(messages, template)
    takers = ["mistral", "mistral-api"] if template == "strict" else ["mistral", "mistral-api", "llama-2"]
    if "calls" in roles:
        takers = takers[:2]  # the others know no tools
    if "user" not in [message["role"] for message in put]:
        takers = []  # nobody has asked anything
    for name in takers:
        assert not llm_templates.complaint(name, Request({"messages": put})), (name, put)
    words = "".join(text_of(message) for message in put)
    said = [text_of(message) for message in messages if message.get("content")]
    places = [words.index(text) for text in said]
    assert places == sorted(places)
    assert chat_templates.shaped(put, template) == put, "what is right stays as it is"


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("System message must be at the beginning.", "strict"),
        ("Conversation roles must alternate user/assistant/user/assistant/...", "strict"),
        ("Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant", "strict"),
        ("Unexpected role 'system' after role 'user'", "strict"),
        ("A conversation must alternate between user and assistant roles.", "strict"),  # Amazon
        ("Please ensure that multiturn requests alternate between user and model.", "strict"),  # Gemini
        ("Please ensure that multiturn requests ends with a user role or a function response.", "strict"),
        ("Please ensure that function call turn comes immediately after a user turn.", "strict"),
        ("user or tool message(s) should alternate with assistant message(s).", "strict"),  # Perplexity
        ("Messages must alternate between human and AI roles", "strict"),
        ("Expected user role at position 2", "strict"),
        ("You cannot have two consecutive user messages", "strict"),
        ("consecutive messages with the same role are not allowed", "strict"),
        ("last message role must be user", "strict"),
        ("system message must come first", "strict"),
        ("role 'system' must be first", "strict"),
        ("only one system message is allowed", "strict"),
        ("Only the first message can have role system", "strict"),
        ("messages with role 'system' must be placed at the top", "strict"),
        ("messages.5.role: system role is only allowed at the beginning", "strict"),
        ("Value error, System messages are only allowed at index 0", "strict"),
        ("Invalid message order: system after assistant", "strict"),
        ("messages 参数非法。system 消息必须在开头", "strict"),  # Zhipu
        ("Developer instruction is not enabled for models/gemma-3-27b-it", "no_system"),  # Google
        ("System role not supported", "no_system"),
        ("Only user and assistant roles are supported!", "no_system"),
        ("The system role is not supported by this model", "no_system"),
        ("temperature must be at most 1", None),
        ("This model does not support tools", None),
        ("The model is not available. Please use an alternative model.", None),
        ("The parameter system_fingerprint is not supported", None),
        ("Too many consecutive requests", None),
        ("Unknown parameter: 'store'", None),
    ],
)
def test_what_a_complaint_is_about(said: str, wanted: str | None) -> None:
    messages = [{"role": role, "content": role} for role in ("system", "system", "user")]
    assert chat_templates.corrected("free", said, messages, status=400) == wanted
    assert chat_templates.corrected("free", said, messages, status=401) is None
    assert chat_templates.corrected("no_system", said, messages, status=400) is None


async def test_a_reply_does_not_fail_when_its_profile_is_deleted_meanwhile(
    profile: ModelProfile, llm: LlmServer
) -> None:
    llm.template = "gemma"
    model = connect(profile)
    await ModelProfile.objects.all().adelete()
    prompt = Prompt(({"role": "system", "content": "S"}, {"role": "user", "content": "U"}))
    assert (await model.complete(prompt, max_tokens=5)).text == "All right."


def test_the_api_says_what_was_learned(client: Client, user: Any, profile: ModelProfile) -> None:
    ModelProfile.objects.update(chat_template="strict")
    _, key = ApiKey.make(user, "tests")
    (row,) = client.get("/api/models", headers={"Authorization": f"Bearer {key}"}).json()["items"]
    assert row["chat_template"] == "strict"
