"""The clients that people have, as they are: a base URL and a key are all that is set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import openai
import pytest

from tests.gateway.caller import MARK, Caller

LONG = 61


async def test_openai_s_own_client_without_blocking(caller: Caller) -> None:
    async with openai.AsyncOpenAI(base_url=caller.url, api_key=caller.served.key) as client:
        messages = caller.history(LONG)
        caller.served.llm.enqueue("One two.")
        stream = await client.chat.completions.create(model="scripted", messages=messages, stream=True)  # type: ignore[arg-type]
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    assert text == "One two."
    assert caller.sent[1]["content"].startswith(MARK)


def test_openai_s_streaming_helper(caller: Caller) -> None:
    with caller.client.chat.completions.stream(model="scripted", messages=caller.history(1)) as stream:  # type: ignore[arg-type]
        stream.until_done()
    assert stream.get_final_completion().choices[0].message.content == "All right."


def test_openai_s_client_tries_again_by_itself(caller: Caller) -> None:
    client = openai.OpenAI(base_url=caller.url, api_key=caller.served.key, max_retries=1)
    caller.served.llm.enqueue(status=429, retry_after="0.1")
    answer = client.chat.completions.create(model="scripted", messages=caller.history(1))  # type: ignore[arg-type]
    assert answer.choices[0].message.content == "All right."
    assert len(caller.served.llm.chats) == 2


@pytest.mark.long
def test_langchain(caller: Caller) -> None:
    langchain = pytest.importorskip("langchain_openai")
    chat = langchain.ChatOpenAI(base_url=caller.url, api_key=caller.served.key, model="scripted", max_retries=0)
    messages = caller.history(LONG)
    told = [(message["role"], message["content"]) for message in messages]
    answer = chat.invoke(told)
    assert answer.content == "All right."
    assert answer.usage_metadata["input_tokens"] > 0
    assert caller.sent[1]["content"].startswith(MARK)
    caller.served.llm.enqueue("One two three.")
    assert (
        "".join(piece.content for piece in chat.stream([*told, ("assistant", "Yes."), ("user", "?")]))
        == "One two three."
    )
    assert caller.served.llm.last_request.text.count(MARK) == 1


def test_langchain_s_tools(caller: Caller) -> None:
    langchain = pytest.importorskip("langchain_openai")

    def weather(city: str) -> str:
        """How the weather is."""
        return f"sunny in {city}"

    chat = langchain.ChatOpenAI(base_url=caller.url, api_key=caller.served.key, model="scripted", max_retries=0)
    chat.bind_tools([weather]).invoke("What is it like in Bern?")
    (tool,) = caller.served.llm.last_request.body["tools"]
    assert tool["function"]["name"] == "weather"


def test_the_llm_command(caller: Caller, tmp_path: Path) -> None:
    model = {"model_id": "site", "model_name": "scripted", "api_base": caller.url, "api_key_name": "site"}
    (tmp_path / "extra-openai-models.yaml").write_text(json.dumps([model]))
    environment = os.environ | {"LLM_USER_PATH": str(tmp_path)}

    def said(*arguments: str) -> str:
        command = [sys.executable, "-m", "llm", *arguments, "--key", caller.served.key]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=60).stdout

    caller.served.llm.enqueue("Streamed well.")
    assert said("-m", "site", "Hello?").strip() == "Streamed well."
    caller.served.llm.enqueue("At once.")
    assert said("-m", "site", "--no-stream", "-c", "And now?").strip() == "At once."
    assert [message["content"] for message in caller.sent] == ["Hello?", "Streamed well.", "And now?"]
