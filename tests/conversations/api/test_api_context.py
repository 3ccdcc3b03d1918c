from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from compression.leases import expiry
from compression.models import Compaction, Snapshot
from conversations.models import Conversation, ModelProfile, User
from tests.conversations.api_client import Api, refused
from tests.conversations.chat import Chat, fill
from tests.conversations.pages import Pages
from tests.llm_server import LlmServer

NOBODY = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def api(user: User) -> Api:
    return Api(user)


@pytest.fixture
def path(conversation: Conversation) -> str:
    return f"/api/context/{conversation.pk}"


def state(conversation: Conversation) -> tuple[Any, ...]:
    conversation.refresh_from_db()
    return (conversation.compressed_context, conversation.compressed_at, conversation.verbatim_ids)


def test_the_context_is_exactly_what_is_sent_next(api: Api, conversation: Conversation, llm: LlmServer) -> None:
    fill(conversation, 6)
    told = api.get(f"/api/conversations/{conversation.pk}/context").json()
    assert (told["compressed_at"], told["checkpoints"]) == (None, [])
    assert set(told["usage"]) >= {"system", "summary", "protected", "live", "total", "window", "percent"}

    api.post(f"/api/conversations/{conversation.pk}/messages", {"content": "Which port?"})
    assert llm.chats[-1].body["messages"] == [*told["messages"], {"role": "user", "content": "Which port?"}]


def test_page_and_api_say_after_how_many_turns_a_compaction_has_paid_for_itself(
    api: Api, conversation: Conversation, user: User
) -> None:
    pages = Pages(user)

    def told() -> tuple[Any, str]:
        place = f"/api/conversations/{conversation.pk}"
        return api.get(f"{place}/context").json(), pages.get("chat", conversation.pk).content.decode()

    fill(conversation, 6)
    data, page = told()
    assert data["breaks_even_turns"] is None and "paid for itself" not in page, "no prices"
    ModelProfile.objects.update(price_input=1, price_cached="0.1", price_output=4, window=100_000)
    conversation.policy = {"max_live_tokens": 10_000, "summary_max_tokens": 500}
    conversation.save()
    data, page = told()
    assert data["compacts_at"] == {"tokens": 8_000, "percent": 8.0, "reason": "live"}
    # 4,000 tokens are condensed and 500 written; 4,000 are read anew at .9 more; each turn reads 4,000 less at .1.
    assert data["breaks_even_turns"] == 24
    assert "has paid for itself after about 24 turns" in " ".join(page.split())


def test_the_context_of_a_compressed_conversation_names_its_checkpoints(
    api: Api, path: str, conversation: Conversation
) -> None:
    fill(conversation, 20)
    api.post(f"{path}/compact")
    told = api.get(f"/api/conversations/{conversation.pk}/context").json()
    conversation.refresh_from_db()
    assert told["compressed_at"] == conversation.compressed_at.isoformat()
    assert told["messages"][1]["content"].startswith("[Compressed Message Summary]")
    first, *_, last = conversation.messages.filter(created_at__lte=conversation.compressed_at)
    (checkpoint,) = told["checkpoints"]
    assert (checkpoint["first_message"], checkpoint["last_message"]) == (str(first.pk), str(last.pk))
    assert 0 < checkpoint["ratio"] < 1


def test_a_compaction_is_a_task_whose_result_can_be_asked_for(api: Api, path: str, conversation: Conversation) -> None:
    fill(conversation, 20)
    response = api.post(f"{path}/compact", {"quality": "standard", "instructions": "Keep ports.", "keep_recent": 2})
    assert response.status_code == 202

    told = api.get(f"/api/tasks/{response.json()['task_id']}/progress").json()
    assert (told["status"], told["percent"], told["eta_seconds"], told["error"]) == ("succeeded", 100, 0, None)
    assert told["result"]["messages_condensed"] == 18
    assert told["result"]["pre_tokens"] > told["result"]["post_tokens"] > 0
    assert told["result"]["reduction_percent"] > 0

    row = Compaction.objects.get()
    assert row.trigger == "api"
    assert row.steering == {"quality": "standard", "instructions": "Keep ports.", "keep_recent": 2}
    listed = api.get(f"{path}/compactions").json()
    assert [item["id"] for item in listed["items"]] == [str(row.pk)]


def test_up_to_ends_the_summary_at_that_message(api: Api, path: str, conversation: Conversation) -> None:
    fill(conversation, 20)
    message = conversation.messages.all()[9]
    api.post(f"{path}/compact", {"up_to": str(message.pk)})
    assert state(conversation)[1] == message.created_at


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"quality": "best"}, "quality"),
        ({"instructions": "x" * 2_001}, "instructions"),
        ({"instructions": "a\0"}, "instructions"),
        ({"instructions": None}, "instructions"),
        ({"keep_recent": -1}, "keep_recent"),
        ({"keep_recent": 101}, "keep_recent"),
        ({"keep_recent": "4"}, "keep_recent"),
        ({"keep_recent": True}, "keep_recent"),
        ({"up_to": "first"}, "up_to"),
        ({"up_to": NOBODY}, "up_to"),
        ({"prompt": "Summarise."}, "prompt"),
    ],
)
def test_a_field_out_of_range_starts_no_compaction(api: Api, path: str, body: dict[str, Any], field: str) -> None:
    assert refused(api.post(f"{path}/compact", body), 400, "invalid")["field"] == field
    assert not Compaction.objects.exists()


def test_up_to_a_message_of_another_conversation_is_refused(api: Api, path: str, user: User) -> None:
    other = Conversation.objects.create(owner=user)
    fill(other, 1)
    body = {"up_to": str(other.messages.get().pk)}
    assert refused(api.post(f"{path}/compact", body), 400, "invalid")["field"] == "up_to"


@pytest.mark.parametrize("act", ["compact", "rollback"])
def test_no_body_means_the_defaults_but_json_must_be_json(
    api: Api, path: str, conversation: Conversation, act: str
) -> None:
    fill(conversation, 20)
    api.post(f"{path}/compact", {})
    refused(api.send("POST", f"{path}/{act}", b""), 400, "invalid")
    assert api.send("POST", f"{path}/{act}", b"", "").status_code in (200, 202)


def test_nothing_to_condense_is_a_skipped_task_with_its_reason(api: Api, path: str) -> None:
    task = api.post(f"{path}/compact").json()["task_id"]
    told = api.get(f"/api/tasks/{task}/progress").json()
    assert (told["status"], told["result"]) == ("skipped", None)
    assert told["error"]


def test_another_compaction_while_one_runs_is_409_and_names_its_task(
    api: Api, path: str, conversation: Conversation
) -> None:
    running = Compaction.objects.create(
        conversation=conversation,
        trigger="manual",
        status="running",
        stage="summarise",
        percent=40,
        lease_expires_at=expiry(),
    )
    assert refused(api.post(f"{path}/compact"), 409, "compaction_running")["task_id"] == str(running.pk)
    told = api.get(f"/api/tasks/{running.pk}/progress").json()
    assert (told["status"], told["stage"], told["percent"]) == ("running", "summarise", 40)
    assert (told["result"], told["error"]) == (None, None)


def test_too_many_compactions_are_429_with_retry_after(api: Api, path: str, conversation: Conversation) -> None:
    Compaction.objects.bulk_create(
        Compaction(conversation=conversation, trigger="api", status="skipped") for _ in range(10)
    )
    response = api.post(f"{path}/compact")
    detail = refused(response, 429, "rate_limited")
    assert 0 < int(response["Retry-After"]) == detail["retry_after"] <= 60


def test_rollback_undoes_the_last_compaction_exactly(api: Api, path: str, conversation: Conversation) -> None:
    fill(conversation, 20)
    before = state(conversation)
    api.post(f"{path}/compact")
    assert state(conversation) != before

    response = api.post(f"{path}/rollback")
    assert response.status_code == 200
    assert response.json()["compressed_at"] is None
    assert response.json()["usage"]["summary"] == 0
    assert state(conversation) == before
    refused(api.post(f"{path}/rollback"), 409, "nothing_to_undo")


def test_a_snapshot_can_be_gone_back_to(api: Api, path: str, conversation: Conversation) -> None:
    fill(conversation, 20)
    api.post(f"{path}/compact")
    compressed = state(conversation)
    api.post(f"{path}/rollback")

    recovery, rollback = api.get(f"{path}/snapshots").json()["items"]
    assert (recovery["purpose"], rollback["purpose"]) == ("recovery", "rollback")
    assert rollback["compaction_id"] == str(Compaction.objects.get().pk)
    response = api.post(f"{path}/rollback", {"snapshot_id": recovery["id"]})
    assert response.json()["snapshot"]["id"] == recovery["id"]
    assert state(conversation) == compressed


@pytest.mark.parametrize(("snapshot_id", "status"), [(NOBODY, 404), ("x", 400), (7, 400)])
def test_a_snapshot_that_is_not_there_is_refused(api: Api, path: str, snapshot_id: Any, status: int) -> None:
    response = api.post(f"{path}/rollback", {"snapshot_id": snapshot_id})
    refused(response, status, "not_found" if status == 404 else "invalid")


def test_a_snapshot_of_another_conversation_is_404(api: Api, path: str, user: User) -> None:
    other = Conversation.objects.create(owner=user)
    snapshot = Snapshot.objects.create(conversation=other, purpose="recovery")
    refused(api.post(f"{path}/rollback", {"snapshot_id": str(snapshot.pk)}), 404, "not_found")


def test_another_persons_task_is_404(api: Api) -> None:
    eve = Conversation.objects.create(owner=User.objects.create_user("eve"))
    row = Compaction.objects.create(conversation=eve, trigger="manual", status="succeeded")
    refused(api.get(f"/api/tasks/{row.pk}/progress"), 404, "not_found")


@pytest.mark.parametrize("part", ["compactions", "snapshots"])
def test_the_logs_come_in_pages_with_constant_queries(
    api: Api, path: str, conversation: Conversation, part: str, django_assert_num_queries: Any
) -> None:
    rows = [Compaction.objects.create(conversation=conversation, trigger="api", status="skipped") for _ in range(5)]
    if part == "snapshots":
        rows = [Snapshot.objects.create(conversation=conversation, purpose="recovery") for _ in range(5)]
    first = api.get(f"{path}/{part}", limit=3).json()
    with django_assert_num_queries(3):
        second = api.get(f"{path}/{part}", limit=3, cursor=first["next"]).json()
    assert second["next"] is None
    listed = [item["id"] for item in first["items"] + second["items"]]
    assert listed == [str(row.pk) for row in reversed(rows)]


@pytest.mark.usefixtures("server_loop")
async def test_a_compaction_runs_on_after_its_request_was_answered(
    api: Api, path: str, conversation: Conversation, llm: LlmServer
) -> None:
    await sync_to_async(fill)(conversation, 20)
    llm.summary_takes(seconds=0.3)
    response = await api.post_async(f"{path}/compact")
    assert response.status_code == 202
    row = await Compaction.objects.aget(pk=response.json()["task_id"])
    assert row.is_active
    async with asyncio.timeout(10):
        while row.is_active:
            await asyncio.sleep(0.02)
            await row.arefresh_from_db()
    assert row.status == "succeeded"


EDITED = "## Summary\nThe port is 6543 now.\n\n## State\n- Done: nothing"


async def test_a_summary_is_edited_and_the_state_of_before_comes_back(
    conversation: Conversation, chat: Chat, api: Api
) -> None:
    context = f"/api/context/{conversation.pk}"
    await sync_to_async(fill)(conversation, 20)
    await chat.compact()
    before = chat.conversation.compressed_context

    def edit() -> None:
        (checkpoint,) = api.get(f"/api/conversations/{conversation.pk}/context").json()["checkpoints"]
        address = f"{context}/checkpoints/{checkpoint['number']}"
        for bad in ("", "no headings", "## Summary\n\n## State\n-", "a\0b"):
            refused(put(api, address, bad), 400, "invalid")
        long = put(api, address, EDITED + " and more" * 5_000)
        assert refused(long, 400, "invalid")["overage"] > 0
        saved = put(api, address, EDITED).json()
        assert saved["summary"] == EDITED
        assert saved["unsupported"] == 0 and saved["citations"][0]["missing"] == []
        refused(put(api, address, EDITED), 409, "not_active")
        refused(put(api, f"{context}/checkpoints/999", EDITED), 409, "not_active")

    await sync_to_async(edit)()
    await chat.say("which port?")
    assert "The port is 6543 now" in chat.llm.last_request.text
    await chat.check()
    items = (await sync_to_async(api.get)(f"{context}/snapshots")).json()["items"]
    recovery = next(item for item in items if item["purpose"] == "recovery")
    await sync_to_async(api.post)(f"{context}/rollback", {"snapshot_id": recovery["id"]})
    await chat.refresh()
    assert chat.conversation.compressed_context == before


async def test_a_snapshot_by_hand_outlives_a_clearing(conversation: Conversation, chat: Chat, api: Api) -> None:
    context = f"/api/context/{conversation.pk}"
    await sync_to_async(fill)(conversation, 20)
    await chat.compact()
    before = chat.conversation.compressed_context
    kept = await sync_to_async(api.post)(f"{context}/snapshots")
    assert (kept.status_code, kept.json()["purpose"]) == (201, "manual")
    cleared = await sync_to_async(api.post)(f"{context}/clear")
    assert cleared.json()["compressed_at"] is None
    await chat.say("all of it?")
    assert len(chat.llm.last_request.messages) == 22
    await sync_to_async(api.post)(f"{context}/rollback", {"snapshot_id": kept.json()["id"]})
    await chat.refresh()
    assert chat.conversation.compressed_context == before
    await chat.say("and now?")
    await chat.check()


def put(api: Api, address: str, summary: str) -> Any:
    return api.client.put(address, json.dumps({"summary": summary}), content_type="application/json")
