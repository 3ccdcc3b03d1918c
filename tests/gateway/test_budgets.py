"""A call beyond a monthly budget is refused before the model is asked, by OpenAI's code."""

from __future__ import annotations

import openai
import pytest

from tests.gateway.caller import Caller
from tests.servers import wait_until

OF_KEY = "SELECT key_id, user_id, tokens FROM conversations_spending WHERE user_id = ? ORDER BY key_id"


def test_a_call_beyond_the_budget_of_its_key_or_person_reaches_no_model(caller: Caller) -> None:
    caller.key = caller.key_of("thrifty")
    ((person,),) = [row.values() for row in caller.rows("SELECT id FROM auth_user WHERE username = 'thrifty'")]
    caller.ask([{"role": "user", "content": "Hi."}])
    wait_until(lambda: len(caller.rows(OF_KEY, person)) == 2, what="the sums of the call")
    (spent,) = caller.rows("SELECT * FROM conversations_gatewaycall WHERE owner_id = ?", person)
    tokens = spent["prompt_tokens"] + spent["completion_tokens"]
    sums = caller.rows(OF_KEY, person)
    assert [(row["key_id"] is None, row["tokens"]) for row in sums] == [(True, tokens), (False, tokens)]
    asked = len(caller.served.llm.received)
    for table, column, owner in (
        ("conversations_apikey", "monthly_tokens", "user_id"),
        ("auth_user", "monthly_usd", "id"),
    ):
        caller.rows(f"UPDATE {table} SET {column} = 0 WHERE {owner} = ?", person)
        with pytest.raises(openai.APIStatusError) as refusal:
            caller.ask([{"role": "user", "content": "Again."}])
        assert (refusal.value.status_code, refusal.value.code) == (402, "insufficient_quota")
        assert caller.post('{"model": "scripted", "input": "Hi."}', path="/responses").status_code == 402
        counted = caller.post('{"model": "scripted", "input": "Hi."}', path="/responses/input_tokens")
        assert counted.status_code == 200, "counting costs nothing"
        caller.rows(f"UPDATE {table} SET {column} = NULL WHERE {owner} = ?", person)
    assert len(caller.served.llm.received) == asked
    caller.ask([{"role": "user", "content": "Again."}])
