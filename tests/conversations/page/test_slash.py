"""Which texts are commands of the composer, and what the page's forms do with them."""

from __future__ import annotations

from contextlib import suppress

import pytest

from conversations.errors import Invalid
from conversations.models import Conversation, User
from conversations.turns.slash_commands import is_help, require_text
from tests.conversations.chat import fill
from tests.conversations.pages import Pages
from tests.growth import growth, repeated


@pytest.mark.parametrize(
    "typed",
    [
        "/foo",
        "/foo ",
        "/foo\n",
        "/foo all of it, please!",
        "/Compct keep {x: 1}",
        "/compact-all",
        "/help me",
        "/hlep",
        "/compact: the ports",
    ],
)
def test_a_command_that_there_is_not_is_refused(typed: str) -> None:
    with pytest.raises(Invalid, match="To send it as text, begin with a space"):
        require_text(typed)


@pytest.mark.parametrize(
    "typed",
    [
        "/etc/hosts is wrong",
        "/etc/hosts",
        "/usr/bin and /etc",
        "/ is full",
        "/",
        "//",
        "// a comment",
        "/* a comment */",
        "/regex/g",
        "/2 of it",
        "/foo { return 1; }",
        "/foo\nx = 1",
        " /foo",
        "\n/foo",
        "and /foo",
        "/foo.txt is there",
        "/" + "x" * 40,
        "",
    ],
)
def test_paths_code_and_what_begins_with_a_blank_are_text(typed: str) -> None:
    require_text(typed)


@pytest.mark.parametrize("typed", ["/help", "/help ", "/HELP\n"])
def test_help_alone_is_asked_for(typed: str) -> None:
    assert is_help(typed)
    assert not is_help(" " + typed) and not is_help(f"{typed} me")


@pytest.mark.parametrize(
    ("typed", "guess"), [("/compct", "/compact"), ("/compact2 it", "/compact"), ("/hepl", "/help")]
)
def test_a_misspelt_command_is_named(typed: str, guess: str) -> None:
    with pytest.raises(Invalid, match=rf"Did you mean {guess}\?"):
        require_text(typed)


@pytest.mark.parametrize("before", ["/foo ", "/", "/foo", "/compct "])
@pytest.mark.parametrize("fragment", ["x", ". ", "\n", "/", "-"])
def test_reading_takes_as_long_as_the_text_is(before: str, fragment: str) -> None:
    def read(text: str) -> None:
        with suppress(Invalid):
            require_text(text)

    assert growth(read, repeated(fragment, before=before, after="="), largest=400_000).is_linear


@pytest.mark.django_db
def test_the_box_answers_help_itself_and_refuses_what_is_no_command(user: User, conversation: Conversation) -> None:
    pages = Pages(user)
    answer = pages.post("send", conversation.pk, content="/help")
    assert answer.status_code == 200 and answer["HX-Retarget"] == "#reader" and b"Keyboard" in answer.content
    answer = pages.post("send", conversation.pk, content="/foo all of it")
    assert answer.status_code == 400 and answer["HX-Retarget"] == "#alert"
    assert "There is no command /foo." in answer.content.decode()
    assert not conversation.messages.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("typed", ["/help", "/foo", "/compact keep the ports"])
def test_an_edited_message_becomes_no_command(user: User, conversation: Conversation, typed: str) -> None:
    fill(conversation, 2)
    question = conversation.messages.order_by("created_at")[0]
    answer = Pages(user).post("edit", conversation.pk, question.pk, content=typed)
    assert answer.status_code == 400 and answer["HX-Retarget"] == f"#refused-{question.pk}"
    assert conversation.messages.count() == 2
