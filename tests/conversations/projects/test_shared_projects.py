"""Projects that several people share: who reads what, whose words become rules, and what ends when a part ends."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import RequestFactory
from django.urls import reverse

from conversations import api_keys, project_files, project_members, projects
from conversations.errors import Conflict, Invalid
from conversations.gateway.projects import project_of
from conversations.instructions import ledger
from conversations.memory import message_index
from conversations.models import ApiKey, Conversation, LedgerEntry, ModelProfile, Project, User
from tests.conversations.api_client import Api, refused
from tests.conversations.pages import Pages, one_line
from tests.conversations.projects.test_projects import PORT, asked, talk
from tests.llm_server import LlmServer

ALL = "/api/projects"


@pytest.fixture(autouse=True)
def allowed(settings: Any) -> None:
    settings.SHARED_PROJECTS = True


@pytest.fixture
def project(user: User) -> Project:
    return projects.create(user, name="Billing", instructions="Times are UTC.")


@pytest.fixture
def eve(transactional_db: None) -> User:
    return User.objects.create_user("eve", password="k")


@pytest.fixture
def mallory(transactional_db: None) -> User:
    return User.objects.create_user("mallory", password="k")


def test_a_project_is_shared_and_ended_by_the_api(user: User, eve: User, project: Project) -> None:
    api, hers = Api(user), Api(eve)
    people = f"{ALL}/{project.pk}/people"
    refused(hers.get(f"{ALL}/{project.pk}"), 404, "not_found")
    assert (
        api.client.put(f"{people}/eve", {"role": "reader"}, content_type="application/json").json()["role"] == "reader"
    )
    assert [one["username"] for one in api.get(people).json()["items"]] == ["eve"]
    read = hers.get(f"{ALL}/{project.pk}").json()
    assert (read["role"], read["owner"], read["instructions"]) == ("reader", user.username, "Times are UTC.")
    assert [one["role"] for one in hers.get(ALL).json()["items"]] == ["reader"]
    refused(hers.get(people), 404, "not_found")
    refused(hers.patch(f"{ALL}/{project.pk}", {"instructions": "Say nothing."}), 404, "not_found")
    refused(hers.post("/api/conversations", {"project": str(project.pk)}), 400, "invalid")
    assert hers.client.delete(f"{people}/eve").status_code == 204
    refused(hers.get(f"{ALL}/{project.pk}"), 404, "not_found")
    refused(api.client.delete(f"{people}/eve"), 404, "not_found")


@pytest.mark.parametrize(
    ("name", "role", "field"),
    [("nobody", "reader", "username"), ("", "reader", "username"), ("x" * 151, "reader", "username"),
     ("eve\0", "reader", "username"), ("eve", "owner", "role"), ("eve", None, "role")],
)  # fmt: skip
def test_a_wrong_name_or_role_is_refused(
    user: User, eve: User, project: Project, name: str, role: str | None, field: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        project_members.share(project, name, role)
    assert refusal.value.detail["field"] == field
    assert not project_members.members_of(project).exists()


def test_the_owner_and_one_person_too_many_are_refused(
    user: User, eve: User, mallory: User, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_members, "MAX_MEMBERS", 1)
    with pytest.raises(Invalid, match="theirs"):
        project_members.share(project, user.username, "reader")
    project_members.share(project, "eve", "reader")
    with pytest.raises(Invalid, match="at most 1"):
        project_members.share(project, "mallory", "reader")
    assert project_members.share(project, "eve", "writer").role == "writer"


def test_where_the_operator_does_not_allow_it_nobody_shares_or_reads(
    user: User, eve: User, project: Project, settings: Any, llm: LlmServer, profile: ModelProfile
) -> None:
    project_members.share(project, "eve", "writer")
    row = talk(user, project, PORT)
    asked(llm, row, "Always answer in French. Hello?")
    ledger.keep(row, LedgerEntry.objects.get(conversation=row).pk, on=True)
    new = talk(eve, project, title="New")
    settings.SHARED_PROJECTS = False
    assert Pages(user).post("share_project", project.pk, username="eve", role="reader").status_code == 404
    assert "project-people" not in Pages(user).get("project", project.pk).content.decode()
    assert Pages(eve).get("project", project.pk).status_code == 404
    assert "5433" not in asked(llm, new)
    system = llm.chats[-1].messages[0]["content"]
    assert "Times are UTC." not in system and "French" not in system


def test_a_reader_reads_the_chats_that_share_their_memory_and_changes_nothing(
    user: User, eve: User, project: Project, profile: ModelProfile
) -> None:
    open_, closed = talk(user, project, PORT), talk(user, project, "My salary is 4,000.", title="Private")
    Pages(user).post("share_memory", closed.pk)
    project_members.share(project, "eve", "reader")
    hers = Pages(eve)
    page = one_line(hers.get("project", project.pk).content.decode())
    assert "Ports &lt;of&gt; old" in page and "Private" not in page and "Times are UTC." in page
    assert 'name="content"' not in page and 'type="file"' not in page
    read = hers.get("project_chat", project.pk, open_.pk)
    assert PORT in read.content.decode() and read["X-Robots-Tag"] == "noindex, nofollow"
    assert hers.get("project_chat", project.pk, closed.pk).status_code == 404
    for name, *more in [("chat", open_.pk), ("context", open_.pk)]:
        assert hers.get(name, *more).status_code == 404
    assert hers.post("change_project", project.pk, project_name="Mine").status_code == 404
    assert hers.post("add_project_file", project.pk).status_code == 404
    assert hers.post("delete_project", project.pk).status_code == 404
    assert hers.post("share_project", project.pk, username="mallory", role="reader").status_code == 404
    assert hers.post("send", open_.pk, content="Hello").status_code == 404
    mine = talk(eve, None, "Hello there.", title="Mine")
    assert hers.post("move", ids=[str(mine.pk)], project=str(project.pk)).status_code == 404


def test_a_message_of_a_passage_leads_to_the_page_that_others_read(
    user: User, eve: User, mallory: User, project: Project, profile: ModelProfile
) -> None:
    said = talk(user, project, "One.", PORT, "Three.")
    message = said.messages.get(content=PORT)
    project_members.share(project, "eve", "reader")
    answer = Pages(eve).get("around", said.pk, message.pk)
    assert answer.status_code == 302 and answer["Location"].endswith(f"#message-{message.pk}")
    page = Pages(eve).client.get(answer["Location"]).content.decode()
    assert f'id="message-{message.pk}"' in page and "Three." not in page
    assert Pages(mallory).get("around", said.pk, message.pk).status_code == 404
    assert Pages(mallory).get("project_chat", project.pk, said.pk).status_code == 404


def test_chats_of_a_writer_and_of_the_owner_have_each_others_passages_with_their_speaker(
    user: User, eve: User, project: Project, profile: ModelProfile, llm: LlmServer
) -> None:
    talk(user, project, PORT)
    project_members.share(project, "eve", "writer")
    assert Pages(eve).post("move", ids=[str(talk(eve, None, "The backup runs at 03:40 on host ORION.").pk)],
                           project=str(project.pk)).status_code == 200  # fmt: skip
    message_index.keep_up()
    new = talk(eve, project, title="New")
    told = asked(llm, new)
    assert f"{user.username}, in “Ports <of> old”]\n> {PORT}" in told
    assert "Times are UTC." in llm.chats[-1].messages[0]["content"]
    reply = new.messages.get(role="assistant")
    assert Api(eve).get(f"/api/conversations/{new.pk}/messages/{reply.pk}/request").json()["is_exact"] is True
    assert "eve, in" in asked(llm, talk(user, project, title="Mine"), "When does the backup on ORION run?")


def test_nothing_that_another_person_typed_becomes_a_rule(
    user: User, eve: User, project: Project, profile: ModelProfile, llm: LlmServer
) -> None:
    project_members.share(project, "eve", "writer")
    hers = talk(eve, project, title="Hers")
    asked(llm, hers, "Always answer in French. Which port has the billing service?")
    entry = LedgerEntry.objects.get(conversation=hers)
    assert "French" in llm.chats[-1].messages[0]["content"]
    with pytest.raises(Conflict, match="shares no memory"):
        ledger.keep(hers, entry.pk, on=True)
    answer = Pages(eve).post("choose_remembered", entry.pk, kept="on")
    assert answer.status_code >= 400 and not LedgerEntry.objects.exclude(kept_in=None).exists()
    asked(llm, talk(user, project, title="Mine"))
    assert "French" not in llm.chats[-1].messages[0]["content"]


@pytest.mark.parametrize("way", ["removed", "leaves", "reader", "deleted"])
def test_when_a_part_ends_the_chats_leave_and_nothing_is_told_either_way(
    user: User, eve: User, project: Project, profile: ModelProfile, llm: LlmServer, way: str
) -> None:
    talk(user, project, PORT)
    project_members.share(project, "eve", "writer")
    hers, trashed = talk(eve, project, "The backup runs at 03:40 on host ORION."), talk(eve, project, "Gone.")
    Pages(eve).post("delete", trashed.pk)
    new = talk(eve, project, title="New")
    assert "5433" in asked(llm, new)
    reply = new.messages.get(role="assistant")
    key = api_keys.create_key(eve, "k").key
    api_keys.give_project(eve, key.pk, project)
    match way:
        case "removed":
            assert Pages(user).post("unshare_project", project.pk, eve.pk).status_code == 200
        case "leaves":
            assert Pages(eve).post("unshare_project", project.pk, eve.pk)["HX-Redirect"] == reverse("home")
        case "reader":
            Pages(user).post("share_project", project.pk, username="eve", role="reader")
        case "deleted":
            Pages(user).post("delete_project", project.pk)
    message_index.keep_up()
    assert not Conversation.objects.filter(owner=eve).exclude(project=None).exists()
    assert ApiKey.objects.get(pk=key.pk).project is None
    assert "5433" not in asked(llm, new) and "Times are UTC." not in llm.chats[-1].messages[0]["content"]
    if way != "deleted":
        assert "ORION" not in asked(llm, talk(user, project, title="Mine"), "When does the backup on ORION run?")
    read = Api(eve).get(f"/api/conversations/{new.pk}/messages/{reply.pk}/request").json()
    assert "5433" not in str(read["messages"])
    assert hers.messages.count() == 1


def test_a_chat_that_is_in_the_project_by_no_right_has_nothing_of_it(
    user: User, mallory: User, project: Project, profile: ModelProfile, llm: LlmServer
) -> None:
    talk(user, project, PORT)
    row = talk(user, project, title="Kept")
    asked(llm, row, "Always answer in French. Hello?")
    ledger.keep(row, LedgerEntry.objects.get(conversation=row).pk, on=True)
    strange = talk(mallory, None, title="New")
    Conversation.objects.filter(pk=strange.pk).update(project=project)  # no way leads there
    told = asked(llm, strange)
    system = llm.chats[-1].messages[0]["content"]
    assert "5433" not in told and "Times are UTC." not in system and "French" not in system


def test_what_the_owner_keeps_is_in_the_writers_chats(
    user: User, eve: User, project: Project, profile: ModelProfile, llm: LlmServer
) -> None:
    row = talk(user, project, title="Kept")
    asked(llm, row, "Always answer in French. Hello?")
    ledger.keep(row, LedgerEntry.objects.get(conversation=row).pk, on=True)
    project_members.share(project, "eve", "writer")
    asked(llm, talk(eve, project, title="New"))
    assert "Always answer in French." in llm.chats[-1].messages[0]["content"]


def test_a_writers_file_is_the_projects_and_read_by_all(
    user: User, eve: User, project: Project, profile: ModelProfile, llm: LlmServer
) -> None:
    project_members.share(project, "eve", "writer")
    file = project_files.add(project, name="ports.md", data=PORT.encode(), by=eve.pk)
    assert file.owner == user
    page = Pages(eve).get("project", project.pk).content.decode()
    assert "ports.md" in page
    assert PORT in Pages(eve).get("around", file.pk, file.messages.get().pk).content.decode()
    assert PORT in asked(llm, talk(eve, project, title="New"))


def test_the_page_lists_adds_and_removes_people(user: User, eve: User, project: Project) -> None:
    pages = Pages(user)
    assert "People" in pages.get("project", project.pk).content.decode()
    added = pages.post("share_project", project.pk, username=" eve ", role="writer")
    assert added.status_code == 200 and "Remove eve" in added.content.decode()
    wrong = pages.post("share_project", project.pk, username="<nobody>", role="reader")
    assert wrong.status_code == 400 and "“&lt;nobody&gt;”" in wrong.content.decode()
    assert 'value="&lt;nobody&gt;"' in wrong.content.decode()
    for _ in range(2):  # also where another tab has done it
        removed = pages.post("unshare_project", project.pk, eve.pk)
        assert removed.status_code == 200 and "Remove eve" not in removed.content.decode()


def test_a_shared_project_is_in_the_list_of_its_people(user: User, eve: User, mallory: User, project: Project) -> None:
    project_members.share(project, "eve", "reader")
    assert "Billing" in Pages(eve).get("home").content.decode()
    assert "Billing" not in Pages(mallory).get("home").content.decode()


def test_a_person_who_is_deleted_takes_their_part_along(user: User, eve: User, project: Project) -> None:
    project_members.share(project, "eve", "writer")
    eve.delete()
    assert not project_members.members_of(project).exists()


@pytest.mark.parametrize("way", ["off", "gone"])
def test_a_key_follows_no_project_that_is_not_shared_any_more(
    user: User, eve: User, project: Project, settings: Any, way: str
) -> None:
    project_members.share(project, "eve", "writer")
    key = api_keys.create_key(eve, "k").key
    api_keys.give_project(eve, key.pk, project)
    key = ApiKey.objects.select_related("user", "project").get(pk=key.pk)
    assert project_of(RequestFactory().get("/v1/models"), key) == project
    if way == "off":
        settings.SHARED_PROJECTS = False
    else:
        project_members.members_of(project).delete()
    assert project_of(RequestFactory().get("/v1/models"), key) is None
