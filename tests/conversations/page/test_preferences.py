"""How one person wants the pages, and what their new conversations begin with."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client, RequestFactory

from chatsite.error_views import server_error
from conversations import api_keys, preferences
from conversations.models import Conversation, ModelProfile, Preference, User
from tests.conversations.pages import BACKEND, Pages, elements

pytestmark = pytest.mark.once

PASSWORD = "correct horse battery"
CHANGES = ["theme", "typing", "beginning", "password", "count"]


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


def theme_of(response: Any) -> str | None:
    """What the page's root element says, and what browsers that have not read the styles yet are told."""
    html = response.content.decode()
    root = re.search(r"<html[^>]*>", html)
    assert root
    found = re.search(r'data-theme="(\w+)"', root[0])
    scheme = re.search(r'name="color-scheme" content="([\w ]+)"', html)
    assert scheme and scheme[1] == (found[1] if found else "light dark")
    return found[1] if found else None


def sign_in(client: Client, name: str = "alice") -> None:
    response = client.post("/accounts/login/", {"username": name, "password": PASSWORD})
    assert response.status_code == 302


def test_who_has_chosen_nothing_has_it_as_the_site_does(user: User, profile: ModelProfile) -> None:
    found = preferences.preference_of(user)
    assert (found.theme, found.enter_sends, found.mode, found.system_prompt) == ("system", True, "assistant", "")
    assert preferences.begin_with(user) == {"model": profile, "mode": "assistant", "system_prompt": ""}
    assert not Preference.objects.exists()


def test_a_theme_is_on_every_page_from_then_on_without_a_query(
    pages: Pages, conversation: Conversation, django_assert_num_queries: Any
) -> None:
    assert theme_of(pages.get("home")) is None
    response = pages.post("theme", theme="dark")
    assert '"theme": {"theme": "dark"}' in response.headers["HX-Trigger"]
    cookie = response.cookies[preferences.THEME]
    assert (cookie.value, cookie["samesite"], cookie["max-age"]) == ("dark", "Lax", 365 * 86_400)
    assert cookie["httponly"] and cookie["path"] == "/"
    for name, ids in (("home", []), ("chat", [conversation.pk]), ("timeline", [conversation.pk]), ("usage", [])):
        assert theme_of(pages.get(name, *ids)) == "dark", name
    pages.post("logout", htmx=False)
    for path in ("/accounts/login/", "/nothing/here", "/api/docs"):
        assert theme_of(pages.client.get(path)) == "dark", path
    with django_assert_num_queries(1):  # whether there are accounts at all
        pages.client.get("/accounts/login/")


def test_pages_that_tell_of_faults_and_the_administration_have_it(user: User) -> None:
    asked = RequestFactory().get("/")
    asked.COOKIES[preferences.THEME] = "dark"
    assert theme_of(server_error(asked)) == "dark"
    client = Client(enforce_csrf_checks=True)
    client.force_login(user, backend=BACKEND)
    client.cookies[preferences.THEME] = "dark"
    assert theme_of(client.post("/c/new")) == "dark"
    User.objects.update(is_staff=True, is_superuser=True)
    assert theme_of(client.get("/admin/")) == "dark"


@pytest.mark.parametrize("value", ["blue", "", 'dark" onload="alert(1)', "DARK"])
def test_a_cookie_that_says_something_else_says_nothing(user: User, value: str) -> None:
    client = Client()
    client.cookies[preferences.THEME] = value
    client.cookies[preferences.ENTER] = value
    assert theme_of(client.get("/accounts/login/")) is None
    assert preferences.appearance(client.get("/accounts/login/").wsgi_request) == ("system", True)


def test_signing_in_brings_it_to_another_browser_and_takes_the_last_persons_away(
    user: User, django_user_model: Any
) -> None:
    preferences.change(user, theme="light", enter_sends=False)
    django_user_model.objects.create_user("bob", password=PASSWORD)
    shared = Client()
    sign_in(shared)
    assert theme_of(shared.get("/")) == "light"
    assert preferences.appearance(shared.get("/").wsgi_request) == ("light", False)
    shared.post("/accounts/logout/")
    sign_in(shared, "bob")
    assert theme_of(shared.get("/")) is None
    assert preferences.appearance(shared.get("/").wsgi_request) == ("system", True)


def test_the_settings_page_tells_a_browser_what_was_chosen_in_another(pages: Pages, user: User) -> None:
    preferences.change(user, theme="dark")
    assert theme_of(pages.get("home")) is None
    assert theme_of(pages.get("settings")) == "dark"
    assert theme_of(pages.get("home")) == "dark"


def test_the_button_beside_the_list_goes_round(pages: Pages) -> None:
    seen = []
    for _ in range(4):
        button = elements(pages.get("home")).by_id("theme-toggle")
        seen.append(button["aria-label"].partition(".")[0])
        chosen = re.fullmatch(r'\{"theme": "(\w+)"\}', button["hx-vals"])
        assert chosen
        pages.post("theme", theme=chosen[1])
    assert seen == ["Theme: as the system has it", "Theme: light", "Theme: dark", "Theme: as the system has it"]


def test_what_enter_does_is_said_on_the_composer(
    pages: Pages, conversation: Conversation, django_assert_max_num_queries: Any
) -> None:
    def composer() -> dict[str, str]:
        return elements(pages.get("chat", conversation.pk)).by_id("composer")

    assert "data-enter-sends" in composer()
    response = pages.post("typing", enter="breaks")
    assert response.headers["HX-Retarget"] == "#typing-section" and b"Saved." in response.content
    assert "data-enter-sends" not in composer()
    assert elements(pages.get("settings")).by_id("enter-breaks").keys() >= {"checked"}
    pages.post("typing", enter="sends")
    assert "data-enter-sends" in composer()


def test_new_conversations_begin_as_it_was_chosen(pages: Pages, user: User, profile: ModelProfile) -> None:
    first = pages.post("new", htmx=False).headers["Location"]
    other = ModelProfile.objects.create(name="other", model_id="x")
    form = {"model": str(other.pk), "mode": "planning", "system_prompt": "Be brief.\r\nAnd kind.\r\n"}
    assert b"Saved." in pages.post("beginning", **form).content
    second = pages.post("new", htmx=False).headers["Location"]
    assert second != first
    assert pages.post("new", htmx=False).headers["Location"] == second
    made = Conversation.objects.get(pk=second.split("/")[2])
    assert (made.model, made.mode, made.system_prompt) == (other, "planning", "Be brief.\nAnd kind.")
    shown = pages.get("settings").content.decode()
    assert "Be brief.\nAnd kind.</textarea>" in shown
    ModelProfile.objects.filter(name="other").update(enabled=False)
    assert preferences.begin_with(user)["model"] == profile
    ModelProfile.objects.filter(name="other").delete()
    assert preferences.begin_with(user) == {
        "model": profile,
        "mode": "planning",
        "system_prompt": "Be brief.\nAnd kind.",
    }


@pytest.mark.parametrize(
    ("name", "form", "field"),
    [
        ("theme", {"theme": "blue"}, "theme"),
        ("theme", {}, "theme"),
        ("typing", {"enter": "explodes"}, "enter"),
        ("beginning", {"mode": "poet", "system_prompt": "mine"}, "mode"),
        ("beginning", {"mode": "planning", "model": "999", "system_prompt": "mine"}, "model"),
        ("beginning", {"mode": "planning", "system_prompt": "x" * 50_001}, "system_prompt"),
        ("beginning", {"mode": "planning", "system_prompt": "a\0b"}, "system_prompt"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name_and_nothing_is_stored(
    pages: Pages, name: str, form: dict[str, str], field: str
) -> None:
    response = pages.post(name, **form)
    assert response.status_code == 400
    html = response.content.decode()
    assert f"{field}: " in html.lower() if name == "typing" else name == "theme" or f'{field}_error"' in html
    assert form.get("system_prompt", "") in html
    assert not Preference.objects.exists() and preferences.THEME not in response.cookies


def test_what_was_chosen_beside_what_is_refused_stays_chosen(pages: Pages, profile: ModelProfile) -> None:
    form = {"mode": "planning", "model": str(profile.pk), "system_prompt": "a\0b"}
    html = pages.post("beginning", **form).content.decode()
    assert f'<option value="{profile.pk}" selected>' in html and '<option value="planning" selected>' in html


def test_what_was_emptied_beside_what_is_refused_stays_empty(pages: Pages, user: User, profile: ModelProfile) -> None:
    preferences.change(user, model_id=profile.pk, system_prompt="Speak as a pirate.")
    html = pages.post("beginning", mode="poet", model="", system_prompt="").content.decode()
    assert "Speak as a pirate." not in html and f'<option value="{profile.pk}" selected>' not in html
    assert f'<option value="{profile.pk}" selected>' in pages.get("settings").content.decode(), "it is stored as it was"


def test_a_password_is_changed_where_the_old_one_is_known_and_this_session_stays(pages: Pages, user: User) -> None:
    elsewhere = Client()
    sign_in(elsewhere)
    new = {"new_password1": "staple gun symphony", "new_password2": "staple gun symphony"}
    for wrong in (
        {"old_password": "wrong", **new},
        {"old_password": PASSWORD, **new, "new_password2": "another one"},
        {"old_password": PASSWORD, "new_password1": "12345678", "new_password2": "12345678"},
    ):
        response = pages.post("password", **wrong)
        assert response.status_code == 400 and b'role="alert"' in response.content
        assert b"staple gun" not in response.content
    user.refresh_from_db()
    assert user.check_password(PASSWORD)
    assert b"Changed." in pages.post("password", old_password=PASSWORD, **new).content
    user.refresh_from_db()
    assert user.check_password("staple gun symphony")
    assert pages.get("home").status_code == 200
    assert elsewhere.get("/").status_code == 302


def test_keys_end_with_a_changed_password_where_that_is_asked_for(pages: Pages, user: User) -> None:
    key, other = api_keys.create_key(user, "mine").plain, "staple gun symphony"
    for old, new, more in ((PASSWORD, other, {}), (other, PASSWORD, {"ends_keys": "on"})):
        response = pages.post("password", old_password=old, new_password1=new, new_password2=new, **more)
        assert response.status_code == 200
        assert bool(api_keys.let_in(key, address="127.0.0.1")) is not bool(more)
        assert (b"1 API key ended." in response.content) is bool(more)
        assert ("HX-Trigger" in response.headers) is bool(more)


def test_every_field_of_the_page_has_a_name_and_every_section_an_anchor(pages: Pages) -> None:
    page = elements(pages.get("settings"))
    ids = {attributes.get("id") for _, attributes in page.found}
    anchors = {link["href"][1:] for tag, link in page.found if tag == "a" and link["href"].startswith("#")}
    assert len(anchors) == 7 and anchors <= ids
    labels = {attributes["for"] for tag, attributes in page.found if tag == "label" and "for" in attributes}
    for tag, field in page.found:
        if tag in ("textarea", "select") or (tag == "input" and field.get("type") not in ("hidden", "radio", "file")):
            named = field.get("id") in labels or field.keys() & {"aria-label", "aria-labelledby", "aria-hidden"}
            assert named, field


def test_only_a_person_with_a_token_changes_anything_and_only_their_own(user: User, django_user_model: Any) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(user, backend=BACKEND)
    for name in CHANGES:
        assert (strict.get(f"/settings/{name}").status_code, strict.post(f"/settings/{name}").status_code) == (405, 403)
        assert Client().post(f"/settings/{name}").status_code == 302
    bob = django_user_model.objects.create_user("bob", password=PASSWORD)
    Pages(bob).post("theme", theme="dark")
    assert preferences.preference_of(user).theme == "system" and preferences.preference_of(bob).theme == "dark"
