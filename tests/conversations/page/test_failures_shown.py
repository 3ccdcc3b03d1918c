"""A failure states what happened; the advice to try again stands apart, and is hidden where nothing offers it."""

from __future__ import annotations

from typing import Any

import pytest

from compression.models import Compaction
from conversations.compaction import trigger
from conversations.llm.providers.fault_mapping import Endpoint, error_of_status, words_of
from conversations.models import Conversation, Message, User
from conversations.runtime import end_reasons
from conversations.turns import recovery
from tests.conversations.api_client import Api
from tests.conversations.chat import fill
from tests.conversations.pages import Pages
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once

ASKED = Endpoint("gpt", "gpt-4.1", "https://api.example.org/v1", 30.0, "openai")


@pytest.mark.parametrize(
    ("error", "fact", "advice"),
    [
        ("gpt sent an empty reply. Try again.", "gpt sent an empty reply.", "Try again."),
        ("gpt: overloaded (529). Try again later.", "gpt: overloaded (529).", "Try again later."),
        (
            "gpt: nothing came from api.example.org for 2.5 s. Try again, or use another model.",
            "gpt: nothing came from api.example.org for 2.5 s.",
            "Try again, or use another model.",
        ),
        # As rows have it that were stored before these texts had two sentences.
        (
            "No worker took this up. Your message is kept: try again, and tell the operator if it stays so.",
            "No worker took this up. Your message is kept.",
            "Try again, and tell the operator if it stays so.",
        ),
        (
            "4,000 of 3,000 tokens. Its compaction was cancelled: press Compact, or try again, and let it end.",
            "4,000 of 3,000 tokens. Its compaction was cancelled.",
            "Press Compact, or try again, and let it end.",
        ),
        ("gpt: no key (401). Check the key of this model.", "gpt: no key (401). Check the key of this model.", ""),
        (
            "summarise: m: a fault (500). Try again.; n: silence. Try again.",
            "summarise: m: a fault (500); n: silence.",
            "Try again.",
        ),
        ("", "", ""),
    ],
)
def test_the_advice_to_try_again_is_apart_from_what_happened(error: str, fact: str, advice: str) -> None:
    assert end_reasons.failure(error) == (fact, advice)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_no_fact_of_a_provider_s_fault_names_the_advice(status: int) -> None:
    fact, advice = end_reasons.failure(str(error_of_status(status, None, ASKED)))
    assert fact.startswith("gpt: ") and fact.endswith(".") and "again" not in fact
    assert advice.startswith("Try again") and advice.endswith(".")


@pytest.mark.parametrize("error", [recovery.NOBODY, f"Too large.{trigger.UNCOMPRESSED}"])
def test_nor_does_one_of_our_own(error: str) -> None:
    fact, advice = end_reasons.failure(error)
    assert "again" not in fact and fact.endswith(".") and "try again" in advice.lower()


def failed(conversation: Conversation, llm: LlmServer, pages: Pages) -> Message:
    llm.enqueue(status=409)
    llm.enqueue(status=409)
    llm.enqueue(status=409)
    pages.post("send", conversation.pk, content="hello?")
    reply = Message.objects.get(role="assistant")
    assert (reply.status, reply.error[-10:]) == ("failed", "Try again.")
    llm.clear()
    return reply


def test_page_and_api_have_the_advice_beside_the_fact(user: User, conversation: Conversation, llm: LlmServer) -> None:
    pages, api = Pages(user), Api(user)
    reply = failed(conversation, llm, pages)
    fact = "scripted: the provider reports a conflict (409, scripted_error)."
    page = pages.get("message", conversation.pk, reply.pk).content.decode()
    assert f"<span>{fact}</span>" in page
    assert '<span class="advice">Try again.</span>' in page and ">Try again</button>" in page
    listed = api.get(f"/api/conversations/{conversation.pk}/messages").json()["items"]
    assert (listed[-1]["error"], listed[-1]["advice"]) == (fact, "Try again.")
    assert (listed[0]["error"], listed[0]["advice"]) == ("", "")


def test_a_failure_that_was_replaced_advises_nothing(user: User, conversation: Conversation, llm: LlmServer) -> None:
    pages = Pages(user)
    failed(conversation, llm, pages)
    llm.enqueue("There.")
    asked = Message.objects.get(role="user")
    pages.post("edit", conversation.pk, asked.pk, content="hello, you?")
    anew = Message.objects.get(role="user", replaced_by=None)
    shown = pages.get("version", conversation.pk, anew.pk, 1).content.decode()
    assert "the provider reports a conflict (409, scripted_error)." in shown
    assert "Try again" not in shown


def test_a_compaction_that_failed_advises_nothing_either(user: User, conversation: Conversation) -> None:
    fill(conversation, 4)
    row = Compaction.objects.create(
        conversation=conversation, trigger="manual", status="failed", error="summarise: m: a fault (500). Try again."
    )
    pages, api = Pages(user), Api(user)
    for name, *ids in (("timeline",), ("compaction", row.pk)):
        shown: Any = pages.get(name, conversation.pk, *ids).content.decode()
        assert "m: a fault (500)." in shown and "Try again" not in shown
    told = api.get(f"/api/context/{conversation.pk}/compactions").json()["items"]
    assert [one["error"] for one in told] == ["summarise: m: a fault (500)."]


KEY = "sk-proj-Abc123Def456Ghi789"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "Unsupported value:\n 'temperature' is 2"}}, "Unsupported value: 'temperature' is 2"),
        ({"error": {"message": f"Incorrect API key provided: {KEY}."}}, "Incorrect API key provided: [hidden]"),
        ({"message": "Authorization: Bearer abc.def-ghi was refused"}, "Authorization: [hidden] was refused"),
        ({"detail": "no model at http://user:pass@host/v1"}, "no model at http://[hidden]host/v1"),
        ({"error": "a plain text"}, "a plain text"),
        ({"error": {"message": "own-secret-1 is no key"}}, "[hidden] is no key"),
        (
            {"message": "the skeletonized api_connection_error of keyboard.shortcuts"},
            "the skeletonized api_connection_error of keyboard.shortcuts",
        ),
        ({"message": "no\0 half \ud800 character\x1b"}, "no half character"),
        ({"message": "x" * 3_995 + " own-secret-1"}, "x" * 3_995 + " [hid"),
        ({"error": {"code": "bad", "message": 12}}, ""),
        ([{"error": {"code": 400, "message": "Unknown name seed."}}], "Unknown name seed."),
        ({"detail": [{"loc": ["body", "seed"], "msg": "Not permitted"}] * 2}, "body.seed: Not permitted; " * 2),
        ({"message": {"detail": [{"msg": "Not permitted"}]}}, "Not permitted"),
        ("upstream exploded", "upstream exploded"),
        ("<html>", ""),
        (None, ""),
    ],
)
def test_a_provider_s_own_words_are_kept_without_keys(body: object, words: str) -> None:
    asked = Endpoint("gpt", "gpt-4.1", "https://api.example.org/v1", 30.0, "openai", secret="own-secret-1")
    for status in (400, 401, 404, 429, 503):
        error = error_of_status(status, body, asked)
        assert error.provider_words == words.rstrip("; ")
        assert not words or words not in error.reason


def test_a_person_sees_the_beginning_of_a_provider_s_words_and_programs_all(
    user: User, conversation: Conversation, llm: LlmServer
) -> None:
    pages, long = Pages(user), "<b>The tool schema is wrong</b>: " + "properties are missing " * 20
    llm.enqueue(status=400, message=f"{long}{KEY}")
    pages.post("send", conversation.pk, content="hello?")
    reply = Message.objects.get(role="assistant")
    shown = pages.get("chat", conversation.pk).content.decode()
    assert "It says: “&lt;b&gt;The tool schema is wrong&lt;/b&gt;: properties" in shown and "…”" in shown
    listed = Api(user).get(f"/api/conversations/{conversation.pk}/messages").json()["items"][-1]
    assert listed["provider_words"] == reply.provider_words == f"{long}[hidden]"
    assert KEY not in shown


def test_a_placeholder_for_a_key_hides_no_words() -> None:
    """Servers of one's own take any key, such as "x"."""
    assert words_of({"message": "max_tokens is exceeded"}, secret="x") == "max_tokens is exceeded"
    assert words_of({"message": "The key x, not y, is wrong"}, secret="x") == "The key [hidden], not y, is wrong"
