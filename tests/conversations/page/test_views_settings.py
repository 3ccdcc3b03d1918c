"""The context of a conversation: goal, rules, mode and snapshots, in the page."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from compression.core.values import Steering
from compression.models import Compaction, Snapshot
from conversations.compaction import compaction, emergency, snapshots
from conversations.instructions import goals
from conversations.instructions.conversation_settings import change
from conversations.models import Conversation, Goal, Message, ModelProfile, ToolCall, User
from tests.conversations.chat import START, fill
from tests.conversations.pages import BACKEND, Pages, elements, one_line

pytestmark = pytest.mark.once

ACTS = [
    *("model", "system_prompt", "mode", "goal", "end_goal", "step", "rules", "policy", "take_snapshot", "restore"),
    "fresh",
]
ACTS_OF_ONE = ["regenerate", "edit", "fork", "edit_summary"]


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


def folded(conversation: Conversation) -> Compaction:
    fill(conversation, 20)
    row = compaction.request(conversation, trigger="manual", steering=Steering())
    row.refresh_from_db()
    conversation.refresh_from_db()
    return row


def chosen(response: Any, id: str) -> str:
    """The selected option of a select."""
    found = elements(response).found
    start = next(at for at, (_, attributes) in enumerate(found) if attributes.get("id") == id)
    return next(
        attributes["value"] for tag, attributes in found[start:] if tag == "option" and "selected" in attributes
    )


def test_the_panel_is_a_fragment_and_its_link_leads_to_the_chat(pages: Pages, conversation: Conversation) -> None:
    folded(conversation)
    change(conversation, rules=["Never on Fridays"])
    goals.set_goal(conversation, description="Move alpha", priority="high")
    html = pages.get("context", conversation.pk, htmx=True).content.decode()
    assert "<html" not in html
    assert "Never on Fridays" in html and "Move alpha" in html
    assert "Summarised 1 time." in one_line(html)
    assert "Before a compaction" in html and "1 compaction:" in one_line(html)
    assert " style=" not in html and "<script>" not in html
    opens = f"/c/{conversation.pk}/?context=instructions"
    assert pages.get("context", conversation.pk, htmx=False).headers["Location"] == opens
    for at, asked in (("rules", "?at=rules"), ("", "?at=<b>")):
        page = pages.client.get(f"/c/{conversation.pk}/?context={at or '<b>'}").content.decode()
        assert (asked in page.split('id="dock"')[1].split("</aside>")[0]) is bool(at)


def test_every_field_has_a_name_for_those_who_do_not_see_it(pages: Pages, conversation: Conversation) -> None:
    goals.set_goal(conversation, description="Move alpha")
    change(conversation, rules=["Never on Fridays"])
    pages.post("step", conversation.pk, text="Copy it")
    page = elements(pages.get("context", conversation.pk, htmx=True))
    labels = {attributes["for"] for tag, attributes in page.found if tag == "label" and "for" in attributes}
    for tag, field in page.found:
        if tag in ("input", "textarea", "select") and field.get("type") != "hidden":
            assert field.get("id") in labels or "aria-label" in field or "aria-labelledby" in field, field


def test_another_persons_context_does_not_exist(conversation: Conversation) -> None:
    stranger = Client()
    stranger.force_login(User.objects.create_user("mallory", password="x"), backend=BACKEND)
    assert stranger.get(reverse("context", args=[conversation.pk])).status_code == 404
    assert stranger.get(reverse("edit", args=[conversation.pk, uuid4()])).status_code == 404
    form = {"mode": "developer", "description": "theirs", "rule": "theirs", "threshold": "60", "text": "theirs"}
    for name in ACTS:
        assert stranger.post(reverse(name, args=[conversation.pk]), form).status_code == 404, name
    for name in ACTS_OF_ONE:
        assert stranger.post(reverse(name, args=[conversation.pk, uuid4()]), form).status_code == 404, name
    conversation.refresh_from_db()
    assert (conversation.rules, conversation.policy, conversation.mode) == ([], {}, "assistant")
    assert not Goal.objects.exists() and not Snapshot.objects.exists()


def test_what_changes_something_wants_a_post_with_a_token(conversation: Conversation, user: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(user, backend=BACKEND)
    for name in ACTS:
        address = reverse(name, args=[conversation.pk])
        assert (client.get(address).status_code, client.post(address).status_code) == (405, 403), name


def test_a_goal_is_set_changed_and_reached(pages: Pages, conversation: Conversation) -> None:
    response = pages.post("goal", conversation.pk, description="Move alpha", priority="high")
    assert response.headers["HX-Retarget"] == "#goal-section"
    pages.post("goal", conversation.pk, description="Move alpha to node-7", priority="high")
    goal = Goal.objects.get()
    assert (goal.description, goal.priority, goal.status) == ("Move alpha to node-7", "high", "active")
    assert b"Goal: Move alpha to node-7" in pages.get("chat", conversation.pk).content
    assert b"The goal is reached." in pages.post("end_goal", conversation.pk, status="completed").content
    goal.refresh_from_db()
    assert goal.status == "completed"
    assert b"Goal:" not in pages.get("chat", conversation.pk).content


def test_checkpoints_of_a_goal_are_added_ticked_off_and_removed(pages: Pages, conversation: Conversation) -> None:
    goals.set_goal(conversation, description="Move alpha")
    for text in ("Copy the archive", "Switch"):
        pages.post("step", conversation.pk, text=text)
    pages.post("step", conversation.pk, text="Copy the archive", status="completed")
    assert [(step["text"], step["status"], bool(step["completed_at"])) for step in Goal.objects.get().checkpoints] == [
        ("Copy the archive", "completed", True),
        ("Switch", "pending", False),
    ]
    pages.post("step", conversation.pk, text="Switch", status="pending", remove="1")
    assert [step["text"] for step in Goal.objects.get().checkpoints] == ["Copy the archive"]
    again = pages.post("step", conversation.pk, text="Copy the archive")
    assert again.status_code == 400 and b">There is already a checkpoint with this text" in again.content
    assert Goal.objects.get().checkpoints[0]["status"] == "completed"


def test_decisions_and_files_are_shown_and_locked_ones_are_marked(pages: Pages, conversation: Conversation) -> None:
    goals.set_goal(conversation, description="Move alpha")
    Goal.objects.update(
        decisions=[{"text": "Retries stay at 4", "rationale": "measured", "locked": True}],
        artifacts=[{"path": "deploy/alpha.yaml", "action": "modified"}],
    )
    html = pages.get("context", conversation.pk, htmx=True).content.decode()
    assert "Retries stay at 4" in html and "measured" in html and "Locked" in html
    assert "deploy/alpha.yaml" in html and "modified" in html


@pytest.mark.parametrize(
    ("name", "form", "field", "kept"),
    [
        ("goal", {"description": "", "priority": "high"}, "description", None),
        ("goal", {"description": "x" * 2_001}, "description", "x" * 2_001),
        ("goal", {"description": "Move it", "priority": "urgent"}, "priority", "Move it"),
        ("end_goal", {"status": "paused"}, "status", None),
        ("step", {"text": "y" * 241}, "text", "y" * 241),
        ("step", {"text": "Copy it", "status": "half"}, "status", "Copy it"),
        ("rules", {"rule": "z" * 1_001}, "rule", "z" * 1_001),
        ("rules", {"rule": "  "}, "rule", None),
        ("mode", {"mode": "poet"}, "mode", None),
    ],
)
def test_a_bad_value_is_refused_by_its_name_and_what_was_typed_stays(
    pages: Pages, conversation: Conversation, name: str, form: dict[str, str], field: str, kept: str | None
) -> None:
    goals.set_goal(conversation, description="Move alpha")
    response = pages.post(name, conversation.pk, **form)
    assert response.status_code == 400
    html = response.content.decode()
    assert field in html.split('class="complaint"')[1].split("</p>")[0].lower()
    assert kept is None or kept in html
    assert Goal.objects.get().description == "Move alpha" and Goal.objects.get().checkpoints == []


def test_rules_are_added_edited_in_place_and_removed(pages: Pages, conversation: Conversation) -> None:
    for rule in ("Never on Fridays", "Use UTC", "Answer briefly"):
        pages.post("rules", conversation.pk, rule=rule)
    pages.post("rules", conversation.pk, was="Use UTC", rule="Always use UTC")
    pages.post("rules", conversation.pk, was="Answer briefly", rule="")
    conversation.refresh_from_db()
    assert conversation.rules == ["Never on Fridays", "Always use UTC"]


def test_a_rule_that_is_refused_leaves_the_others_and_keeps_the_words(pages: Pages, conversation: Conversation) -> None:
    change(conversation, rules=["Use UTC"])
    response = pages.post("rules", conversation.pk, was="Use UTC", rule="w" * 1_001)
    assert response.status_code == 400 and "w" * 1_001 in response.content.decode()
    conversation.refresh_from_db()
    assert conversation.rules == ["Use UTC"]


def test_the_mode_is_chosen(pages: Pages, conversation: Conversation) -> None:
    response = pages.post("mode", conversation.pk, mode="debugger")
    assert chosen(response, "mode-select") == "debugger"
    conversation.refresh_from_db()
    assert conversation.mode == "debugger"
    assert b"Debugging mode" in pages.get("chat", conversation.pk).content


def test_a_snapshot_is_taken_and_restored(pages: Pages, conversation: Conversation) -> None:
    fill(conversation, 20)
    assert b"By hand" in pages.post("take_snapshot", conversation.pk).content
    snapshot = Snapshot.objects.get()
    compaction.request(conversation, trigger="manual", steering=Steering())
    response = pages.post("restore", conversation.pk, snapshot=str(snapshot.pk))
    assert response.status_code == 200 and response.headers["HX-Trigger"] == '{"converge": {}}'
    assert b"Before an undo or an edit" in response.content
    conversation.refresh_from_db()
    assert not conversation.is_compressed


def test_a_snapshot_of_another_conversation_is_not_restored(pages: Pages, conversation: Conversation) -> None:
    elsewhere = Conversation.objects.create(owner=conversation.owner)
    foreign = snapshots.take_snapshot(elsewhere)
    assert pages.post("restore", conversation.pk, snapshot=str(foreign.pk)).status_code == 404
    for wrong in ("", "x"):
        refused = pages.post("restore", conversation.pk, snapshot=wrong)
        assert refused.status_code == 400 and b"snapshot" in refused.content


def test_an_emergency_that_folded_no_message_says_what_it_left_out(pages: Pages, conversation: Conversation) -> None:
    folded(conversation)
    one, other = conversation.messages.order_by("-created_at")[:2]
    for message in (one, other):
        ToolCall.objects.create(message=message, call_id="1", name="search", created_at=START, result="port 9001")
    Conversation.objects.update(elided={str(one.pk): 10, str(other.pk): 10})
    Message.objects.filter(pk=other.pk).update(is_protected=True)
    row = Compaction.objects.create(
        conversation=conversation, trigger="emergency", status="succeeded", strategy="elide", pre_tokens=900,
        post_tokens=100, steps=[emergency.step("2 tool results left out", message_ids=[str(one.pk), str(other.pk)])],
    )  # fmt: skip
    listed = elements(pages.get("timeline", conversation.pk, htmx=True)).with_attribute("data-compaction")
    assert listed[0]["data-compaction"] == str(row.pk)
    thread = pages.get("thread", conversation.pk).content.decode()
    assert thread.index(str(row.pk)) < thread.index('data-state="live"')
    assert "Room was made: 2 tool results left out" in one_line(thread)
    assert f"/undo/{row.pk}" in thread.replace("&amp;", "&")
    assert ">Its tool results are left out of requests for now" in thread
    assert "Pinned: sent word for word. Its tool results are left out" in thread
    told = pages.get("compaction", conversation.pk, row.pk, htmx=True).content.decode()
    assert "2 tool results left out." in told and "results of tools left out" in told
    assert f"#message-{one.pk}" in told and f"#message-{other.pk}" in told and "port 9001" in told
    assert "It wrote no summary" not in told and "No message was compacted" not in told


def test_what_a_summary_was_written_from_includes_what_tools_returned(pages: Pages, conversation: Conversation) -> None:
    row = folded(conversation)
    call = {"call_id": "1", "name": "search", "arguments": '{"for": "ports"}', "result": "port 9001 is free"}
    ToolCall.objects.create(message_id=row.first_message, created_at=START, **call)
    shown = pages.get("compaction", conversation.pk, row.pk, htmx=True).content.decode()
    assert 'data-tool="search"' in shown and "port 9001 is free" in shown


def test_cancel_in_an_opened_row_brings_its_words_back(pages: Pages, conversation: Conversation) -> None:
    row = folded(conversation)
    form = elements(pages.get("edit", conversation.pk, row.first_message, htmx=True))
    (cancel,) = [found for found in form.with_attribute("hx-get") if found["hx-get"].endswith("?body")]
    assert cancel["hx-swap"] == "innerHTML"


def test_two_clicks_begin_one_conversation(pages: Pages, conversation: Conversation) -> None:
    folded(conversation)
    panel = elements(pages.get("context", conversation.pk, htmx=True))
    (fresh,) = [found for found in panel.with_attribute("hx-post") if found["hx-post"].endswith("/fresh")]
    assert fresh["hx-sync"] == "this:drop" and "data-once" in fresh


def test_a_refused_rule_is_told_in_words_beside_its_field(pages: Pages, conversation: Conversation) -> None:
    change(conversation, rules=["Use UTC", "Never on Fridays"])
    for was, id in (("Use UTC", "rule-1"), ("", "rule-new")):
        response = pages.post("rules", conversation.pk, rule="x" * 5_000, was=was)
        assert response.status_code == 400
        described = elements(response).by_id(id)["aria-describedby"]
        complaint = response.content.decode().partition(f'id="{described}" role="alert">')[2].partition("<")[0]
        assert complaint.startswith("At most ")


def test_the_page_warns_once_the_model_cannot_be_trusted_any_more(pages: Pages, conversation: Conversation) -> None:
    folded(conversation)
    ModelProfile.objects.update(parameters_billion=3)
    assert b"Start fresh" not in pages.get("chat", conversation.pk).content
    for _ in range(2):
        Compaction.objects.create(conversation=conversation, trigger="auto", status="succeeded")
    html = pages.get("chat", conversation.pk).content.decode()
    assert "Summarised 3 times: details may be lost. Start fresh?" in html
    response = pages.post("fresh", conversation.pk)
    fresh = Conversation.objects.exclude(pk=conversation.pk).get()
    assert response.headers["HX-Redirect"] == reverse("chat", args=[fresh.pk])


def test_a_goal_that_was_emptied_and_refused_stays_empty(pages: Pages, conversation: Conversation) -> None:
    goals.set_goal(conversation, description="Ship the parser.", priority="high")
    refused = pages.post("goal", conversation.pk, description="", priority="normal").content.decode()
    assert "\nShip the parser.</textarea>" not in refused and "\n</textarea>" in refused
    assert '<option value="normal" selected>' in refused
    step = pages.post("step", conversation.pk, text="x" * 500).content.decode()
    assert "\nShip the parser.</textarea>" in step, "another form was refused: the goal is shown as it is stored"
