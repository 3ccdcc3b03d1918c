"""Search over all that a person has."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.utils import timezone

from compression.core.text import index_terms
from conversations.errors import Invalid
from conversations.memory import message_index
from conversations.memory.index_schema import STATE
from conversations.messages import search, search_terms
from conversations.messages.search import find_hits
from conversations.messages.search_terms import terms_of
from conversations.models import Conversation, Message, User
from conversations.runtime import substring_lookup
from tests.conversations.api_client import Api, refused
from tests.conversations.chat import START, Chat
from tests.conversations.pages import Pages, elements

ENDLESS = "SELECT 1 UNION ALL SELECT x + 1 FROM n"


def talk(owner: User, *contents: str, title: str = "Talk", days: int = 0, **fields: Any) -> Conversation:
    """A conversation of these messages, that was changed so many days ago."""
    changed = timezone.now() - timedelta(days=days)
    conversation = Conversation.objects.create(owner=owner, title=title, updated_at=changed, **fields)
    Message.objects.bulk_create(
        Message(
            conversation=conversation,
            role="assistant" if number % 2 else "user",
            content=content,
            created_at=START + timedelta(minutes=number),
        )
        for number, content in enumerate(contents)
    )
    return conversation


def texts(user: User, query: str) -> list[str]:
    return [hit.message.content if hit.message else hit.conversation.title for hit in find_hits(user, query).hits]


def test_titles_come_first_then_messages_of_what_changed_last(user: User) -> None:
    talk(user, "port one", "nothing", "port two", title="Old port", days=3)
    talk(user, "port three", title="New", days=1)
    assert texts(user, "port") == ["Old port", "port three", "port two", "port one"]


def test_any_word_is_enough_the_best_first_and_a_phrase_must_occur_as_it_stands(user: User) -> None:
    talk(user, "the port of alpha", "alpha has a port", "alpha alone", "nothing of it", title="-")
    assert texts(user, "alpha port") == ["alpha has a port", "the port of alpha", "alpha alone"]
    assert texts(user, "ports ALPHAS nowhere")[0] == "alpha has a port"
    assert texts(user, '"port of alpha"') == ["the port of alpha"]
    assert texts(user, '"a port" has') == ["alpha has a port"]


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("  one   two ", ["one", "two"]),
        ('"one  two" three', ["one two", "three"]),
        ('"one tw', ["one tw"]),
        ('5" disk', ['5"', "disk"]),
        ("twice twice", ["twice"]),
        ('"', ['"']),
        ('""', ['""']),
        ("   ", []),
    ],
)
def test_how_a_query_is_read(query: str, terms: list[str]) -> None:
    assert terms_of(query) == terms


@pytest.mark.parametrize(
    "query", ["größe", "GRÖSSE".replace("SS", "ß"), "Größe", "пОРТ".lower(), "ПОРТ", "Порт", "PORT"]
)
def test_case_does_not_matter_in_any_script(user: User, query: str) -> None:
    talk(user, "Die Größe, GRÖßE, größe; порт, Порт, ПОРТ; pOrT", title="-")
    (hit,) = find_hits(user, query).hits
    assert sum(piece.is_found for piece in hit.pieces) == (1 if query == "PORT" else 3)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("8443", "The port is **8,443** now"),
        ("8443", "The port is 8'443 now"),
        ("8,443", "The port is 8443 now"),
        ("email", "Send an E-mail to them"),
        ("e-mail", "Send an email to them"),
        ("wifi router", "The Wi\u2011Fi of the router"),
        ("node3", "node-3 is down"),
        ("node-3", "node3 is down"),
        ("gpt4o", "GPT-4o is the model"),
        ("maxtokens", "Set max_tokens first"),
        ("mail", "Send an E-mail to them"),
    ],
)
def test_compounds_and_grouped_numbers_are_found_with_and_without_their_signs(
    user: User, query: str, text: str
) -> None:
    talk(user, "First " * 200 + text, "nothing of it, 312 or 84 43", title="-")
    (hit,) = find_hits(user, query).hits
    found = [piece.text for piece in hit.pieces if piece.is_found]
    assert found and all(piece in text for piece in found)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ('"8,443"', "The port is 8443"),
        ('"e-mail"', "an email"),
        ("3.12", "312"),
        ("3-12", "312"),
        ("2026-11-29", "20261129"),
        ("8,443", "84431 and 18443"),
    ],
)
def test_other_numbers_and_quoted_words_must_occur_verbatim(user: User, query: str, text: str) -> None:
    talk(user, text, title="-")
    assert texts(user, query) == []


@pytest.mark.parametrize("plain", ["100%", "a_b", "c\\d", "%", "_", "\\"])
def test_signs_that_mean_something_to_databases_are_plain(user: User, plain: str) -> None:
    talk(user, f"it says {plain} here", "100x, aXb, cXd", title="-")
    assert texts(user, plain) == [f"it says {plain} here"]


def test_replaced_messages_and_those_of_others_are_not_found(user: User) -> None:
    conversation = talk(user, "the secret one", "the secret two", title="-")
    first, second = conversation.messages.all()
    Message.objects.filter(pk=first.pk).update(replaced_by=second)
    talk(User.objects.create_user("mallory"), "the secret three", title="secret")
    talk(user, "the secret four", title="secret", kind=Conversation.Kind.GATEWAY)
    assert texts(user, "secret") == ["the secret two"]


async def test_folded_messages_are_found_and_said_to_be_folded(chat: Chat, user: User) -> None:
    for number in range(5):
        await chat.say(f"Question {number}: service-{number} listens on port {5000 + number}. " + "and so on " * 40)
    await chat.compact()

    def states(query: str) -> list[str | None]:
        return [hit.state for hit in find_hits(user, query).hits if hit.message]

    assert await sync_to_async(states)("service-0") == ["compressed"]
    assert await sync_to_async(states)("service-4") == ["live"]


def test_what_is_archived_is_found_and_marked(user: User) -> None:
    talk(user, "a needle", title="Away", archived=True)
    html = Pages(user).get("search", q="needle", htmx=True).content.decode()
    assert "archived" in html and "<mark>needle</mark>" in html


@pytest.mark.parametrize("limit", [1, 3, 4, 9])
def test_pages_follow_each_other_without_a_gap_or_a_repetition(user: User, limit: int) -> None:
    now = timezone.now()
    for number in range(4):
        same = talk(user, *(f"word {number} {place}" for place in range(4)), title=f"word {number}")
        Conversation.objects.filter(pk=same.pk).update(updated_at=now - timedelta(days=number // 2))
    whole = [hit.snippet for hit in find_hits(user, "word", limit=100).hits]
    paged, after = [], None
    while True:
        page = find_hits(user, "word", after=after, limit=limit)
        paged += [hit.snippet for hit in page.hits]
        if (after := page.next) is None:
            break
        assert len(page.hits) == limit
    assert paged == whole
    assert len(whole) == len(set(whole)) == 20


def test_a_search_is_six_queries_however_much_there_is(user: User, django_assert_num_queries: Any) -> None:
    """Titles, what waits to be indexed, what the index proposes, which messages those are, themselves, and whether the
    index is behind.
    """
    for _ in range(5):
        talk(user, *["a word"] * 10, title="word")
    message_index.catch_up()
    pages = Pages(user)
    with django_assert_num_queries(6 + len(("session", "user"))):
        assert pages.get("search", q="word", htmx=True).content.decode().count('class="hit"') == search.LIMIT


def test_a_search_names_that_messages_may_be_missing_while_the_index_is_built_anew(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(user, "a word", title="-")
    assert message_index.keep_up() is False
    assert not find_hits(user, "word").is_incomplete
    monkeypatch.setattr(index_terms, "VERSION", index_terms.VERSION + 1)  # as after an upgrade
    assert find_hits(user, "word").is_incomplete
    assert Api(user).get("/api/search?q=word").json()["incomplete"] is True
    assert "Some may be missing here." in Pages(user).get("search", q="word", htmx=True).content.decode()
    assert message_index.keep_up() is False
    assert not find_hits(user, "word").is_incomplete
    assert "Some may be missing" not in Pages(user).get("search", q="word", htmx=True).content.decode()


def test_a_search_finds_messages_without_the_state_of_the_index(user: User) -> None:
    talk(user, "a word", title="-")
    message_index.keep_up()
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {STATE}")
    try:
        found = find_hits(user, "word")
    finally:
        assert message_index.heal()
    assert len(found.hits) == 1 and found.is_incomplete


def test_a_snippet_is_a_line_around_the_first_word_with_what_was_found_marked(user: User) -> None:
    talk(user, "before " * 50 + "\n\nthe <b>needle</b> lies\there " + "after " * 50, title="-")
    (hit,) = find_hits(user, "needle").hits
    assert len(hit.snippet) <= search_terms.SNIPPET + 3
    assert hit.snippet.startswith("… before before") and hit.snippet.endswith("…")
    assert "the <b>needle</b> lies here" in hit.snippet
    html = Pages(user).get("search", q="needle").content.decode()
    assert "the &lt;b&gt;<mark>needle</mark>&lt;/b&gt; lies here" in html


@pytest.mark.once
@pytest.mark.parametrize(
    ("query", "text", "snippet"),
    [
        ("port", "## Ports\n\n```yaml\nport: **5433**\n```", "Ports port: 5433"),
        ("**5433", "port: **5433**", "port: **5433**"),
        ("x", "x" * 400, "x" * 120 + "…"),
        ("needle", "y" * 90 + "needle", "… " + "y" * 40 + "needle"),
        ("needle", "a needle " + "word " * 40, "a needle " + " ".join(["word"] * 22) + "…"),
    ],
)
def test_a_snippet_reads_as_text(user: User, query: str, text: str, snippet: str) -> None:
    talk(user, text, title="-")
    assert [hit.snippet for hit in find_hits(user, query).hits] == [snippet]


def test_a_hit_leads_to_its_message(user: User) -> None:
    conversation = talk(user, "a needle", title="-")
    found = elements(Pages(user).get("search", q="needle", htmx=True)).by_id(f"hit-{conversation.messages.get().pk}")
    assert found["href"] == f"/c/{conversation.pk}/#message-{conversation.messages.get().pk}"


def test_more_than_a_page_is_fetched_on_demand(user: User) -> None:
    talk(user, *(f"needle {number}" for number in range(search.LIMIT + 5)), title="-")
    pages = Pages(user)
    (more,) = elements(pages.get("search", q="needle", htmx=True)).with_attribute("hx-get")
    rest = pages.client.get(more["hx-get"], headers={"HX-Request": "true"}).content.decode()
    assert rest.count('class="hit"') == 5 and "More" not in rest


@pytest.mark.parametrize("query", ["", "  ", "nowhere"])
def test_nothing_to_look_for_and_nothing_found_are_no_faults(user: User, query: str) -> None:
    talk(user, "a word", title="-")
    assert Pages(user).get("search", q=query).status_code == 200
    assert 'class="hit"' not in Pages(user).get("search", q=query, htmx=True).content.decode()


@pytest.mark.parametrize(
    "bad",
    [
        {"q": "x" * 201},
        {"q": "a\0b"},
        {"q": "a", "after": "1"},
        {"q": "a", "after": f"-{'9' * 17}.{'0' * 32}."},
    ],
)
def test_what_cannot_be_looked_for_is_refused(user: User, bad: dict[str, str]) -> None:
    assert Pages(user).get("search", **bad).status_code == 400
    with pytest.raises(Invalid):
        find_hits(user, bad["q"], after=bad.get("after"))


def test_the_api_finds_the_same_page_by_page(user: User) -> None:
    conversation = talk(user, "a needle", "no", "another needle", title="Needles")
    first = Api(user).get("/api/search", q="needle", limit=2).json()
    assert [item["message"] and item["message"]["state"] for item in first["items"]] == [None, "live"]
    assert first["items"][0]["conversation"] == {"id": str(conversation.pk), "title": "Needles", "archived": False}
    second = Api(user).get("/api/search", q="needle", limit=2, cursor=first["next"]).json()
    assert [item["snippet"] for item in second["items"]] == ["a needle"] and second["next"] is None
    assert refused(Api(user).get("/api/search", q="x" * 201), 400, "invalid")["field"] == "q"
    assert refused(Api(user).get("/api/search", q="x", cursor="y"), 400, "invalid")["field"] == "cursor"
    refused(Api(user).get("/api/search"), 400, "invalid")


def test_a_search_that_takes_too_long_is_ended_and_the_next_one_is_not(user: User) -> None:
    talk(user, *("and so on " * 2_000 for _ in range(2 * search.LIMIT)))
    with (
        pytest.raises(Invalid, match=r"took more than 0\.001 seconds") as refused,
        substring_lookup.time_limit("q", 0.001),
    ):
        slowly = connection.vendor == "postgresql"
        with connection.cursor() as cursor:
            endless = f"WITH RECURSIVE n(x) AS ({ENDLESS}) SELECT max(x) FROM n"
            cursor.execute("SELECT pg_sleep(5)" if slowly else endless)
    assert refused.value.detail["field"] == "q"
    while message_index.catch_up():  # each time for a second at most
        pass
    if connection.vendor == "sqlite":
        assert len(find_hits(user, "and").hits) == search.LIMIT


def test_letters_are_found_in_whatever_case(user: User) -> None:
    talk(user, "the ÜBeR port", title="-")
    assert texts(user, "üBER") == ["the ÜBeR port"]
