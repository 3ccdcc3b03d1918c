"""The administrator's page of a model: what it takes, and whether the model answers."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client

from conversations.admin.profiles import LEARNED, ModelProfileForm, connection_notice
from conversations.llm.port import ReportedTokens
from conversations.llm.probes import connection_test
from conversations.llm.probes.connection_test import ConnectionTest
from conversations.models import ModelProfile, User
from tests import llm_windows
from tests.llm_server import LlmServer, closed_port

pytestmark = pytest.mark.once

LIST = "/admin/conversations/modelprofile/"
KEY = "sk-test"


@pytest.fixture
def client(transactional_db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="correct horse battery"))
    return client


def path_of(profile: ModelProfile) -> str:
    return f"{LIST}{profile.pk}/change/"


def posted(profile: ModelProfile, **changes: Any) -> dict[str, Any]:
    fields = ("name", "provider", "model_id", "base_url", "window", "role", "is_local", "enabled", "chat_template")
    opened = {f"initial-{field}": getattr(profile, field) for field in LEARNED}
    return {field: getattr(profile, field) for field in fields} | opened | {"api_key": ""} | changes


def outcome(client: Client, profile: ModelProfile, **changes: Any) -> str:
    """What the page says after the form was saved and the model asked."""
    response = client.post(path_of(profile), posted(profile, _test="1", **changes), follow=True)
    assert response.redirect_chain == [(path_of(profile), 302)]
    page = unescape(response.content.decode())
    assert KEY not in page
    return " ".join(page.partition('class="messagelist"')[2].partition("</ul>")[0].split())


def test_a_model_that_answers_is_told_with_its_words_time_tokens_and_price(
    client: Client, profile: ModelProfile, llm: LlmServer
) -> None:
    ModelProfile.objects.update(token_correction=1.5)
    usage = {"prompt_tokens": 21, "completion_tokens": 3, "total_tokens": 24}
    llm.enqueue("Hello <b>there</b>", usage=usage)
    page = outcome(client, profile, price_input="2", price_output="8")
    assert 'class="success"><b>scripted</b> answered in' in page
    assert ": “Hello <b>there</b>” 21 tokens in and 3 out, it reports;" in page
    assert "our count is 10, corrected (× 1.5) 15. It cost $0.000066." in page
    (asked,) = llm.chats
    assert asked.body["max_tokens"] == connection_test.MAX_TOKENS and asked.headers["authorization"] == f"Bearer {KEY}"
    profile.refresh_from_db()
    assert profile.token_correction == 1.5


def test_what_a_model_says_is_shown_and_never_run_and_never_the_key(
    client: Client, profile: ModelProfile, llm: LlmServer
) -> None:
    llm.models = ["<script>alert(1)</script>", f"leaks-{KEY}", "good"]
    llm.enqueue(f"<script>alert(2)</script> your key is {KEY}")
    response = client.post(path_of(profile), posted(profile, _test="1"), follow=True)
    page = response.content.decode()
    assert "<script>alert" not in page and KEY not in page
    assert "&lt;script&gt;alert(2)" in page and "your key is …" in page
    assert '<option value="good">' in page


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"status": 401, "message": f"bad key {KEY}"}, "the provider refused the API key (401, scripted_error)"),
        ({"fault": "html"}, "sent a web page. Check the base URL."),
        ({"status": 429, "retry_after": "9"}, "too many requests for the provider (429); it asks to wait 9 seconds"),
        ({"status": 500}, "the provider has a fault (500, scripted_error)"),
        ({"fault": "no_choices"}, "no reply"),
    ],
)
def test_what_is_wrong_is_told_after_one_request(
    client: Client, profile: ModelProfile, llm: LlmServer, answer: dict[str, Any], words: str
) -> None:
    llm.enqueue(**answer)
    page = outcome(client, profile)
    assert 'class="error"' in page and words in page
    assert len(llm.chats) == 1


def test_a_model_that_is_not_there_comes_with_those_that_are(
    client: Client, profile: ModelProfile, llm: LlmServer
) -> None:
    llm.models = [f"model-{number:02}" for number in range(14)]
    llm.enqueue(status=404)
    page = outcome(client, profile)
    assert 'does not know the model "scripted" (404, scripted_error)' in page
    assert "The server offers model-00, model-01," in page and "model-11 and 2 more." in page
    offered = client.get(path_of(profile)).content.decode()
    assert 'list="offered-models"' in offered and '<option value="model-13">' in offered


def test_a_server_that_cannot_be_reached_is_told_from_a_host_that_is_not_known(
    client: Client, profile: ModelProfile
) -> None:
    with closed_port() as url:
        assert "cannot be reached: nothing listens there." in outcome(client, profile, base_url=url, api_key=KEY)
    page = outcome(client, profile, base_url="http://no-such-host.invalid/v1", api_key=KEY)
    assert "no-such-host.invalid cannot be reached: no host of that name is known." in page


def test_a_model_that_is_silent_is_not_waited_for_longer_than_it_may_take(
    client: Client, profile: ModelProfile, llm: LlmServer, settings: Any
) -> None:
    settings.MODEL_TIMEOUT_SECONDS = 0.3
    for fault in ("stall", "half_stall"):
        llm.enqueue("Hello there, how are you?", fault=fault)
        assert "1 second" in outcome(client, profile)


def test_a_model_that_thinks_first_has_answered(client: Client, profile: ModelProfile, llm: LlmServer) -> None:
    llm.enqueue("", finish_reason="length")
    page = outcome(client, profile)
    assert "<b>scripted</b> answered in" in page and "spent all the tokens of this test on thoughts." in page


def test_anthropics_api_is_tested_too(client: Client, profile: ModelProfile, llm: LlmServer) -> None:
    llm.enqueue("Hello!")
    assert "</b> answered in" in outcome(client, profile, provider="anthropic", api_key=KEY)
    assert llm.chats[-1].path == "/v1/messages"
    llm.models = ["claude-x"]
    llm.enqueue(status=404)
    assert "The server offers claude-x." in outcome(client, profile, provider="anthropic")


def test_the_form_is_saved_before_it_is_tested_and_no_transaction_waits(
    client: Client, profile: ModelProfile, llm: LlmServer
) -> None:
    go_on = Event()
    llm.enqueue("Hello!", holds={"Hello": go_on})

    def test_it() -> None:
        try:
            outcome(client, profile, model_id="another")
        finally:
            connection.close()

    with ThreadPoolExecutor() as threads:
        testing = threads.submit(test_it)
        try:
            llm.wait_for(lambda server: bool(server.chats))
            # Another connection sees what is saved, and may write, while the model is silent.
            assert ModelProfile.objects.filter(pk=profile.pk, model_id="another").update(name="free") == 1
        finally:
            go_on.set()
        testing.result(30)
    assert llm.chats[-1].body["model"] == "another"
    refused = client.post(path_of(profile), posted(profile, _test="1", window=1))
    assert refused.status_code == 200 and len(llm.chats) == 1


def test_a_new_model_is_saved_and_tested_at_once(client: Client, profile: ModelProfile, llm: LlmServer) -> None:
    llm.enqueue("Hello!")
    form = posted(profile, name="second", api_key="sk-new", _test="1")
    page = client.post(f"{LIST}add/", form, follow=True).content.decode()
    assert "<b>second</b> answered in" in page and "sk-new" not in page
    assert llm.chats[-1].headers["authorization"] == "Bearer sk-new"


def test_the_list_tests_several_at_the_same_time(client: Client, profile: ModelProfile, llm: LlmServer) -> None:
    other = ModelProfile.objects.create(name="other", model_id="x", base_url=llm.url, api_key="k")
    llm.enqueue("Hello!", times=2, delay=0.4)
    action = {"action": "test_connection", "_selected_action": [str(profile.pk), str(other.pk)]}
    page = client.post(LIST, action, follow=True).content.decode()
    assert "<b>scripted</b> answered in" in page and "<b>other</b> answered in" in page


def test_only_who_may_change_models_may_have_them_tested(profile: ModelProfile, llm: LlmServer) -> None:
    onlooker = User.objects.create_user("onlooker", password="x", is_staff=True)
    onlooker.user_permissions.add(Permission.objects.get(codename="view_modelprofile"))
    client = Client()
    client.force_login(onlooker, backend="django.contrib.auth.backends.ModelBackend")
    page = client.get(path_of(profile)).content.decode()
    assert "scripted" in page and 'name="_test"' not in page
    assert client.post(path_of(profile), posted(profile, _test="1")).status_code == 403
    action = {"action": "test_connection", "_selected_action": [str(profile.pk)]}
    client.post(LIST, action)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.create_superuser("root", password="x"))
    assert strict.post(path_of(profile), posted(profile, _test="1")).status_code == 403
    assert strict.get(f"{path_of(profile)}?_test=1").status_code == 200
    assert llm.chats == []


def test_a_test_is_logged_with_figures_and_without_words(
    client: Client, profile: ModelProfile, llm: LlmServer, caplog: pytest.LogCaptureFixture
) -> None:
    llm.enqueue("Hello you")
    with caplog.at_level(logging.INFO, logger="conversations.admin.profiles"):
        outcome(client, profile)
    (line,) = [record for record in caplog.records if record.name == "conversations.admin.profiles"]
    assert (line.getMessage(), line.model, line.status) == ("model tested", "scripted", "answered")
    assert "Hello you" not in str(line.__dict__) and KEY not in str(line.__dict__)


def test_what_was_not_reported_is_not_made_up() -> None:
    profile = ModelProfile(name="quiet", token_correction=1.25)
    words = connection_notice(ConnectionTest(profile, "", "Hi", 1_200, 10, None, ()))
    assert words.startswith(
        "<b>quiet</b> answered in 1.2 s: “Hi” It reports no tokens; our count is 10, corrected (× 1.25)"
    )
    assert "The cost is not known." in words
    assert "not known" in connection_notice(ConnectionTest(profile, "", "Hi", 1, 10, ReportedTokens(5, 5), ()))


@pytest.mark.parametrize("field", ["price_input", "price_cached", "price_output", "parameters_billion"])
def test_no_price_is_negative(profile: ModelProfile, field: str) -> None:
    form = ModelProfileForm(posted(profile, **{field: "-1"}), instance=profile)
    assert list(form.errors) == [field]


def test_a_model_of_the_environment_says_what_a_start_sets_again(client: Client, profile: ModelProfile) -> None:
    again = "at each start its variables set this again"
    assert again not in client.get(path_of(profile)).content.decode()
    ModelProfile.objects.update(from_environment=True)
    assert again in client.get(path_of(profile)).content.decode()


def test_it_is_set_whether_a_model_sees_images(client: Client, profile: ModelProfile) -> None:
    client.post(path_of(profile), posted(profile, sees_images="on"))
    assert ModelProfile.objects.get().sees_images


def test_the_chat_template_that_was_learned_is_shown_changed_and_told_by_the_test(
    client: Client, profile: ModelProfile, llm: LlmServer
) -> None:
    ModelProfile.objects.update(chat_template="strict")
    profile.refresh_from_db()
    page = client.get(path_of(profile)).content.decode()
    assert '<option value="strict" selected>' in page and "Learned when a server refuses" in page
    assert "Chat template: strict: one system message" in outcome(client, profile)
    assert "Chat template" not in outcome(client, profile, chat_template="free")
    profile.refresh_from_db()
    assert profile.chat_template == "free"


@pytest.mark.parametrize("changes", [{"model_id": "other"}, {"base_url": "http://127.0.0.1:9/v1"}])
def test_what_was_learned_of_a_model_is_forgotten_with_it(
    client: Client, profile: ModelProfile, changes: dict[str, str]
) -> None:
    ModelProfile.objects.update(chat_template="strict")
    profile.refresh_from_db()
    client.post(path_of(profile), posted(profile, window=5_000))
    profile.refresh_from_db()
    assert profile.chat_template == "strict"
    client.post(path_of(profile), posted(profile, api_key="sk-again", **changes))
    profile.refresh_from_db()
    assert profile.chat_template == "free"
    client.post(path_of(profile), posted(profile, model_id="third", chat_template="no_system"))
    profile.refresh_from_db()
    assert profile.chat_template == "no_system", "said for the new one"


def test_the_page_says_how_and_when_the_window_became_known(
    client: Client, profile: ModelProfile, llm: LlmServer
) -> None:
    assert "Set by hand" in client.get(path_of(profile)).content.decode()
    llm.facts = llm_windows.ollama("scripted", loaded=3_000)
    page = outcome(client, profile)
    assert "Window: 3,000 tokens. Asked of Ollama, in place of 4,000, " in page
    profile.refresh_from_db()
    assert (profile.window, profile.window_source) == (3_000, "asked")
    assert "Asked of Ollama, in place of 4,000" in client.get(path_of(profile)).content.decode()
    assert "asked of its server" in client.get(LIST).content.decode()
    assert "The site asks a server of your own" in client.get(f"{LIST}add/").content.decode()


def test_a_window_that_is_changed_is_set_by_hand_and_one_of_another_model_is_learned_anew(
    client: Client, profile: ModelProfile, llm: LlmServer
) -> None:
    ModelProfile.objects.update(window_source="counted", window_replaced=9_000, window_evidence={"low": [4_000]})
    client.post(path_of(profile), posted(profile, window="6000"))
    profile.refresh_from_db()
    assert (profile.window, profile.window_source) == (6_000, "hand")
    assert (profile.window_replaced, profile.window_evidence) == (None, {})
    ModelProfile.objects.update(window_source="counted", window_replaced=9_000)
    client.post(path_of(profile), posted(profile, model_id="llama-3.1-8b-instruct"))
    profile.refresh_from_db()
    assert (profile.window, profile.window_source, profile.window_replaced) == (131_072, "name", None)
    assert llm.asked and not llm.chats


def test_a_form_overwrites_nothing_that_was_learned_while_it_was_open(
    client: Client, profile: ModelProfile, llm: LlmServer
) -> None:
    page = client.get(path_of(profile)).content.decode()
    assert 'name="initial-window" value="4000"' in page and 'name="initial-chat_template"' in page
    opened = posted(profile, name="renamed")
    ModelProfile.objects.update(window=3_000, window_source="asked", chat_template="no_system")
    client.post(path_of(profile), opened)
    profile.refresh_from_db()
    assert (profile.name, profile.window, profile.window_source) == ("renamed", 3_000, "asked")
    assert profile.chat_template == "no_system"


def test_a_new_model_without_a_window_of_its_own_is_asked_for_it(client: Client, llm: LlmServer, db: None) -> None:
    llm.facts = llm_windows.llama_cpp(20_000)
    new = ModelProfile(name="new", model_id="unknown", base_url=llm.url)
    client.post(f"{LIST}add/", posted(new))
    made = ModelProfile.objects.get(name="new")
    assert (made.window, made.window_source) == (20_000, "asked")
