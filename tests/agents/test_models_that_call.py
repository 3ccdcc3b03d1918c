"""Which models are offered tools: known by their ids, set by the administrator, told where people choose."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from conversations.context import transcript
from conversations.context.prompt import assemble
from conversations.llm.known_models import calls_tools
from conversations.llm.profiles import connect, sync_profiles
from conversations.models import Conversation, Message, ModelProfile, User
from conversations.requests.request_log import SentRequest
from tests.agents.conftest import ToolChat
from tests.conversations.chat import START, fill
from tests.conversations.pages import Pages
from tests.llm_server import LlmServer
from tests.llm_templates import complaint

pytestmark = pytest.mark.once

CALLING = """
    gpt-3.5-turbo gpt-4 gpt-4o gpt-4o-mini-2024-07-18 gpt-4.1-nano gpt-4-turbo gpt-5 gpt-5.1 o1 o3 o3-mini o4-mini
    gpt-oss:20b openai/gpt-oss-120b claude-3-haiku-20240307 claude-sonnet-5-5 anthropic/claude-opus-4-6
    gemini-2.5-flash llama3.1:8b meta-llama/Meta-Llama-3.1-70B-Instruct llama-3.3-70b-versatile llama3.2 llama-4-scout
    qwen2.5:7b qwen2.5-coder:32b Qwen/Qwen3-8B Qwen3-Coder-30B-A3B-Instruct qwen3-vl:8b qwq:32b mistral-small-latest
    open-mistral-nemo ministral-8b-latest devstral deepseek-chat command-r-plus glm-4.6 granite3.3:8b
    grok-4 grok-code-fast-1 amazon.nova-pro-v1:0 codestral-latest pixtral-12b phi-4-mini nvidia/nemotron-3-nano
    us.anthropic.claude-sonnet-4-5-20250929-v1:0 kimi-k2.5 minimax-m2.1
"""
NOT_CALLING = """
    default gpt-3.5-turbo-instruct gpt-4-vision-preview gpt-4o-search-preview gpt-4o-transcribe gpt-image-1 o1-mini
    o1-preview o3-deep-research claude-2.1 claude-instant-1.2 llama3:8b llama2 llama3.2:1b llama3.2-vision mistral:7b
    mixtral-8x7b gemma3:27b phi-4 smollm2-135m-instruct deepseek-r1:8b qwen1.5-7b qwen2.5-math-7b qwen2.5vl:7b
    qwen3-embedding Qwen/Qwen3-8B-Base codellama llava:13b gemini-2.5-flash-image text-embedding-3-small
"""


@pytest.mark.parametrize(("calls", "models"), [(True, CALLING), (False, NOT_CALLING)])
def test_which_models_call_tools_is_known_by_their_ids(calls: bool, models: str) -> None:
    assert [model for model in models.split() if calls_tools(model) != calls] == []


def test_a_profile_of_the_environment_calls_as_its_id_says_until_it_is_edited(
    transactional_db: None, settings: Any
) -> None:
    settings.OPENAI_API_KEY, settings.OPENAI_MODEL, settings.OPENAI_FAST_MODEL = "sk-test", "gpt-4o", "o1-mini"
    settings.ANTHROPIC_API_KEY = "sk-ant-test"
    sync_profiles()
    own = ModelProfile.objects.exclude(provider="builtin").order_by("pk")
    assert list(own.values_list("model_id", "calls_tools")) == [
        ("gpt-4o", True), ("o1-mini", False), ("claude-sonnet-5-5", True), ("claude-haiku-4-5", True),
    ]  # fmt: skip
    own.filter(model_id="gpt-4o").update(calls_tools=False)
    sync_profiles()
    assert not own.get(model_id="gpt-4o").calls_tools


def test_the_built_in_model_is_never_offered_tools() -> None:
    assert not ModelProfile(provider="builtin", calls_tools=True).can_call
    assert ModelProfile(provider="openai", calls_tools=True).can_call


def test_it_is_set_in_the_admin_and_told_to_people_and_programs(
    conversation: Conversation, profile: ModelProfile, user: User
) -> None:
    client, pages = Client(), Pages(user)
    client.force_login(user)
    assert "It calls tools." in pages.get("context", conversation.pk, htmx=True).content.decode()
    (told,) = client.get("/api/models").json()["items"]
    assert (told["calls_tools"], told["sees_images"]) == (True, False)
    administrator = Client()
    administrator.force_login(User.objects.create_superuser("root", password="correct horse battery"))
    path = f"/admin/conversations/modelprofile/{profile.pk}/change/"
    fields = ("name", "provider", "model_id", "base_url", "window", "role", "enabled")
    form = {field: getattr(profile, field) for field in fields} | {"api_key": ""}
    assert administrator.post(path, form).status_code == 302
    assert not ModelProfile.objects.get().calls_tools
    assert "It calls tools." not in pages.get("context", conversation.pk, htmx=True).content.decode()
    assert client.get("/api/models").json()["items"][0]["calls_tools"] is False
    administrator.post(path, form | {"calls_tools": "on"})
    assert ModelProfile.objects.get().calls_tools


async def asked(conversation: Conversation, *, may_call: bool = True) -> tuple[int, int]:
    """The tokens of the next request by our own count, and as the server reports them."""
    loaded = await sync_to_async(transcript.load)(conversation.pk)
    prompt = assemble(loaded, may_call=may_call)
    assert prompt.tools
    profile = await ModelProfile.objects.aget()
    *_, last = [delta async for delta in connect(profile).stream(prompt)]
    assert last.spent
    return SentRequest(loaded, prompt, profile).estimated, last.spent.prompt


async def with_calls(conversation: Conversation) -> None:
    """A question, a message with two calls and their results, and a further question."""
    for place, (role, content) in enumerate([("user", "Which port?"), ("assistant", "I look."), ("user", "And?")]):
        message = await Message.objects.acreate(
            conversation=conversation, role=role, content=content, created_at=START + timedelta(seconds=place)
        )
        for number in range(2 if role == "assistant" else 0):
            await message.tool_calls.acreate(
                call_id=str(number), name="calculate", arguments='{"expression": "17 * 3"}', result="51 " * 40,
                created_at=message.created_at,
            )  # fmt: skip
        turn = (await sync_to_async(transcript.load)(conversation.pk)).turns[-1]
        await Message.objects.filter(pk=message.pk).aupdate(
            token_count=transcript.message_tokens(content, turn.tools, role=role)
        )


async def test_our_count_of_a_request_with_tools_is_what_a_server_counts(conversation: Conversation) -> None:
    await with_calls(conversation)
    for may_call in (True, False):
        estimated, reported = await asked(conversation, may_call=may_call)
        assert estimated == reported


async def test_by_anthropics_api_it_differs_by_a_few_words_for_a_definition(conversation: Conversation) -> None:
    await ModelProfile.objects.aupdate(provider="anthropic", api_key="sk-ant-test")
    await with_calls(conversation)
    estimated, reported = await asked(conversation)
    assert 0.9 < reported / estimated <= 1.0


async def test_tools_that_a_server_refuses_are_not_reckoned_with(conversation: Conversation, llm: LlmServer) -> None:
    await with_calls(conversation)
    with_tools, _ = await asked(conversation)
    llm.enqueue(status=400, message="this model does not support tools")
    estimated, reported = await asked(conversation)
    assert estimated == reported < with_tools


@pytest.mark.parametrize("template", ["qwen", "mistral", "mistral-api"])
async def test_calls_and_results_are_valid_by_strict_chat_templates(agent: ToolChat, template: str) -> None:
    agent.llm.template = template
    await sync_to_async(fill)(agent.conversation, 12)
    await agent.compact()
    agent.llm.enqueue("I hand this over.", calls=[("delegate_task", '{"task": "Add 4 and 5."}')])
    agent.llm.enqueue("", calls=[("calculate", '{"expression": "4 + 5"}')])
    agent.llm.enqueue("The sum is 9.")
    agent.llm.enqueue("It is nine.")
    *_, last = await agent.asks("What is 4 and 5?")
    assert (last.status, last.content) == ("complete", "It is nine.")
    assert (await agent.run()).status == "done"
    assert (await ModelProfile.objects.aget()).chat_template == "strict"
    refused = [request for request in agent.llm.received if complaint(template, request)]
    assert len(refused) == 1
    assert {"calculate"} <= {call.name for call in await agent.calls()}
