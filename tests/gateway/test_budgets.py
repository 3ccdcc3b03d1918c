"""A call beyond a monthly budget is refused as OpenAI refuses one, before the model is asked."""

from __future__ import annotations

import openai
import pytest

from tests.gateway.caller import Caller


def test_a_call_beyond_the_budget_of_its_key_or_person_reaches_no_model(caller: Caller) -> None:
    caller.ask([{"role": "user", "content": "Hi."}])
    spent = caller.call()
    tokens = spent["prompt_tokens"] + spent["completion_tokens"]
    sums = caller.rows("SELECT key_id, tokens FROM conversations_spending ORDER BY key_id")
    assert [(row["key_id"] is None, row["tokens"]) for row in sums] == [(True, tokens), (False, tokens)]
    asked = len(caller.served.llm.received)
    for table, column in (("conversations_apikey", "monthly_tokens"), ("auth_user", "monthly_usd")):
        caller.rows(f"UPDATE {table} SET {column} = 0")
        with pytest.raises(openai.APIStatusError) as refusal:
            caller.ask([{"role": "user", "content": "Again."}])
        assert (refusal.value.status_code, refusal.value.code) == (402, "insufficient_quota")
        assert caller.post('{"model": "scripted", "input": "Hi."}', path="/responses").status_code == 402
        counted = caller.post('{"model": "scripted", "input": "Hi."}', path="/responses/input_tokens")
        assert counted.status_code == 200, "counting costs nothing"
        caller.rows(f"UPDATE {table} SET {column} = NULL")
    assert len(caller.served.llm.received) == asked
    caller.ask([{"role": "user", "content": "Again."}])
