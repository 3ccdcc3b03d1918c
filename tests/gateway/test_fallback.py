"""A provider that fails before it answers is asked once more, then another model; some calls are only passed on."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import openai
import pytest

from tests.faults.serving import serving
from tests.gateway.caller import Caller, checkpoint
from tests.gateway.conftest import SETTINGS

PAGE = "https://app.example.org"
SOUND = bytes(range(256)) * 40


class Provider(ThreadingHTTPServer):
    """A server with embeddings and speech, and chat completions that always fail."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str, bytes]] = []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, self.headers["Authorization"], body))
        answers = {
            "/v1/embeddings": ("application/json", b'{"object":"list","data":[{"embedding":[0.5],"index":0}]}'),
            "/v1/audio/speech": ("audio/mpeg", SOUND),
            "/v1/audio/transcriptions": ("application/json", b'{"text":"hello"}'),
        }
        kind, content = answers.get(self.path, ("application/json", b'{"error":{"message":"down"}}'))
        self.send_response(200 if self.path in answers else 503)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> Iterator[Caller]:
    settings = SETTINGS | {
        "GATEWAY_RETRIES": "1",
        "GATEWAY_FALLBACK": "down=gone, down=scripted",
        "GATEWAY_PASS_THROUGH": "embed-*=down, speech=down, whisper=down",
        "GATEWAY_CORS_ORIGINS": PAGE,
    }
    with serving(tmp_path_factory.mktemp("site"), **settings) as served:
        caller = Caller(served)
        caller.run(
            "from conversations.models import ModelProfile\n"
            f"ModelProfile.objects.create(name='down', model_id='x', base_url='{provider.url}', api_key='sk-theirs', "
            "window=4_000)"
        )
        yield caller


@pytest.fixture
def caller(site: Caller, provider: Provider) -> Caller:
    site.served.llm.clear()
    site.rows("DELETE FROM conversations_gatewaycall")
    provider.asked.clear()
    return site


HELLO = [{"role": "user", "content": "Hello."}]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", [{"status": 503}, {"status": 429, "retry_after": "0.1"}])
def test_a_busy_provider_is_asked_once_more(caller: Caller, fault: dict[str, Any], stream: bool) -> None:
    caller.served.llm.enqueue(**fault)
    answer = caller.post(json.dumps({"model": "scripted", "messages": HELLO, "stream": stream}))
    assert answer.status_code == 200
    assert "All right." in answer.text or stream
    assert len(caller.served.llm.chats) == 2


def test_a_provider_that_stays_busy_is_left_alone(caller: Caller) -> None:
    caller.served.llm.enqueue(status=503, times=5)
    assert caller.post(json.dumps({"model": "scripted", "messages": HELLO})).status_code == 502
    assert len(caller.served.llm.chats) == 2
    caller.served.llm.clear()
    caller.served.llm.enqueue(status=429, retry_after="30", times=5)
    answer = caller.post(json.dumps({"model": "scripted", "messages": HELLO}))
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "30")
    assert len(caller.served.llm.chats) == 1


def test_a_refused_request_is_refused_once(caller: Caller) -> None:
    caller.served.llm.enqueue(status=400, message="no such role")
    assert caller.post(json.dumps({"model": "scripted", "messages": HELLO})).status_code == 400
    assert len(caller.served.llm.chats) == 1


@pytest.mark.parametrize("path", ["/chat/completions", "/messages", "/responses"])
@pytest.mark.parametrize("stream", [False, True])
def test_another_model_answers_where_a_provider_is_down(
    caller: Caller, provider: Provider, path: str, stream: bool
) -> None:
    content = {"input": "Hello."} if path == "/responses" else {"messages": HELLO, "max_tokens": 50}
    answer = caller.post(json.dumps({"model": "down", "stream": stream} | content), path=path)
    assert answer.status_code == 200, answer.text
    assert "right" in answer.text
    assert answer.headers["x-chatsite-model"] == "scripted"
    assert len(provider.asked) == 2
    assert len(caller.served.llm.chats) == 1


def test_the_other_model_gets_a_history_that_fits_its_window(caller: Caller) -> None:
    answer = caller.ask(caller.history(80), model="down")
    assert (answer.headers["x-chatsite-model"], checkpoint(answer)) == ("scripted", "made")
    row = caller.call(is_compacted=1)
    assert (row["model"], row["status"]) == ("scripted", 200)


def test_embeddings_and_audio_are_passed_on_as_they_are(caller: Caller, provider: Provider) -> None:
    body = b'{"model": "embed-small",  "input": ["a"], "extra": {"kept": 1}}'
    answer = caller.post(body, path="/embeddings")
    assert answer.json()["data"][0]["embedding"] == [0.5]
    assert provider.asked == [("/v1/embeddings", "Bearer sk-theirs", body)]
    assert caller.post('{"model": "speech", "input": "hi"}', path="/audio/speech").content == SOUND
    said = caller.client.audio.transcriptions.create(model="whisper", file=("a.wav", SOUND))
    assert said.text == "hello"
    assert SOUND in provider.asked[-1][2]
    assert caller.client.embeddings.create(model="embed-small", input="a", encoding_format="float").data


def test_calls_that_cost_unseen_pass_only_by_name(caller: Caller, provider: Provider) -> None:
    for path, body, status in (
        ("/embeddings", '{"model": "other", "input": "a"}', 404),
        ("/embeddings", '{"input": "a"}', 400),
        ("/embeddings", '["a"]', 400),
        ("/embeddings", "{", 400),
        ("/rerank", '{"model": "embed-x"}', 502),
        ("/images/generations", '{"model": "embed-x"}', 404),
    ):
        assert caller.post(body, path=path).status_code == status, (path, body)
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(base_url=caller.url, api_key="cs_no", max_retries=0).embeddings.create(
            model="embed-small", input="a"
        )
    assert [path for path, *_ in provider.asked] == ["/v1/rerank"]


def test_pages_of_allowed_origins_may_call(caller: Caller) -> None:
    asking = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    address = f"{caller.url}/chat/completions"
    allowed = httpx2.options(address, headers=asking | {"Origin": PAGE})
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (204, PAGE)
    assert allowed.headers["access-control-allow-headers"] == "authorization"
    assert "access-control-allow-credentials" not in allowed.headers
    other = httpx2.options(address, headers=asking | {"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in other.headers
    for body in (json.dumps({"model": "scripted", "messages": HELLO}), "{"):
        answer = caller.post(body, Origin=PAGE)
        assert answer.headers["access-control-allow-origin"] == PAGE
        assert "X-Chatsite-Tokens-Before" in answer.headers["access-control-expose-headers"]
        assert "access-control-allow-origin" not in caller.post(body, Origin="https://evil.example").headers


def test_codex_gets_windows_in_its_own_form(caller: Caller) -> None:
    headers = {"Authorization": f"Bearer {caller.served.key}"}
    found = httpx2.get(f"{caller.url}/models?client_version=0.169.0", headers=headers).json()["models"]
    assert {model["slug"]: model["context_window"] for model in found}["scripted"] == 3_400
    assert all(model["base_instructions"] and model["truncation_policy"]["limit"] for model in found)
    assert "data" in httpx2.get(f"{caller.url}/models", headers=headers).json()
