"""A form that is refused comes back as it was typed, with what is wrong beside its field."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from compression.core.values import Steering
from conversations import preferences
from conversations.compaction import compaction
from conversations.instructions import goals
from conversations.instructions.conversation_settings import change
from conversations.models import ApiKey, Conversation, Goal, ModelProfile, Preference, User
from conversations.page import setting_forms
from conversations.page.bound_forms import PageForm
from tests.conversations.chat import fill
from tests.conversations.pages import Pages

pytestmark = pytest.mark.once

TEMPLATES = Path(__file__).parents[3] / "templates"
PROMPT = "Speak as a pirate."
KEPT = "\n Be brief.\n  And kind. <b>&amp;</b>\n"
"""Blanks and line breaks at both ends, and what is markup elsewhere."""


@dataclass
class Control:
    """A field of a page as a browser has it."""

    attributes: dict[str, str]
    value: str
    options: list[str] = field(default_factory=list)

    @property
    def is_wrong(self) -> bool:
        return self.attributes.get("aria-invalid") == "true"


class Forms(HTMLParser):
    """The forms of a page, each with its fields by name, and the words of the elements that have an id."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.forms: list[dict[str, Control]] = []
        self.words: dict[str, str] = {}
        self.described: set[str] = set()
        self._open: list[tuple[str, str]] = []
        self._control: Control | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.described |= set(attributes.get("aria-describedby", "").split())
        if tag == "form":
            self.forms.append({})
        elif tag in ("input", "textarea", "select") and "name" in attributes and self.forms:
            self._control = self.forms[-1][attributes["name"]] = Control(attributes, attributes.get("value", ""))
        elif tag == "option" and self._control:
            self._control.options.append(attributes["value"])
            if "selected" in attributes or len(self._control.options) == 1:
                self._control.value = attributes["value"]
        if id := attributes.get("id"):
            self.words[id] = ""
        if tag not in ("input", "br", "link", "meta"):
            self._open.append((tag, attributes.get("id", "")))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        for tag, id in self._open:
            if id:
                self.words[id] += data
            if tag == "textarea" and self._control:
                self._control.value += data

    def of(self, *names: str, without: str = "", **known: str) -> dict[str, Control]:
        """The only form that has fields of these names, these values, and no field called `without`."""
        rows = [form for form in self.forms if {*names, *known} <= form.keys() and without not in form]
        (found,) = [form for form in rows if all(form[name].value == value for name, value in known.items())]
        return found


def forms_of(response: Any) -> Forms:
    """As a browser reads them: the line break after <textarea> is none of its text, and \\r\\n is \\n."""
    html = response.content.decode().replace("\r\n", "\n")
    head, *areas = html.split("<textarea")
    for number, area in enumerate(areas):
        tag, end, text = area.partition(">")
        areas[number] = tag + end + text.removeprefix("\n")
    return Forms("<textarea".join([head, *areas]))


class Field(NamedTuple):
    """What is typed into a field: something else than is stored, nothing (where that can be done), or what is wrong."""

    changed: str
    wrong: str
    cleared: str = ""


class Case(NamedTuple):
    view: str
    fields: dict[str, Field]
    fixed: dict[str, str] = {}
    """Hidden fields, posted as they are."""
    without: str = ""
    """A field that other forms of the section have, and this form has not."""


CASES = {
    "beginning": Case(
        "beginning",
        {
            "model": Field("{model}", "999"),
            "mode": Field("developer", "poet", "debugger"),
            "system_prompt": Field(KEPT, KEPT + "x" * 50_000),
        },
    ),
    "key": Case("make_key", {"name": Field("backup", " x" * 60)}),
    "system prompt": Case("system_prompt", {"system_prompt": Field(KEPT, KEPT + "\0")}),
    "goal": Case("goal", {"description": Field(KEPT, "y" * 2_001, " "), "priority": Field("low", "urgent", "normal")}),
    "checkpoint": Case("step", {"text": Field("Switch", "z" * 241)}, without="status"),
    "same checkpoint": Case("step", {"text": Field("Switch", "Copy it")}, without="status"),
    "rule": Case("rules", {"rule": Field("Use UTC", "w" * 1_100)}, without="was"),
    "empty rule": Case("rules", {"rule": Field("Use UTC", " ")}, without="was"),
    "changed rule": Case("rules", {"rule": Field("Use UTC", "v" * 1_100)}, {"was": "Never on Fridays"}),
    "summary": Case("edit_summary", {"summary": Field(KEPT, "\nPorts.\n")}),
    "cleared summary": Case("edit_summary", {"summary": Field(KEPT, "")}),
}
WAYS = [
    pytest.param(name, wrong, other, id=f"{name}-{wrong}-{other}")
    for name, case in CASES.items()
    for wrong in case.fields
    for other in (("changed", "cleared") if len(case.fields) > 1 else ("changed",))
]


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


@pytest.fixture
def stored(user: User, conversation: Conversation, profile: ModelProfile) -> Callable[[], Any]:
    """What is stored before: something in every field. Call it for what is stored now."""
    other = ModelProfile.objects.create(name="other", model_id="x", window=8_192)
    preferences.change(user, model_id=other.pk, mode="planning", system_prompt=PROMPT)
    fill(conversation, 20)
    compaction.request(conversation, trigger="manual", steering=Steering())
    conversation.refresh_from_db()
    change(
        conversation,
        system_prompt=PROMPT,
        rules=["Never on Fridays"],
        policy={"threshold": 0.7, "keep_recent": 8, "strategy": "truncate", "cooldown": 30, "prompt": ""},
    )
    goals.set_goal(conversation, description="Ship the parser.", priority="high")
    Goal.objects.update(checkpoints=[{"text": "Copy it", "status": "in-progress"}])

    def now() -> Any:
        mine = Conversation.objects.filter(pk=conversation.pk).values(
            "system_prompt", "rules", "policy", "mode", "model"
        )
        rows = (Preference.objects.values(), Goal.objects.values("description", "priority", "checkpoints"))
        summaries = conversation.checkpoints.order_by("pk").values("summary", "active")
        return [list(query) for query in (mine, *rows, summaries, ApiKey.objects.values())]

    return now


def ids_of(conversation: Conversation, view: str) -> list[Any]:
    """The ids in the address of a view."""
    if view in ("beginning", "make_key"):
        return []
    return [conversation.pk, conversation.compactions.get().pk] if view == "edit_summary" else [conversation.pk]


@pytest.mark.parametrize(("name", "wrong", "other"), WAYS)
def test_each_field_comes_back_as_it_was_typed(
    pages: Pages,
    conversation: Conversation,
    profile: ModelProfile,
    stored: Callable[[], Any],
    name: str,
    wrong: str,
    other: str,
) -> None:
    case, before = CASES[name], stored()
    typed = {
        key: (one.wrong if key == wrong else getattr(one, other)).format(model=profile.pk)
        for key, one in case.fields.items()
    }
    fixed = dict(case.fixed)
    if case.view == "edit_summary":
        fixed["number"] = str(conversation.checkpoints.get(active=True).number)
    form = typed | fixed
    if case.view == "policy":
        panel = forms_of(pages.get("context", conversation.pk, htmx=True)).of("threshold")
        form = {key: control.value for key, control in panel.items()} | form
    response = pages.post(case.view, *ids_of(conversation, case.view), **form)
    assert response.status_code == 400 and stored() == before
    page = forms_of(response)
    shown = page.of(*typed, without=case.without, **case.fixed)
    assert {key: shown[key].value for key in form} == form
    assert [key for key, control in shown.items() if control.is_wrong] == [wrong] or other == "cleared"
    assert any(control.is_wrong for control in shown.values())
    for control in shown.values():
        complaints = [page.words[id] for id in control.attributes.get("aria-describedby", "").split() if "error" in id]
        assert control.is_wrong == bool(any(complaints)) or control.attributes.get("type") == "hidden", control
    others = [control for one in page.forms if one is not shown for control in one.values()]
    assert not [control for control in others if control.is_wrong]
    assert page.described <= page.words.keys()


def test_other_forms_of_the_section_show_what_is_stored(
    pages: Pages, conversation: Conversation, stored: Callable[[], Any]
) -> None:
    page = forms_of(pages.post("step", conversation.pk, text="z" * 241))
    assert page.of("description")["description"].value == "Ship the parser."
    assert page.of("status")["status"].value == "in-progress"
    page = forms_of(pages.post("goal", conversation.pk, description="", priority="low"))
    assert page.of(status="in-progress") and page.of(text="")["text"]
    page = forms_of(pages.post("rules", conversation.pk, rule="w" * 1_100))
    assert page.of(was="Never on Fridays")["rule"].value == "Never on Fridays"
    page = forms_of(pages.post("rules", conversation.pk, rule="w" * 1_100, was="Never on Fridays"))
    assert page.of("rule", without="was")["rule"].value == ""


@pytest.mark.parametrize(
    ("view", "form", "name"),
    [
        ("mode", {"mode": "poet"}, "mode"),
        ("model", {"model": "999"}, "model"),
        ("step", {"text": "Copy it", "status": "half"}, "status"),
    ],
)
def test_a_choice_that_is_saved_at_once_shows_what_is_in_force(
    pages: Pages, conversation: Conversation, stored: Callable[[], Any], view: str, form: dict[str, str], name: str
) -> None:
    before = stored()
    shown = forms_of(pages.get("context", conversation.pk, htmx=True)).of(name)
    page = forms_of(pages.post(view, conversation.pk, **form))
    again = page.of(name)
    assert (again[name].value, again[name].is_wrong) == (shown[name].value, True)
    assert view != "step" or page.of("text", without="status")["text"].value == ""
    assert page.described <= page.words.keys() and stored() == before


def test_a_model_that_is_gone_is_not_another_one(pages: Pages, profile: ModelProfile, user: User) -> None:
    """A list without the chosen value would show its first one in its place, and save that the next time."""
    shown = forms_of(pages.post("beginning", model="999", mode="planning", system_prompt="")).of("model")
    assert shown["model"].value == "999"
    ModelProfile.objects.filter(pk=profile.pk).update(enabled=False)
    preferences.change(user, model_id=profile.pk)
    shown = forms_of(pages.get("settings")).of("model", "system_prompt")
    assert shown["model"].value == "" and pages.post("beginning", model="", mode="planning").status_code == 200


def test_whatever_describes_a_field_is_on_the_page(
    pages: Pages, conversation: Conversation, stored: Callable[[], Any]
) -> None:
    row = conversation.compactions.get()
    told = [
        pages.get("settings"), pages.get("context", conversation.pk, htmx=True), pages.get("home"),
        pages.get("compaction", conversation.pk, row.pk, edit=""), Pages().get("login"),
        pages.post("password", old_password="x", new_password1="1", new_password2="2"),
        Pages().post("login", username="alice", password="wrong", htmx=False),
    ]  # fmt: skip
    User.objects.all().delete()
    told += [Pages().get("setup"), Pages().post("setup", username="a b", password1="1", password2="2", htmx=False)]
    for response in told:
        page = forms_of(response)
        assert page.described <= page.words.keys(), response.request["PATH_INFO"]


def test_a_first_account_that_is_refused_keeps_its_name_and_no_password(db: None) -> None:
    response = Pages().post("setup", username="a b", password1="secret-1", password2="secret-2", htmx=False)
    shown = forms_of(response).of("username")
    assert (shown["username"].value, shown["username"].is_wrong) == ("a b", True)
    assert b"secret" not in response.content


def test_no_template_writes_a_field_that_a_form_writes() -> None:
    kinds = [kind for kind in vars(setting_forms).values() if isinstance(kind, type) and issubclass(kind, PageForm)]
    names = {name for kind in kinds for name in kind.base_fields}
    assert {"system_prompt", "description", "summary", "rule"} <= names
    for path in TEMPLATES.rglob("*.html"):
        fields = re.findall(r"<(?:input|textarea|select)\b[^>]*\bname=\"(\w+)\"", path.read_text())
        assert path.parent.name == "admin" or not names & set(fields), path.name
