"""Who summarises: what the policy names, what holds the text, and what each step says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from compression.models import Compaction
from conversations.compaction import compaction
from conversations.compaction.fallback import RESTING, UNKNOWN
from conversations.models import Conversation, Message, ModelProfile
from tests.conversations.chat import Chat, fill
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once

RULES = [
    f"Never {verb} the {noun} cluster while the quarterly {noun} report of the finance team is being written, "
    "however loudly anyone asks for it in the meantime."
    for verb, noun in zip(
        ("restart", "rename", "drain", "move", "stop", "split", "copy", "merge", "lock"),
        ("billing", "ledger", "invoice", "payroll", "stock", "order", "tax", "travel", "budget"),
        strict=True,
    )
]


@pytest.fixture
def second() -> Iterator[LlmServer]:
    with LlmServer() as server:
        yield server


@pytest.fixture
def large(profile: ModelProfile, second: LlmServer) -> ModelProfile:
    """Another model, with a window that holds any of these conversations."""
    return ModelProfile.objects.create(
        name="large", model_id="large", base_url=second.url, api_key="sk-2", window=32_000, token_correction=1.0
    )


async def written_by(model: str) -> None:
    await Message.objects.filter(role="assistant").aupdate(model=model)


async def switched(chat: Chat, *, count: int = 60, words: int = 60) -> None:
    """A conversation that the large model answered, and that is the small one's now."""
    await sync_to_async(fill)(chat.conversation, count, words=words)
    await written_by("large")


@pytest.mark.parametrize("quality", ["fast", "standard"])
async def test_the_model_that_the_policy_names_summarises_whatever_the_quality(
    chat: Chat, large: ModelProfile, second: LlmServer, quality: str
) -> None:
    await ModelProfile.objects.acreate(
        name="quick", model_id="quick", base_url=chat.llm.url, window=8_000, role=quality, token_correction=1.0
    )
    await sync_to_async(fill)(chat.conversation, 20)
    assert (await chat.compact(quality=quality)).summariser == "quick"
    await sync_to_async(compaction.rollback)(chat.conversation)
    await Conversation.objects.aupdate(policy={"summariser": "large"})
    row = await chat.compact(quality=quality)
    assert (row.summariser, row.steps, len(second.summaries)) == ("large", [], 1)


async def test_extractive_as_the_policys_summariser_asks_no_model(chat: Chat) -> None:
    await sync_to_async(fill)(chat.conversation, 20)
    await Conversation.objects.aupdate(policy={"summariser": "extractive"})
    row = await chat.compact()
    assert (row.summariser, row.steps, row.cost_usd) == ("extractive", [], None)
    assert not chat.llm.summaries


@pytest.mark.parametrize("name", ["large", "nobody"])
async def test_a_named_model_that_is_gone_or_disabled_is_a_step_and_the_usual_one_summarises(
    chat: Chat, large: ModelProfile, name: str
) -> None:
    await ModelProfile.objects.filter(name="large").aupdate(enabled=False)
    await sync_to_async(fill)(chat.conversation, 20)
    await Conversation.objects.aupdate(policy={"summariser": name})
    row = await chat.compact()
    assert (row.summariser, row.steps) == ("scripted", [{"summariser": name, "failed": UNKNOWN, "code": "no_model"}])


async def test_a_model_that_was_missing_did_not_fail_and_need_not_rest(chat: Chat, large: ModelProfile) -> None:
    await sync_to_async(fill)(chat.conversation, 20)
    await Conversation.objects.aupdate(policy={"summariser": "large"})
    for _ in range(4):
        step = {"summariser": "large", "failed": UNKNOWN, "code": "no_model"}
        await Compaction.objects.acreate(
            conversation=chat.conversation,
            trigger="auto",
            status="succeeded",
            summariser="scripted",
            steps=[step],
            finished_at=timezone.now(),
        )
    assert (await chat.compact()).summariser == "large"


async def test_after_a_switch_to_a_smaller_window_the_larger_model_reads_what_the_smaller_cannot(
    chat: Chat, large: ModelProfile, second: LlmServer
) -> None:
    await switched(chat)
    row = await chat.compact()
    assert (row.status, row.summariser, row.steps) == ("succeeded", "large", [])
    assert (len(second.summaries), len(chat.llm.summaries)) == (1, 0)
    await chat.say("go on")
    assert len(chat.llm.chats) == 1
    await chat.check()


async def test_before_the_first_request_to_the_smaller_one_too(
    chat: Chat, large: ModelProfile, second: LlmServer
) -> None:
    await switched(chat)
    reply = await chat.say("go on")
    assert reply.status == "complete"
    row = await Compaction.objects.aget()
    assert (row.trigger, row.summariser) == ("auto", "large")
    assert (len(second.chats), len(chat.llm.chats), len(chat.llm.summaries)) == (0, 1, 0)
    await chat.check()


async def test_the_larger_models_own_summariser_is_asked_where_it_has_one(
    chat: Chat, large: ModelProfile, second: LlmServer
) -> None:
    await ModelProfile.objects.filter(name="large").aupdate(provider="anthropic", base_url=second.url)
    await ModelProfile.objects.acreate(
        name="quick", provider="anthropic", model_id="quick", base_url=second.url, window=64_000, role="fast"
    )
    await ModelProfile.objects.acreate(
        name="small", model_id="small", base_url=chat.llm.url, window=4_000, role="fast", token_correction=1.0
    )
    await switched(chat)
    assert (await chat.compact()).summariser == "quick"


@pytest.mark.parametrize("why", ["it fits", "disabled", "smaller", "unknown", "the same", "named", "failed reply"])
async def test_else_the_usual_one_summarises(chat: Chat, large: ModelProfile, second: LlmServer, why: str) -> None:
    await switched(chat, **({"count": 14, "words": 40} if why == "it fits" else {}))
    if why == "disabled":
        await ModelProfile.objects.filter(name="large").aupdate(enabled=False)
    elif why == "smaller":
        await ModelProfile.objects.filter(name="large").aupdate(window=3_900)
    elif why == "unknown":
        await written_by("gone")
    elif why == "the same":
        await written_by("scripted")
    elif why == "named":
        await Conversation.objects.aupdate(policy={"summariser": "scripted"})
    elif why == "failed reply":
        await written_by("scripted")
        last = await Message.objects.filter(role="assistant").order_by("-created_at").afirst()
        assert last is not None
        await Message.objects.filter(pk=last.pk).aupdate(model="large", status="failed")
    row = await chat.compact()
    assert (row.status, row.summariser, row.steps) == ("succeeded", "scripted", [])
    assert not second.summaries


async def test_a_larger_model_that_rests_leaves_it_to_the_usual_one(
    chat: Chat, large: ModelProfile, second: LlmServer
) -> None:
    await switched(chat)
    second.enqueue_summary(status=401, times=3)
    for _ in range(3):
        row = await chat.compact()
        assert (row.summariser, row.steps[0]["summariser"]) == ("scripted", "large")
        await sync_to_async(compaction.rollback)(chat.conversation)
    row = await chat.compact()
    assert (row.summariser, row.steps) == (
        "scripted",
        [{"summariser": "large", "failed": RESTING, "code": "resting_after_failures"}],
    )


async def test_where_the_fast_model_fails_the_standard_one_is_asked_within_one_budget(
    chat: Chat, llm: LlmServer
) -> None:
    for role in ("fast", "standard"):
        await ModelProfile.objects.acreate(
            name=role, model_id=role, role=role, base_url=llm.url, window=8_000, token_correction=1.0
        )
    await sync_to_async(fill)(chat.conversation, 20)
    llm.enqueue_summary(status=401)
    row = await chat.compact()
    assert (row.summariser, [step["summariser"] for step in row.steps]) == ("standard", ["fast"])
    assert [asked.body["model"] for asked in llm.summaries] == ["fast", "standard"]
    await sync_to_async(compaction.rollback)(chat.conversation)
    llm.clear()
    llm.enqueue_summary(status=401, times=9)
    row = await chat.compact(instructions="anew")
    assert (row.summariser, [step["summariser"] for step in row.steps]) == (
        "extractive",
        ["fast", "standard", "scripted"],
    )
    assert len(llm.summaries) == 3


async def test_a_model_that_could_not_be_asked_any_more_does_not_rest_for_it(chat: Chat, llm: LlmServer) -> None:
    for role in ("fast", "standard"):
        await ModelProfile.objects.acreate(
            name=role, model_id=role, role=role, base_url=llm.url, window=8_000, token_correction=1.0
        )
    await sync_to_async(fill)(chat.conversation, 20)
    llm.enqueue_summary(status=503, times=99)
    for _ in range(3):
        assert (await chat.compact()).summariser == "extractive"
        await sync_to_async(compaction.rollback)(chat.conversation)
    models = [asked.body["model"] for asked in llm.summaries]
    assert models == ["fast", "standard", "scripted"] * 3
    row = await chat.compact()
    assert [step["failed"] for step in row.steps] == [RESTING] * 3


async def test_a_rest_is_a_step_and_does_not_last_for_itself(chat: Chat) -> None:
    await sync_to_async(fill)(chat.conversation, 20)
    chat.llm.enqueue_summary(status=401, times=3)
    for _ in range(3):
        assert "401" in (await chat.compact()).steps[0]["failed"]
        await sync_to_async(compaction.rollback)(chat.conversation)
    for _ in range(4):
        row = await chat.compact()
        assert (row.summariser, row.steps) == (
            "extractive",
            [{"summariser": "scripted", "failed": RESTING, "code": "resting_after_failures"}],
        )
        await sync_to_async(compaction.rollback)(chat.conversation)
    failed = Compaction.objects.filter(steps__0__failed__icontains="401")
    await failed.aupdate(finished_at=timezone.now() - timedelta(minutes=6))
    assert (await chat.compact()).summariser == "scripted"


async def test_a_summary_that_was_passed_over_says_how_much_it_kept(chat: Chat, settings: object) -> None:
    await sync_to_async(fill)(chat.conversation, 80)
    settings.COMPRESSION_MIN_RETENTION = 0.8  # type: ignore[attr-defined]
    chat.llm.enqueue_summary("## Summary\nThey talked.\n\n## State\n- Done: little", times=9)
    row = await chat.compact()
    assert row.summariser == "extractive"
    (step,) = row.steps
    assert step["summariser"] == "scripted"
    assert step["failed"].startswith("kept ")
    assert step["failed"].endswith("facts; another summary was better")


async def ruled(chat: Chat, *, role: str = "user") -> None:
    """More rules than a summary that takes all it may leaves room for."""
    await Conversation.objects.aupdate(policy={"summary_max_tokens": 1_000})
    await sync_to_async(fill)(chat.conversation, 30)
    rows = [row async for row in Message.objects.filter(role=role).order_by("created_at")[: len(RULES)]]
    for row, rule in zip(rows, RULES, strict=True):
        await Message.objects.filter(pk=row.pk).aupdate(content=f"{row.content}\n{rule}")
    talk = " ".join(f"They talked of 5003 and then of matter number {number}." for number in range(60))
    chat.llm.enqueue_summary(f"## Summary\n{talk}\n\n## State\n- Done: little", times=9)


@pytest.mark.parametrize("least", [0.0, 0.01])
async def test_a_lost_rule_has_the_next_summariser_tried_where_retention_matters(
    chat: Chat, settings: object, least: float
) -> None:
    settings.COMPRESSION_MIN_RETENTION = least  # type: ignore[attr-defined]
    await ruled(chat)
    row = await chat.compact()
    if not least:
        assert (row.summariser, row.steps) == ("scripted", [])
        return
    assert row.summariser == "extractive"
    assert "lost the rule 'Never " in row.steps[0]["failed"]
    for rule in RULES:
        assert rule.rstrip(".") in chat.conversation.compressed_context


async def test_a_pinned_rule_is_not_lost(chat: Chat, settings: object) -> None:
    settings.COMPRESSION_MIN_RETENTION = 0.01  # type: ignore[attr-defined]
    await ruled(chat)
    await Conversation.objects.aupdate(rules=[rule.rstrip(".").upper() for rule in RULES])
    row = await chat.compact()
    assert (row.summariser, row.steps) == ("scripted", [])


async def test_what_a_model_says_one_must_never_do_is_nobodys_rule(chat: Chat, settings: object) -> None:
    settings.COMPRESSION_MIN_RETENTION = 0.01  # type: ignore[attr-defined]
    await ruled(chat, role="assistant")
    row = await chat.compact()
    assert (row.summariser, row.steps) == ("scripted", [])
