"""Addresses and keys as people copy them from documentation, terminals and other programs."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from conversations.llm.pasted import pasted_address, pasted_key, with_version
from conversations.llm.providers.openai import OpenAICompatible
from conversations.llm.windows.window_queries import ask_window
from conversations.models import ModelProfile, User
from tests.conversations.llm.test_connect_model import form
from tests.conversations.pages import Pages
from tests.faults.providers import completed
from tests.growth import growth, repeated
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once

HOST = "https://host.example/v1"
AZURE = "https://a.openai.azure.com/openai"
DEPLOYMENT = f"{AZURE}/deployments/gpt-4o"
VERSIONED = "api-version=2025-01-01-preview"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (HOST, HOST),
        (f" {HOST}/ \n", HOST),
        (f'"{HOST}"', HOST),
        (f"<{HOST}>;", HOST),
        (f"\u200b{HOST}\ufeff", HOST),
        ("host.example/v1", HOST),
        (f"{HOST}/chat/completions", HOST),
        (f"{HOST}/chat/completions/", HOST),
        (f"{HOST}/models", HOST),
        (f"{HOST}/responses", HOST),
        ("https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1"),
        ("https://api.deepseek.com/chat/completions", "https://api.deepseek.com"),
        ("https://host.example/models/v1", "https://host.example/models/v1"),
        ("https://a.services.ai.azure.com/models", "https://a.services.ai.azure.com/models"),
        ("localhost:11434/v1", "http://localhost:11434/v1"),
        ("LOCALHOST:11434", "http://LOCALHOST:11434"),
        ("192.168.0.9:8080/v1", "http://192.168.0.9:8080/v1"),
        ("gpu-box:8000", "http://gpu-box:8000"),
        ("8.8.8.8", "https://8.8.8.8"),
        (f"{DEPLOYMENT}/chat/completions?{VERSIONED}", f"{DEPLOYMENT}?{VERSIONED}"),
        (f"{AZURE}/responses?api-version=2025-04-01-preview", f"{AZURE}/v1"),
        (f"{AZURE}/v1/responses", f"{AZURE}/v1"),
        ("https://a.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview",
         "https://a.services.ai.azure.com/models?api-version=2024-05-01-preview"),
        ("https://host.example/openai/responses", "https://host.example/openai/responses"),
        ("host.example/v1/?team=a", f"{HOST}?team=a"),
        ("file:///etc/passwd", "file:///etc/passwd"),
        ("ftp://host.example", "ftp://host.example"),
        ("javascript:alert(1)", "javascript:alert(1)"),
        ("nonsense", "nonsense"),
        ("two words", "two words"),
        ("", ""),
    ],
)  # fmt: skip
def test_an_address_is_the_base_url_in_what_was_pasted(text: str, address: str) -> None:
    assert pasted_address(text) == address
    assert pasted_address(pasted_address(text)) == address


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("sk-abc", "sk-abc"),
        ("  sk-abc\n", "sk-abc"),
        ('"sk-abc"', "sk-abc"),
        ("Bearer sk-abc", "sk-abc"),
        ("Authorization: Bearer sk-abc", "sk-abc"),
        ('"Authorization: Bearer sk-abc"', "sk-abc"),
        ("x-api-key: sk-ant-abc", "sk-ant-abc"),
        ("OPENAI_API_KEY=sk-abc", "sk-abc"),
        ('export OPENAI_API_KEY="sk-abc"', "sk-abc"),
        ("$env:OPENAI_API_KEY = 'sk-abc';", "sk-abc"),
        ("set HF_TOKEN=hf_abc", "hf_abc"),
        ("\u200bsk-abc\u2060", "sk-abc"),
        ("id:secret", "id:secret"),
        ("dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA=="),
        ("MONKEY==", "MONKEY=="),
        ("bearer", "bearer"),
        ("a b", "a b"),
        ("", ""),
    ],
)
def test_a_key_is_alone_whatever_was_pasted_with_it(text: str, key: str) -> None:
    assert pasted_key(text) == key
    assert pasted_key(pasted_key(text)) == key


def test_an_address_without_a_path_may_lack_its_version() -> None:
    assert (
        with_version("http://localhost:11434") == with_version("http://localhost:11434/") == "http://localhost:11434/v1"
    )
    assert with_version("https://a.openai.azure.com/") == f"{AZURE}/v1"
    assert [with_version(one) for one in (HOST, "http://h?a=b", "", "http://[")] == [""] * 4


@pytest.mark.parametrize("piece", ["a.", "a-", "/models", '"', "SET KEY=", "Bearer "])
def test_time_grows_with_the_text(piece: str) -> None:
    for read in (pasted_address, pasted_key):
        assert growth(read, repeated(piece), start=100_000, largest=400_000).is_linear


@pytest.fixture
def admin(transactional_db: None) -> Pages:
    return Pages(User.objects.create_superuser("root"))


def test_a_server_is_found_where_the_address_lacks_its_version(admin: Pages, llm: LlmServer) -> None:
    """Ollama's own address is http://localhost:11434, and its API lies below /v1."""
    bare = llm.url.removesuffix("/v1")
    llm.enqueue(status=404)
    admin.post("save_model", **form(llm, address=bare, key="Bearer sk-secret"))
    profile = ModelProfile.objects.get()
    assert (profile.base_url, profile.api_key) == (llm.url, "sk-secret")


class Below(BaseHTTPRequestHandler):
    """A server whose API lies below /v1 alone, as Ollama's."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/v1/models" else 404)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"object": "list", "data": [{"id": "qwen3:8b"}]}' if self.path == "/v1/models" else b"{}")


def test_its_models_are_listed_too(admin: Pages, llm: LlmServer) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Below) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        html = admin.post("list_models", **form(llm, address=f"127.0.0.1:{server.server_port}")).content.decode()
        server.shutdown()
    assert "qwen3:8b" in html


def test_what_fails_both_ways_is_shown_as_it_was_entered(admin: Pages, llm: LlmServer) -> None:
    bare = llm.url.removesuffix("/v1")
    llm.enqueue(status=401, times=2)
    assert "401" in admin.post("save_model", **form(llm, address=bare)).content.decode()
    assert not ModelProfile.objects.exists()


def test_the_query_of_an_address_belongs_to_each_request(admin: Pages, llm: LlmServer) -> None:
    admin.post("save_model", **form(llm, address=f"{llm.url}/chat/completions?{VERSIONED}"))
    profile = ModelProfile.objects.get()
    assert profile.base_url == f"{llm.url}?{VERSIONED}"
    assert {request.path for request in llm.chats} == {f"/v1/chat/completions?{VERSIONED}"}
    llm.facts["/v1/models"] = {"data": [{"id": profile.model_id, "max_model_len": 12_345}]}
    window = async_to_sync(ask_window)(profile)
    assert window and window.tokens == 12_345


@pytest.mark.parametrize(
    ("address", "key", "sent"),
    [
        (DEPLOYMENT, "a1b2", {"api-key": "a1b2"}),
        ("https://a.services.ai.azure.com/models", "a1b2", {"api-key": "a1b2"}),
        (DEPLOYMENT, "eyJ0eXAi.eyJhdWQi.c2ln", {"authorization": "Bearer eyJ0eXAi.eyJhdWQi.c2ln"}),
        ("https://llama.eastus2.models.ai.azure.com/v1", "a1b2", {"authorization": "Bearer a1b2"}),
        ("https://a.openai.azure.com.example/v1", "a1b2", {"authorization": "Bearer a1b2"}),
    ],
)
async def test_azure_gets_the_key_where_it_reads_it(
    llm: LlmServer, monkeypatch: pytest.MonkeyPatch, address: str, key: str, sent: dict[str, str]
) -> None:
    monkeypatch.setenv("HTTP_PROXY", llm.url.removesuffix("/v1"))
    url = f"{address.replace('https', 'http')}?{VERSIONED}"
    model = OpenAICompatible(name="Writer", model="gpt-4o", base_url=url, api_key=key, timeout=5)
    assert await completed(model)
    (request,) = llm.chats
    assert request.path == f"{address.replace('https', 'http')}/chat/completions?{VERSIONED}"
    assert {name: request.headers[name] for name in ("api-key", "authorization") if name in request.headers} == sent


def test_a_server_that_is_silent_is_asked_at_one_address(
    admin: Pages, llm: LlmServer, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MODEL_TIMEOUT_SECONDS = 1
    monkeypatch.setattr("conversations.page.views.models.QUICK_SECONDS", 0.5)
    llm.enqueue(fault="stall", times=2)
    assert (
        "Save it all the same"
        in admin.post("save_model", **form(llm, address=llm.url.removesuffix("/v1"))).content.decode()
    )
    assert len(llm.chats) == 1


@pytest.mark.parametrize("text", ["{url}/chat/completions", " {url}/ "])
def test_the_administration_reads_them_too(admin: Pages, llm: LlmServer, text: str) -> None:
    values: dict[str, Any] = {
        "name": "Mine", "role": "chat", "provider": "openai", "base_url": text.format(url=llm.url),
        "api_key": "OPENAI_API_KEY=sk-secret", "model_id": "scripted", "window": "8192", "enabled": "on",
    }  # fmt: skip
    response = admin.client.post("/admin/conversations/modelprofile/add/", values)
    assert response.status_code == 302, response.content.decode()[:3_000]
    profile = ModelProfile.objects.get()
    assert (profile.base_url, profile.api_key) == (llm.url, "sk-secret")
