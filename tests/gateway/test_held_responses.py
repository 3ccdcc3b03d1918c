"""A caller of Responses names what it has sent and got: a previous response, or items, in place of the history."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import openai
import pytest
from django.utils import timezone

from conversations.errors import NotFound
from conversations.gateway.openai_responses import held
from conversations.models import HeldResponse, User
from conversations.ops.maintenance import tidy
from tests.gateway.caller import Caller
from tests.gateway.test_responses import WEATHER

pytestmark = pytest.mark.django_db
LOOK = {"role": "user", "content": "What is the weather?"}


def texts(caller: Caller) -> list[str]:
    return [str(message["content"]) for message in caller.sent]


@pytest.mark.parametrize("streams", [False, True])
def test_a_response_that_is_named_brings_its_history(caller: Caller, streams: bool) -> None:
    previous = None
    for number in range(4):
        caller.served.llm.enqueue(f"answer {number}")
        ask: dict[str, Any] = {"model": "scripted", "input": f"question {number}", "previous_response_id": previous}
        if streams:
            answer = list(caller.client.responses.create(stream=True, **ask))[-1].response  # type: ignore[union-attr]
        else:
            answer = caller.client.responses.create(**ask)
        assert (answer.previous_response_id, answer.store) == (previous, True)
        previous = answer.id
    assert texts(caller) == ["question 0", "answer 0", "question 1", "answer 1", "question 2", "answer 2", "question 3"]


def test_a_branch_has_the_history_of_its_own_beginning(caller: Caller) -> None:
    create = caller.client.responses.create
    first = create(model="scripted", input="first")
    for branch in ("left", "right"):
        create(model="scripted", input=branch, previous_response_id=first.id)
        assert texts(caller) == ["first", "All right.", branch]


def test_results_follow_their_calls_though_only_the_response_is_named(caller: Caller) -> None:
    caller.served.llm.enqueue("I look.", calls=[("weather", '{"city": "Bern"}')])
    answer = caller.client.responses.create(model="scripted", input=[LOOK], tools=[WEATHER])  # type: ignore[list-item]
    call = answer.output[-1]
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "Rain \0"}  # type: ignore[union-attr]
    caller.client.responses.create(model="scripted", input=[result], previous_response_id=answer.id, tools=[WEATHER])  # type: ignore[list-item]
    assert [message["role"] for message in caller.sent] == ["user", "assistant", "tool"]
    assert caller.sent[1]["tool_calls"][0]["function"]["name"] == "weather"
    third = caller.client.responses.create(
        model="scripted", input="And now?", previous_response_id=caller.client.responses.create(
            model="scripted", input=[result], previous_response_id=answer.id).id)  # type: ignore[list-item]  # fmt: skip
    assert third.output_text == "All right." and "Rain" in texts(caller)[2]


def test_references_stand_for_the_items_that_they_name(caller: Caller) -> None:
    """The AI SDK's second turn at its defaults: references for all that the model said, whole items for the rest."""
    caller.served.llm.enqueue("I look.", calls=[("weather", "{}"), ("weather", '{"city": "Bern"}')])
    answer = caller.client.responses.create(model="scripted", input=[LOOK], tools=[WEATHER])  # type: ignore[list-item]
    references = [{"type": "item_reference", "id": item.id} for item in answer.output]
    results = [
        {"type": "function_call_output", "call_id": item.call_id, "output": "Rain"}
        for item in answer.output
        if item.type == "function_call"
    ]
    caller.client.responses.create(model="scripted", input=[LOOK, *references, *results], tools=[WEATHER])  # type: ignore[list-item]
    assert [message["role"] for message in caller.sent] == ["user", "assistant", "tool", "tool"]
    assert caller.sent[1]["content"] == "I look." and len(caller.sent[1]["tool_calls"]) == 2


def test_an_item_that_is_named_again_and_again_comes_once(user: User) -> None:
    """Else a request of some megabytes would ask for as many times the longest answer."""
    id = f"resp_{1:032x}"
    held.hold(user.pk, {"input": "one"}, {"id": id, "output": [{"type": "message", "content": "x" * 1_000}]})
    reference = {"type": "item_reference", "id": f"msg_{1:032x}_0"}
    items = held.completed({"input": [reference] * 1_000}, user.pk)["input"]
    assert [item == reference for item in items] == [False, *[True] * 999]


def test_a_history_that_was_named_is_compacted_like_any_other(caller: Caller) -> None:
    previous, long = None, "word " * 400
    for number in range(14):
        caller.served.llm.enqueue(f"answer {number}: port {5000 + number}")
        answer = caller.client.responses.with_raw_response.create(
            model="scripted", input=f"{number}: {long}", previous_response_id=previous
        )
        previous = answer.parse().id
    assert answer.headers["x-chatsite-checkpoint"] in ("made", "hit")
    assert "[Compressed Message Summary]" in texts(caller)[0]
    counted = caller.client.responses.input_tokens.count(model="scripted", input="hi", previous_response_id=previous)
    assert counted.input_tokens > 14 * 400


@pytest.mark.parametrize("missing", ["resp_1", "", 7, "resp_" + "0" * 32, {"id": 1}])
def test_a_response_that_is_not_held_is_refused_by_name(caller: Caller, missing: Any) -> None:
    body = {"model": "scripted", "input": "hi", "previous_response_id": missing}
    answer = caller.post(json.dumps(body), path="/responses")
    if missing == "":
        assert answer.status_code == 200
    else:
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (400, "previous_response_not_found")
        assert error["param"] == "previous_response_id" and "Send the whole input" in error["message"]


def test_an_input_of_a_wrong_type_is_named_before_a_response_is_looked_up(caller: Caller) -> None:
    body = {"model": "scripted", "input": 7, "previous_response_id": "resp_1"}
    assert caller.post(json.dumps(body), path="/responses").json()["error"]["param"] == "input"


def test_store_false_and_other_people_leave_nothing_to_name(caller: Caller) -> None:
    unheld = caller.client.responses.create(model="scripted", input="hush", store=False)
    held_one = caller.client.responses.create(model="scripted", input="mine")
    other = openai.OpenAI(base_url=caller.url, api_key=caller.key_of("stranger"), max_retries=0)
    for client, id in ((caller.client, unheld.id), (other, held_one.id)):
        with pytest.raises(openai.BadRequestError, match="is not held here"):
            client.responses.create(model="scripted", input="hi", previous_response_id=id)
    reference = {"type": "item_reference", "id": held_one.output[0].id}
    other.responses.create(model="scripted", input=[LOOK, reference, LOOK])  # type: ignore[list-item]
    assert "All right." not in str(texts(caller)) and "item_reference" in texts(caller)[1]


def held_now(user: User, number: int, body: dict[str, Any], **fields: Any) -> str:
    id = f"resp_{number:032x}"
    item = {"type": "message", "role": "assistant", "content": f"answer {number}"}
    held.hold(user.pk, body, {"id": id, "output": [item]})
    HeldResponse.objects.filter(pk=held._of(id)[0]).update(**fields)
    return id


def test_a_response_is_held_for_an_hour_after_its_last_use(user: User) -> None:
    late = timezone.now() - HeldResponse.KEPT + timedelta(seconds=20)
    first = held_now(user, 1, {"input": "one"}, used_at=late)
    second = held_now(user, 2, {"input": "two", "previous_response_id": first})
    body = held.completed({"input": "three", "previous_response_id": second}, user.pk)
    assert [item["content"] for item in body["input"]] == ["one", "answer 1", "two", "answer 2", "three"]
    tidy()
    assert HeldResponse.objects.filter(used_at__gt=late).count() == 2  # each was used
    HeldResponse.objects.update(used_at=timezone.now() - HeldResponse.KEPT - timedelta(seconds=1))
    with pytest.raises(held.PreviousNotFound):
        held.completed({"input": "x", "previous_response_id": second}, user.pk)
    tidy()
    assert not HeldResponse.objects.exists()


def test_what_a_caller_carries_itself_is_not_held_twice(user: User) -> None:
    """Requests with items of earlier responses would make the held rows grow with the square of a session."""
    first = held_now(user, 1, {"input": [LOOK]})
    carried = [LOOK, {"type": "message", "id": "msg_1", "role": "assistant", "content": "x"}, LOOK]
    second = held_now(user, 2, {"input": carried})
    assert HeldResponse.objects.get(pk=held._of(second)[0]).input is None
    with pytest.raises(held.PreviousNotFound, match="is not held whole"):
        held.completed({"input": "x", "previous_response_id": second}, user.pk)
    assert held.completed({"input": "x", "previous_response_id": first}, user.pk)["input"][0] == LOOK


def test_a_response_is_read_again_as_it_was_received(caller: Caller) -> None:
    """By a client that polls, and by one that kept the id alone."""
    caller.served.llm.enqueue("I look.", calls=[("weather", '{"city": "Bern"}')])
    answer = caller.client.responses.create(
        model="scripted",
        input=[LOOK],
        tools=[WEATHER],
        instructions="Be brief.",
        metadata={"a": "b"},  # type: ignore[list-item]
    )
    assert caller.client.responses.retrieve(answer.id) == answer
    final = list(caller.client.responses.create(model="scripted", input="hi", stream=True))[-1].response  # type: ignore[union-attr]
    assert caller.client.responses.retrieve(final.id) == final


def test_a_response_that_its_caller_deletes_is_no_longer_there(caller: Caller) -> None:
    client, ask = caller.client, {"model": "scripted", "input": "a secret"}
    first = client.responses.create(**ask)  # type: ignore[call-overload]
    second = client.responses.create(**ask, previous_response_id=first.id)  # type: ignore[call-overload]
    client.responses.delete(first.id)
    assert "a secret" not in str(caller.rows("SELECT * FROM conversations_heldresponse WHERE id = ?", first.id[5:]))
    for gone in (client.responses.retrieve, client.responses.delete):
        with pytest.raises(openai.NotFoundError, match="not found"):
            gone(first.id)
    with pytest.raises(openai.BadRequestError, match="no longer held"):
        client.responses.create(**ask, previous_response_id=second.id)  # type: ignore[call-overload]
    assert client.responses.retrieve(second.id).id == second.id


def test_nobody_else_reads_or_deletes_a_response(caller: Caller) -> None:
    held_one = caller.client.responses.create(model="scripted", input="hi")
    other = Caller(caller.served, key=caller.key_of("mallory")).client
    unheld = caller.client.responses.create(model="scripted", input="hi", store=False)
    for client, id in ((other, held_one.id), (caller.client, unheld.id), (caller.client, held_one.output[0].id)):
        for act in (client.responses.retrieve, client.responses.delete):
            with pytest.raises(openai.NotFoundError, match="not found"):
                act(id)
    with pytest.raises(openai.BadRequestError, match="stream: "):
        caller.client.responses.retrieve(held_one.id, stream=True)
    assert caller.client.responses.retrieve(held_one.id) == held_one


def test_a_response_of_an_earlier_version_is_not_read_in_part(user: User) -> None:
    id = held_now(user, 1, {"input": "one"}, head="")
    with pytest.raises(NotFound):
        held.read(user.pk, id)
    assert held.completed({"input": "two", "previous_response_id": id}, user.pk)["input"][0]["content"] == "one"


def test_a_long_chain_costs_as_many_queries_as_a_short_one(user: User, django_assert_num_queries: Any) -> None:
    previous = None
    for number in range(60):
        previous = held_now(user, number, {"input": f"{number}", "previous_response_id": previous})
        if number in (2, 59):
            with django_assert_num_queries(3):
                body = held.completed({"input": "x", "previous_response_id": previous}, user.pk)
            assert len(body["input"]) == 2 * number + 3
