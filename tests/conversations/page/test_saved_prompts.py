"""Saved prompts: kept in the settings, offered behind a slash, and a person's own."""

from __future__ import annotations

import pytest

from conversations import saved_prompts
from conversations.errors import Invalid
from conversations.models import SavedPrompt, User
from tests.conversations.pages import Pages

TEXT = "Translate into {{language}}:\n<b>{{text}}</b>"


def test_a_prompt_is_saved_changed_offered_and_deleted(user: User) -> None:
    pages = Pages(user)
    html = pages.post("new_prompt", prompt_name=" Translate ", prompt_text=TEXT).content.decode()
    assert "“Translate” is saved." in html
    prompt = SavedPrompt.objects.get()
    assert (prompt.owner, prompt.name, prompt.text) == (user, "Translate", TEXT)
    menu = pages.get("prompts").content.decode()
    assert 'data-text="Translate into {{language}}:\n&lt;b&gt;{{text}}&lt;/b&gt;"' in menu
    pages.post("save_prompt", prompt.pk, prompt_name="Translate it", prompt_text="To {{language}}")
    prompt.refresh_from_db()
    assert (prompt.name, prompt.text) == ("Translate it", "To {{language}}")
    assert "Translate it" in pages.get("settings").content.decode()
    assert "Deleted." in pages.post("delete_prompt", prompt.pk).content.decode()
    assert not SavedPrompt.objects.exists()


@pytest.mark.parametrize(
    ("name", "text", "field"),
    [
        ("", "a", "prompt_name"),
        ("a" * 61, "a", "prompt_name"),
        ("a", " ", "prompt_text"),
        ("a", "a" * 20_001, "prompt_text"),
        ("there", "a", "prompt_name"),
        ("a\x00b", "a", "prompt_name"),
    ],
)
def test_what_cannot_be_saved_is_refused_beside_its_field_and_stays_typed(
    user: User, name: str, text: str, field: str
) -> None:
    saved_prompts.save(user, "there", "kept")
    response = Pages(user).post("new_prompt", prompt_name=name, prompt_text=text)
    html = response.content.decode()
    assert response.status_code == 400
    assert f'id="prompt-new-{field}_error"' in html
    assert SavedPrompt.objects.count() == 1
    if len(text) == 1 and name == "there":
        assert 'value="there"' in html


def test_the_form_that_was_refused_is_open(user: User) -> None:
    first, second = (saved_prompts.save(user, name, name) for name in ("a", "b"))
    html = Pages(user).post("save_prompt", second.pk, prompt_name="a", prompt_text="x").content.decode()
    assert html.count("<details") == 2
    assert html.count("open>") == 1
    assert f"prompt-{second.pk}-prompt_name_error" in html
    assert saved_prompts.prompts_of(user).get(pk=first.pk).text == "a"


def test_a_person_has_so_many(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_prompts, "MOST", 2)
    for name in ("a", "b"):
        saved_prompts.save(user, name, "x")
    with pytest.raises(Invalid, match="at most 2"):
        saved_prompts.save(user, "c", "x")


def test_nobody_has_the_prompts_of_another(user: User) -> None:
    prompt, bob = saved_prompts.save(user, "private", "x"), Pages(User.objects.create_user("bob"))
    assert "private" not in bob.get("prompts").content.decode()
    assert "private" not in bob.get("settings").content.decode()
    assert bob.post("save_prompt", prompt.pk, prompt_name="mine", prompt_text="y").status_code == 404
    bob.post("delete_prompt", prompt.pk)
    assert SavedPrompt.objects.get().name == "private"
    saved_prompts.save(User.objects.get(username="bob"), "private", "another of that name")
