"""The pages in other languages: every text is marked, every catalog is whole, and each person reads in their own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from babel.messages import Message
from babel.messages.mofile import read_mo
from django.conf import settings
from django.template import Context, Template
from django.template.base import Lexer as TemplateLexer
from django.template.base import TokenType
from django.test import Client
from django.utils import timezone, translation
from PIL import Image

from chatsite.error_views import bad_request, forbidden, not_found, server_error
from compression.models import Compaction
from conversations import models, preferences
from conversations.errors import Invalid
from conversations.messages.images import MAX_SIDE, read_image
from conversations.models import Conversation, ModelProfile, User
from conversations.page import fragments
from conversations.page.markup.markdown import render_markdown
from conversations.runtime.amounts import amount, localized
from conversations.runtime.subscription import Event
from conversations.templatetags import texts
from tests import catalogs
from tests.conversations.pages import Pages, elements

pytestmark = pytest.mark.once

CATALOGS = [(folder, domain) for folder in catalogs.LANGUAGES for domain in ("django", "djangojs")]
OTHERS = [code for code, _ in settings.LANGUAGES if code != "en"]
SHOWN = ("title", "aria-label", "placeholder", "alt", "hx-confirm")
"""The attributes whose values a person reads or hears."""
UNSEEN = ("script", "style", "pre", "code")
SAME_EVERYWHERE = {
    *("chatsite", "Markdown", "HTML", "JSON", "SHA", "sh", "python", "ms", "KB", "UTC", "nbsp", "amp", "LongText#")
}
"""Names, formats and units that no language changes."""
_FIELD = re.compile(r"\A(?:[a-z_]+|%\(field\)s): ")
"""The field that a refusal names, which the page leaves out beside that field."""
CHOICES = ("free: ", "strict: ")
"""Texts that begin like a refusal, and are none."""
CLASSES = ("block layout", "block coltype", "block bodyclass")
"""Blocks of templates that hold names of classes."""
WORD = re.compile(r"[A-Za-z]{2,}")


class Texts(HTMLParser):
    """The texts and the read attributes of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open += [tag] if tag in UNSEEN else []
        self.found += [value or "" for name, value in attrs if name in SHOWN]

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            self.open.remove(tag)

    def handle_data(self, data: str) -> None:
        self.found += [] if self.open else [data]


def unmarked(source: str) -> list[str]:
    """The words of a template that no translation reaches."""
    html, depth = "", 0
    for token in TemplateLexer(source).tokenize():
        if token.token_type == TokenType.BLOCK:
            name = token.contents.split()[0]
            depth += (name in ("blocktranslate", "comment")) - (name in ("endblocktranslate", "endcomment"))
            html += "<code>" if token.contents in CLASSES else "</code>" if name == "endblock" else " "
        elif token.token_type == TokenType.TEXT and not depth:
            html += token.contents
    words = (word for text in Texts(html).found for word in WORD.findall(text) if not text.strip().startswith("http"))
    return [word for word in words if word not in SAME_EVERYWHERE]


@pytest.mark.parametrize("path", list(catalogs.templates()), ids=lambda path: path.name)
def test_no_text_of_a_template_is_unmarked(path: Path) -> None:
    assert unmarked(path.read_text(encoding="utf-8")) == []


def test_an_unmarked_text_would_be_found() -> None:
    marked = '{% load texts %}<p title="{% translate "Copy" %}">{% blocktranslate %}A text{% endblocktranslate %}</p>'
    assert unmarked(marked) == []
    assert unmarked(marked + '<b title="Close it">{{ name }} stays</b>') == ["Close", "it", "stays"]


def _id(message: Message) -> catalogs.Text:
    return message.id if isinstance(message.id, str) else (message.id[0], message.id[1])


@pytest.mark.parametrize(("folder", "domain"), CATALOGS)
def test_each_catalog_has_every_text_with_its_placeholders_and_is_compiled(folder: str, domain: str) -> None:
    stored = {_id(message): message for message in catalogs.catalog(folder, domain) if message.id}
    assert list(stored) == catalogs.texts(domain), "run: python -m tests.catalogs"
    for message in stored.values():
        source = message.id if isinstance(message.id, str) else message.id[1]
        for words in catalogs.strings_of(message):
            assert words.strip(), f"{folder} has no translation of {source!r}"
            placed = [sorted(catalogs.PLACEHOLDER.findall(one)) for one in (source, words)]
            assert placed[0] == placed[1], f"{folder}: {source!r} has other placeholders"
            fields = [_FIELD.findall(one) for one in (source, words)]
            assert fields[0] == fields[1] or source.startswith(CHOICES), f"{folder}: {source!r} has another field"
            tags = [sorted(re.findall(r"</?\w+", one)) for one in (source, words)]
            assert tags[0] == tags[1], f"{folder}: {source!r} has other tags"
    with (catalogs.LOCALE / folder / "LC_MESSAGES" / f"{domain}.mo").open("rb") as file:
        compiled = {_id(message): catalogs.strings_of(message) for message in read_mo(file) if message.id}
    assert compiled == {id: catalogs.strings_of(message) for id, message in stored.items()}


@pytest.fixture
def strange(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A language in which each translation stands in brackets."""
    gettext, ngettext = translation._trans.gettext, translation._trans.ngettext  # type: ignore[attr-defined]
    monkeypatch.setattr(translation._trans, "gettext", lambda text: f"⟦{gettext(text)}⟧")  # type: ignore[attr-defined]
    monkeypatch.setattr(
        translation._trans,  # type: ignore[attr-defined]
        "ngettext",
        lambda one, several, number: f"⟦{ngettext(one, several, number)}⟧",
    )
    monkeypatch.setattr(texts, "get_language", lambda: "strange")
    yield


def untranslated(html: str, own: set[str]) -> list[str]:
    """The texts of a page that stand outside of brackets, but for a person's own words."""
    body = html[max(0, html.find("<body")) :]
    while (rest := re.sub(r"⟦[^⟦⟧]*⟧", "", body)) != body:
        body = rest
    body = re.sub(r"⟦[^⟦⟧<\"]*(?=[<\"])", "", body)  # the beginning of a translation alone
    return [text.strip() for text in Texts(body).found if set(WORD.findall(text)) - own]


OWN_WORDS = {"alice", "Sample", "scripted", *SAME_EVERYWHERE, "OpenAI", "Anthropic", "OpenRouter", "Ollama", "LM"}
OWN_WORDS |= {word for _, name in settings.LANGUAGES for word in WORD.findall(name)}
PAGES: list[tuple[str, bool]] = [
    ("home", False),
    ("settings", False),
    ("usage", False),
    ("remembered", False),
    ("trash", False),
    ("import", False),
    ("help", False),
    ("chat", True),
    ("context", True),
    ("timeline", True),
    ("readings", True),
    ("link", True),
]


@pytest.mark.parametrize(("name", "of_chat"), PAGES)
def test_every_word_of_a_page_is_a_translation(
    name: str, of_chat: bool, strange: None, user: User, profile: ModelProfile
) -> None:
    pages = Pages(user)
    profile.__class__.objects.filter(pk=profile.pk).update(name="9000")
    chat = Conversation.objects.create(owner=user, title="4711", model=profile)
    html = pages.get(name, *([chat.pk] if of_chat else [])).content.decode()
    assert untranslated(html, OWN_WORDS) == []


DJANGOS = re.compile(r"Search|True|False|admin\S*|\w+\.? \d+, \d{4},( \S+)?( [ap]\.m\.)?,?", re.ASCII)
"""The words of Django's own pages that it does not translate, or only with a context, as it does months.

Noon and midnight, which it writes for 12:00 and 0:00, are translated.
"""
ADMIN_PAGES = [
    "/admin/",
    "/admin/analytics/",
    "/admin/site/",
    "/admin/conversations/user/",
    "/admin/compression/compaction/",
    "/admin/compression/compaction/{compaction}/change/",
    "/admin/compression/prompttemplate/add/",
    "/admin/conversations/conversation/",
    "/admin/conversations/conversation/{conversation}/change/",
    "/admin/conversations/modelprofile/",
    "/admin/conversations/modelprofile/{profile}/change/",
    "/admin/conversations/toolserver/",
    "/admin/conversations/toolserver/add/",
    "/admin/conversations/agentrun/",
    "/admin/conversations/apikey/",
]


@pytest.mark.parametrize("address", ADMIN_PAGES)
def test_every_word_of_the_administration_is_a_translation(
    address: str, strange: None, admin_client: Client, profile: ModelProfile, user: User
) -> None:
    ModelProfile.objects.filter(pk=profile.pk).update(name="9000", model_id="9000")
    chat = Conversation.objects.create(owner=user, title="4711", model=profile)
    row = Compaction.objects.create(conversation=chat, trigger="auto", status="succeeded", summariser="9000")
    rows = {"conversation": chat.pk, "profile": profile.pk, "compaction": row.pk}
    html = admin_client.get(address.format(**rows)).content.decode()
    left = untranslated(re.sub(r"<textarea.*?</textarea>", "", html, flags=re.DOTALL), OWN_WORDS)
    assert [text for text in left if not DJANGOS.fullmatch(text)] == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_person_reads_every_page_in_the_language_that_they_chose(
    language: str, user: User, profile: ModelProfile
) -> None:
    pages = Pages(user)
    assert 'lang="en"' in pages.get("settings").content.decode()
    assert pages.post("language", language=language).headers["HX-Refresh"] == "true"
    html = pages.get("settings").content.decode()
    with translation.override(language):
        heading = translation.gettext("Appearance")
    assert f'<html lang="{language}"' in html and f'<h2 id="appearance-heading">{heading}</h2>' in html
    script = f"/words/{language}.js"
    assert f'<script src="{script}"></script>' in html
    words = json.loads(re.search(r"const newcatalog = (\{.*?\});", pages.client.get(script).text, re.S)[1])  # type: ignore[index]
    assert len(words) == len(catalogs.texts("djangojs")) and words["Copied."] not in ("", "Copied.")
    # Another browser has it from the sign-in on; "" takes the browser's language again.
    elsewhere = Client()
    elsewhere.post("/accounts/login/", {"username": user.username, "password": "correct horse battery"})
    assert f'lang="{language}"' in elsewhere.get("/").content.decode()
    pages.post("language", language="")
    assert 'lang="en"' in pages.get("home").content.decode()


def test_the_browsers_first_language_that_there_is_stands_until_one_is_chosen(user: User) -> None:
    def language(accepted: str, cookies: dict[str, str] | None = None) -> str:
        return preferences.language_of(cookies or {}, accepted)

    assert language("de-AT,de;q=0.9,en;q=0.8") == "de"
    assert language("it,fr-CA;q=0.9") == "fr"
    assert language("zh-CN,zh;q=0.9") == "zh-hans"
    assert language("it") == language("") == "en"
    assert language("de", {settings.LANGUAGE_COOKIE_NAME: "es"}) == "es"
    assert language("de", {settings.LANGUAGE_COOKIE_NAME: "xx"}) == "de"
    html = Client(headers={"Accept-Language": "de-DE"}).get("/accounts/login/").content.decode()
    assert "Anmelden" in html and '<html lang="de"' in html


@pytest.mark.parametrize("status", [400, 403, 404, 500])
def test_the_page_of_an_error_is_in_the_readers_language(rf: Any, status: int) -> None:
    request = rf.get("/")
    request.COOKIES[preferences.THEME] = "dark"
    view = {400: bad_request, 403: forbidden, 404: not_found, 500: server_error}[status]
    with translation.override("de"):
        answer = view(request) if status == 500 else view(request, Exception())
    html = answer.content.decode()
    assert answer.status_code == status and '<html lang="de"' in html and 'data-theme="dark"' in html


def test_a_language_that_is_not_there_is_refused_and_nothing_is_stored(user: User) -> None:
    pages = Pages(user)
    for language in ("xx", "EN", "de\0"):
        answer = pages.post("language", language=language)
        assert answer.status_code == 400 and "Must be one of en, de" in answer.content.decode()
    assert preferences.preference_of(user).language == ""
    assert pages.client.get("/words/xx.js").status_code == 404


def test_programs_have_english(admin_user: User) -> None:
    client = Client(headers={"Accept-Language": "de"})
    client.force_login(admin_user, backend="django.contrib.auth.backends.ModelBackend")
    assert "Übersicht" in client.get("/admin/").content.decode()
    assert client.get("/api/conversations").headers["Content-Language"] == "en"


@pytest.mark.django_db(transaction=True)
async def test_what_a_socket_sends_is_in_the_language_of_its_page(conversation: Conversation) -> None:
    fields = {"conversation": conversation, "role": "assistant", "content": "Whole."}
    message = await models.Message.objects.acreate(created_at=timezone.now(), **fields)
    event = Event("message.done", {"message": {"id": str(message.pk)}})

    def render(language: str) -> str:
        with translation.override(language):
            return fragments.render_event(conversation.pk, event)

    assert "Die Antwort ist da." in await sync_to_async(render)("de")
    assert "The reply is there." in await sync_to_async(render)("en")


def test_what_is_cached_of_a_text_is_kept_by_language() -> None:
    code = "```python\nprint(1)\n```"
    with translation.override("de"):
        assert "Herunterladen" in render_markdown(code)
    with translation.override("en"):
        assert "Download" in render_markdown(code) and "Herunterladen" not in render_markdown(code)


def test_numbers_have_the_separators_of_the_language_and_drawings_keep_theirs(
    user: User, profile: ModelProfile
) -> None:
    with translation.override("de"):
        assert (amount(1_234_567), localized("$1,234.50")) == ("1.234.567", "$1.234,50")
    with translation.override("fr"):
        assert amount(12_345) == "12\u00a0345"
    with translation.override("en"):
        assert (amount(1_234_567), localized("1.5 s")) == ("1,234,567", "1.5 s")
    pages = Pages(user)
    pages.post("language", language="de")
    chat = Conversation.objects.create(owner=user, model=profile, system_prompt="Words. " * 60)
    drawn = elements(pages.get("chat", chat.pk))
    widths = [attributes["width"] for tag, attributes in drawn.found if tag == "rect"]
    assert any("." in width for width in widths) and not any("," in width for width in widths)


def test_a_refusal_is_in_the_language_of_the_page_and_english_for_programs(
    user: User, profile: ModelProfile, conversation: Conversation
) -> None:
    pages = Pages(user)
    pages.post("language", language="de")
    title = {"title": "x" * 300}
    answer = pages.post("rename", conversation.pk, **title)
    assert answer.status_code == 400 and "Höchstens 200 Zeichen, nicht 300." in answer.text
    address = f"/api/conversations/{conversation.pk}"
    told = pages.client.patch(address, title, "application/json", headers={"Accept-Language": "de"})
    assert told.status_code == 400
    assert told.json()["error"]["message"] == "title: at most 200 characters, not 300."


def test_a_literal_text_is_looked_up_directly_and_is_what_djangos_own_tag_gives() -> None:
    source = (
        """{% load texts %}{% translate "Copy" %}|{% translate "5 % of it" %}|{% translate "Save &amp; ask again" %}"""
    )
    own = source.replace("load texts", "load i18n")
    with translation.override("de"):
        shown = Template(source).render(Context())
        assert shown == Template(own).render(Context()) == "Kopieren|5 % of it|Speichern &amp; neu fragen"
    assert Template(source).render(Context()) == "Copy|5 % of it|Save &amp; ask again"
    with translation.override("fr"):
        named = Template("""{% load texts %}{% translate "Copy" as word %}{{ word }}, {% translate name %}""")
        assert named.render(Context({"name": "Send"})) == "Copier, Envoyer"


def test_a_reason_with_figures_from_a_reader_of_files_is_in_the_language_of_the_page() -> None:
    wide = BytesIO()
    Image.new("L", (MAX_SIDE + 1, 1)).save(wide, "PNG")
    with translation.override("de"), pytest.raises(Invalid, match="ein Bild hat höchstens 8,000 Pixel je Seite"):
        read_image(wide.getvalue())
    with translation.override("en"), pytest.raises(Invalid, match="an image has at most 8,000 pixels a side"):
        read_image(wide.getvalue())
