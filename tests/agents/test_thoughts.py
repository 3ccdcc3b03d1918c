"""What models think before they answer: read apart from the reply, sent back within a turn of tools and no longer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from conversations.agents import turn_thoughts
from conversations.llm.errors import BrokenReply
from conversations.llm.port import Delta, ReportedTokens
from conversations.llm.providers import corrections
from conversations.llm.providers.anthropic import Anthropic
from conversations.llm.providers.openai import OpenAICompatible
from conversations.llm.request import Prompt
from conversations.llm.thinking import required_thoughts, thoughts
from conversations.llm.thinking.thinking_tags import ThinkingTags, split_closed
from conversations.messages.thoughts import Thoughts
from conversations.models import Message, ModelProfile
from tests.agents.asking import PROMPT, QUESTION, SUM, calls_of, heard, model_of
from tests.agents.conftest import ToolChat
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once

SIGNED = {"type": "thinking", "thinking": "Is it? It is.", "signature": "c2lnbmVk"}
CALLED = [
    {"role": "assistant", "content": "", "tool_calls": [
        {"id": "call_0", "type": "function", "function": {"name": SUM[0], "arguments": SUM[1]}}]},
    {"role": "tool", "tool_call_id": "call_0", "content": "51"},
]  # fmt: skip


def told(deltas: list[Delta]) -> tuple[str, str]:
    """(thoughts, text) of a reply, without thoughts that turned out to be none."""
    thought, text = "", ""
    for delta in deltas:
        assert not (delta.thought and delta.text)
        thought = ("" if delta.forgets_thoughts else thought) + delta.thought
        text += delta.text
    return thought, text


class TestReading:
    @pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
    async def test_fields_of_chat_completions_are_no_part_of_the_text(self, llm: LlmServer, field: str) -> None:
        usage = {"prompt_tokens": 9, "completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 5}}
        llm.enqueue("It is.", thoughts="Is it? Hm.", thinks_in=field, usage=usage)
        deltas = await heard(model_of(OpenAICompatible, llm))
        assert told(deltas) == ("Is it? Hm.", "It is.")
        assert deltas[-1].spent == ReportedTokens(9, 7, thought=5)

    @pytest.mark.parametrize("size", [1, 3, 100])
    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            ("<think>hm\n</think>\n\nYes.", ("hm\n", "Yes.")),
            ("\n <think></think>Yes.", ("", "Yes.")),
            ("Yes <think>no</think>.", ("", "Yes <think>no</think>.")),
            ("<think> is how a tag begins.", ("", "<think> is how a tag begins.")),
            ("<thinking>hm</thinking>Yes.", ("hm", "Yes.")),
            ("[THINK]hm[/THINK]Yes.", ("hm", "Yes.")),
            ("<mm:think>hm</mm:think>Yes.", ("hm", "Yes.")),
            ("<thinking>hm</think>Yes.", ("", "<thinking>hm</think>Yes.")),
            (f"{' ' * 1_100}<think>hm</think>Yes.", ("", f"{' ' * 1_100}<think>hm</think>Yes.")),
            ("<thi", ("", "<thi")),
            ("no opening</think>Yes.", ("", "no opening</think>Yes.")),
        ],
    )
    def test_tags_are_thoughts_only_as_a_pair_at_the_head(
        self, said: str, expected: tuple[str, str], size: int
    ) -> None:
        tags = ThinkingTags()
        pieces = [tags.take(said[at : at + size]) for at in range(0, len(said), size)]
        thought = "" if tags.is_open else "".join(thought for thought, _ in pieces)
        assert (thought, "".join(text for _, text in pieces) + tags.rest()) == expected

    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            ("Eight times seven is asked.\n</think>\n\n56.", ("Eight times seven is asked.\n", "56.")),
            ("hm</thinking>Yes.", ("hm", "Yes.")),
            ("The tag `</think>` ends a thought.", ("", "The tag `</think>` ends a thought.")),
            ("Write <think> and </think>.", ("", "Write <think> and </think>.")),
            ("Nothing of it.", ("", "Nothing of it.")),
        ],
    )
    def test_a_closing_tag_alone_ends_thoughts_too(self, said: str, expected: tuple[str, str]) -> None:
        assert split_closed(said) == expected

    async def test_a_tag_that_is_never_closed_is_text_after_all(self, llm: LlmServer) -> None:
        llm.enqueue("<think> begins a thought.", piece=4)
        assert told(await heard(model_of(OpenAICompatible, llm))) == ("", "<think> begins a thought.")

    async def test_anthropic_signs_what_goes_back_with_a_call(self, llm: LlmServer) -> None:
        llm.enqueue("Let me see.", thoughts=SIGNED["thinking"], calls=[SUM])
        deltas = await heard(model_of(Anthropic, llm))
        assert told(deltas) == (SIGNED["thinking"], "Let me see.")
        assert calls_of(deltas) == [SUM]
        text = {"type": "text", "characters": len("Let me see.")}
        assert deltas[-1].returned == {"model": "writer-1", "blocks": [SIGNED, text]}

    @pytest.mark.parametrize("text", ["nul \0", "half \ud83d"])
    async def test_what_no_row_can_hold_does_not_go_back(self, llm: LlmServer, text: str) -> None:
        llm.enqueue("", thoughts=text, calls=[SUM])
        deltas = await heard(model_of(Anthropic, llm))
        assert calls_of(deltas) == [SUM]
        assert deltas[-1].returned is None
        told(deltas)[0].encode()

    async def test_endless_signatures_are_not_read_to_their_end(self, llm: LlmServer) -> None:
        begun = {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}
        delta = {"type": "signature_delta", "signature": "c" * 2**18}
        piece = {"type": "content_block_delta", "index": 0, "delta": delta}
        llm.enqueue(events=[begun, *[piece] * 5])
        with pytest.raises(BrokenReply, match="does not end its reply"):
            await heard(model_of(Anthropic, llm))

    async def test_thoughts_of_a_broken_attempt_are_void(self, llm: LlmServer) -> None:
        llm.enqueue("Never told.", thoughts="one two three four five six", fault="half")
        llm.enqueue("It is.", thoughts="Again.")
        assert told(await heard(model_of(OpenAICompatible, llm))) == ("Again.", "It is.")

    def test_what_is_kept_is_bounded_and_says_so(self) -> None:
        kept = Thoughts()
        for _ in range(3):
            kept.add("x" * 40_000)
        assert kept.text == "x" * thoughts.MAX_THOUGHT_CHARS + thoughts.CUT


class TestGoingBack:
    def prompt(self, returned: dict[str, Any]) -> Prompt:
        return replace(PROMPT, messages=(QUESTION, *CALLED), thoughts=((-2, {"model": "writer-1"} | returned),))

    async def test_signed_blocks_stand_unchanged_before_the_call(self, llm: LlmServer) -> None:
        hidden = {"type": "redacted_thinking", "data": "c2VjcmV0"}
        await heard(model_of(Anthropic, llm), self.prompt({"blocks": [SIGNED, hidden]}))
        asked = llm.last_request.body["messages"][1]["content"]
        assert asked[:2] == [SIGNED, hidden]
        assert [block["type"] for block in asked[2:]] == ["tool_use"]

    async def test_fields_stand_beside_the_calls(self, llm: LlmServer) -> None:
        await heard(model_of(OpenAICompatible, llm), self.prompt({"fields": {"reasoning_content": "Hm."}}))
        assert llm.last_request.body["messages"][1] == CALLED[0] | {"reasoning_content": "Hm."}

    async def test_another_model_does_not_get_them(self, llm: LlmServer) -> None:
        prompt = self.prompt({"blocks": [SIGNED], "model": "writer-2"})
        await heard(model_of(Anthropic, llm), prompt)
        assert "thinking" not in json.dumps(llm.last_request.body["messages"])

    async def test_a_server_that_refuses_them_is_not_sent_them_again(self, llm: LlmServer) -> None:
        prompt, model = self.prompt({"fields": {"reasoning_content": "Hm."}}), model_of(OpenAICompatible, llm)
        llm.enqueue(status=400, message="messages[1]: unknown field reasoning_content")
        await heard(model, prompt)
        await heard(model, prompt)
        assert [CALLED[0] == body["messages"][1] for body in llm.requests] == [False, True, True]


SIGNATURE = {"extra_content": {"google": {"thought_signature": "c2lnbmVk"}}}
REFUSALS = {
    "DeepSeek": "The reasoning_content in the thinking mode must be passed back to the API.",
    "Moonshot": "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
    "Gemini": "Function call is missing a thought_signature in functionCall parts. This is required for tools to work.",
}


class TestRequired:
    async def test_the_signature_of_a_call_goes_back_with_it(self, llm: LlmServer) -> None:
        llm.enqueue("", calls=[SUM], signature="c2lnbmVk")
        last = (await heard(model_of(OpenAICompatible, llm)))[-1]
        assert last.returned == {"model": "writer-1", "calls": {last.calls[0].id: SIGNATURE}}
        returned = last.returned | {"calls": {"call_0": SIGNATURE}}
        prompt = replace(PROMPT, messages=(QUESTION, *CALLED), thoughts=((-2, returned),))
        await heard(model_of(OpenAICompatible, llm), prompt)
        (sent,) = llm.last_request.body["messages"][1]["tool_calls"]
        assert sent == CALLED[0]["tool_calls"][0] | SIGNATURE

    async def test_an_agent_of_the_site_returns_the_signature(self, chat: ToolChat) -> None:
        chat.llm.enqueue("", calls=[SUM], signature="c2lnbmVk")
        chat.llm.enqueue("51.")
        await chat.asks("What is 17 * 3?")
        (called,) = [one for one in chat.llm.last_request.messages if one.get("tool_calls")]
        assert called["tool_calls"][0]["extra_content"] == SIGNATURE["extra_content"]

    @pytest.mark.parametrize("provider", REFUSALS)
    async def test_a_server_that_requires_thoughts_gets_placeholders_from_then_on(
        self, llm: LlmServer, provider: str
    ) -> None:
        prompt, model = replace(PROMPT, messages=(QUESTION, *CALLED)), model_of(OpenAICompatible, llm)
        llm.enqueue(status=400, message=REFUSALS[provider])
        await heard(model, prompt)
        await heard(model, prompt)
        asked = [body["messages"][1] for body in llm.requests]
        assert asked[0] == CALLED[0]
        assert asked[1] == asked[2]
        if provider == "Gemini":
            (call,) = asked[1]["tool_calls"]
            assert call["extra_content"]["google"]["thought_signature"] == required_thoughts.UNSIGNED
        else:
            assert asked[1] == CALLED[0] | {"reasoning_content": required_thoughts.PLACEHOLDER}

    @pytest.mark.parametrize(
        ("complaint", "requirement"),
        [
            *((words, "signatures" if name == "Gemini" else "reasoning") for name, words in REFUSALS.items()),
            ("Unrecognized field: messages[1].reasoning_content", None),
            ("messages[1]: reasoning_content must not be sent", None),
            ("messages.1.content.0.thinking.signature: Field required", None),
        ],
    )
    def test_requirements_are_read_from_refusals(self, complaint: str, requirement: str | None) -> None:
        body = {"messages": [QUESTION, *CALLED]}
        assert corrections.named_in(complaint, body, status=400) == requirement
        if requirement:
            complete = corrections.corrected(body, frozenset({requirement}))
            assert corrections.named_in(complaint, complete, status=400) is None, "it is asked once more, not for ever"

    def test_only_the_first_call_of_a_message_needs_a_signature(self) -> None:
        two = [{"id": "a", "function": {}} | SIGNATURE, {"id": "b", "function": {}}]
        body = {"messages": [{"role": "assistant", "content": "Yes."}, {"role": "assistant", "tool_calls": two}]}
        assert required_thoughts.with_signatures(body) == body

    def test_other_servers_are_sent_no_signatures(self) -> None:
        body = {"messages": [CALLED[0] | {"tool_calls": [CALLED[0]["tool_calls"][0] | SIGNATURE]}]}
        complaint = "Unrecognized request argument: messages[0].tool_calls[0].extra_content"
        assert thoughts.are_refused(complaint, body)
        assert thoughts.without(body)["messages"] == [CALLED[0]]


class TestEffort:
    async def test_a_server_that_knows_no_effort_is_asked_without_it_from_then_on(self, llm: LlmServer) -> None:
        model = model_of(OpenAICompatible, llm, effort="high", most=50_000)
        llm.enqueue(status=400, message="Unrecognized request argument supplied: reasoning_effort")
        await heard(model)
        await heard(model)
        efforts = [(body.get("reasoning_effort"), body["max_tokens"]) for body in llm.requests]
        assert efforts == [("high", 200 + 32_768), (None, 200), (None, 200)]

    async def test_no_thinking_is_minimal_thinking_to_older_models(self, llm: LlmServer) -> None:
        llm.enqueue(status=400, message="reasoning_effort: unsupported value 'none'")
        await heard(model_of(OpenAICompatible, llm, effort="none"))
        assert [body["reasoning_effort"] for body in llm.requests] == ["none", "minimal"]

    async def test_summaries_and_titles_are_thought_about_a_little(self, llm: LlmServer) -> None:
        await model_of(OpenAICompatible, llm, effort="high").complete(PROMPT, max_tokens=50)
        assert llm.last_request.body["reasoning_effort"] == "low"

    async def test_anthropic_thinks_by_itself_or_within_a_budget(self, llm: LlmServer) -> None:
        llm.enqueue(status=400, message="thinking.type: adaptive is not supported by this model")
        await heard(model_of(Anthropic, llm, effort="medium", most=9_000))
        first, then = llm.requests
        assert first["thinking"]["type"] == "adaptive"
        assert first["output_config"] == {"effort": "medium"}
        assert then["thinking"] == {"type": "enabled", "budget_tokens": 8_800}
        assert then["max_tokens"] == 9_000

    async def test_a_turn_whose_thoughts_are_lost_goes_on_without_thinking(self, llm: LlmServer) -> None:
        missing = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`"
        model = model_of(Anthropic, llm, effort="low")
        llm.enqueue(status=400, message=missing)
        await heard(model, replace(PROMPT, messages=(QUESTION, *CALLED)))
        await heard(model)
        kinds = [body["thinking"]["type"] for body in llm.requests]
        assert kinds == ["adaptive", "disabled", "adaptive"], "only this request was sent without"


class TestTurns:
    async def test_a_turn_sends_its_thoughts_back_and_the_next_one_does_not(self, chat: ToolChat) -> None:
        chat.llm.enqueue("", thoughts="I need the sum.", calls=[SUM])
        chat.llm.enqueue("51.", thoughts="There it is.")
        await chat.asks("What is 17 * 3?")
        first, second = chat.llm.requests[-2:]
        assert "reasoning_content" not in json.dumps(first["messages"])
        assert [one.get("reasoning_content") for one in second["messages"][-2:]] == ["I need the sum.", None]
        await chat.say("Thanks.")
        assert "need the sum" not in json.dumps(chat.llm.last_request.body)
        rows = Message.objects.filter(conversation=chat.conversation, role="assistant").order_by("created_at")
        assert [row.thoughts async for row in rows] == ["I need the sum.", "There it is.", ""]

    async def test_a_server_that_requires_earlier_thoughts_answers_the_next_question(self, chat: ToolChat) -> None:
        chat.llm.enqueue("", thoughts="I need the sum.", calls=[SUM])
        chat.llm.enqueue("51.")
        await chat.asks("What is 17 * 3?")
        chat.llm.enqueue(status=400, message=REFUSALS["DeepSeek"])
        chat.llm.enqueue("You are welcome.")
        *_, reply = await chat.asks("Thanks.")
        assert reply.content == "You are welcome."
        thought = [one.get("reasoning_content") for one in chat.llm.last_request.messages if one.get("tool_calls")]
        assert thought == [required_thoughts.PLACEHOLDER]

    async def test_anthropic_gets_its_signed_thoughts_back_until_the_turn_ends(self, chat: ToolChat) -> None:
        await ModelProfile.objects.aupdate(provider="anthropic", model_id="claude-sonnet-4-5", effort="low")
        chat.llm.enqueue("Let me see.", thoughts=SIGNED["thinking"], calls=[SUM])
        chat.llm.enqueue("51.", thoughts="There it is.")
        await chat.asks("What is 17 * 3?")
        await chat.asks("Thanks.")
        first, second, third = chat.llm.requests
        assert [body["thinking"]["type"] for body in (first, second, third)] == ["enabled"] * 3
        assert second["messages"][1]["content"][:2] == [SIGNED, {"type": "text", "text": "Let me see."}]
        assert "thinking" not in json.dumps(third["messages"])

    async def test_a_worker_that_takes_a_turn_over_reads_them_from_the_rows(self, chat: ToolChat) -> None:
        returned = {"model": "m", "fields": {"reasoning": "Hm."}}
        row = await chat.conversation.messages.acreate(
            role="assistant", created_at=chat.conversation.created_at, returned_thoughts=returned
        )
        stored = await sync_to_async(turn_thoughts._stored)([str(row.pk)])
        kept = stored[str(row.pk)]
        assert kept is not None
        assert kept.returned == returned
        assert kept.tokens > 5
