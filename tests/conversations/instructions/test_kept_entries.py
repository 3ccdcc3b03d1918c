"""Entries kept for a project: in each of its chats, in no other, while their own chat holds and shares them."""

from __future__ import annotations

import pytest

from conversations import preferences, projects
from conversations.access import own_conversations
from conversations.context import prompt
from conversations.context.head import head_of
from conversations.context.kept_entries import MAX_KEPT, MAX_KEPT_SHARE, kept_texts
from conversations.context.system_prompt import KEPT_NOTED, KEPT_RULES, OWN_NOTED, OWN_RULES, text
from conversations.errors import Conflict, Invalid, NotFound
from conversations.instructions import conversation_settings as settings
from conversations.instructions import ledger
from conversations.models import Conversation, LedgerEntry, ModelProfile, Project, User
from conversations.turns import branches, forks, turn
from tests.conversations.api_client import Api
from tests.conversations.pages import Pages

pytestmark = pytest.mark.once

RULE = "Always answer in French."


@pytest.fixture
def project(user: User) -> Project:
    return projects.create(user, name="Billing", instructions="Times are UTC.")


def chat(project: Project | None, profile: ModelProfile, owner: User, *rules: str) -> Conversation:
    row = Conversation.objects.create(owner=owner, model=profile, project=project)
    for rule in rules:
        settings.add_rule(row, rule)
    return row


def kept_from(row: Conversation, *, on: bool = True) -> LedgerEntry:
    return ledger.keep(row, row.ledger.latest("decided_at").pk, on=on)


def prompt_of(row: Conversation) -> str:
    return text(prompt.instructions_of(head_of(row.pk)))


def test_a_kept_rule_is_in_each_chat_of_the_project_and_in_no_other(
    user: User, profile: ModelProfile, project: Project
) -> None:
    source, beside, outside = (chat(where, profile, user) for where in (project, project, None))
    elsewhere = chat(projects.create(user, name="Home"), profile, user)
    settings.add_rule(source, RULE)
    assert RULE not in prompt_of(beside)
    kept_from(source)
    assert f"{KEPT_RULES}\n- {RULE}" in prompt_of(beside)
    assert KEPT_RULES not in prompt_of(source), "its own chat has it among its own rules"
    assert RULE not in prompt_of(outside) + prompt_of(elsewhere)
    agent = Conversation.objects.create(owner=user, model=profile, project=project, kind="agent")
    executor = Conversation.objects.create(owner=user, model=profile, kind="executor", parent=agent)
    assert RULE in prompt_of(executor)
    kept_from(source, on=False)
    assert RULE not in prompt_of(beside)


def test_it_leaves_with_its_chat_its_state_and_its_message(user: User, profile: ModelProfile, project: Project) -> None:
    source, beside = chat(project, profile, user, RULE), chat(project, profile, user)
    entry = kept_from(source)
    for leave, come_back in (
        (lambda: settings.change(source, project=None), lambda: settings.change(source, project=project)),
        (lambda: settings.change(source, shares_memory=False), lambda: settings.change(source, shares_memory=True)),
        (lambda: settings.change(beside, shares_memory=False), lambda: settings.change(beside, shares_memory=True)),
        (
            lambda: ledger.choose(source, entry.pk, state="dismissed"),
            lambda: ledger.choose(source, entry.pk, state="in_force"),
        ),
    ):
        leave()
        assert RULE not in prompt_of(beside)
        come_back()
        assert RULE in prompt_of(beside)
    Conversation.objects.filter(pk=source.pk).update(trashed_at="2026-11-26T12:00:00Z")
    assert RULE not in prompt_of(beside)
    source.delete()
    assert RULE not in prompt_of(beside) and not LedgerEntry.objects.filter(pk=entry.pk).exists()


def test_the_later_of_two_that_contradict_is_sent_and_a_note_ends_no_rule(
    user: User, profile: ModelProfile, project: Project
) -> None:
    first, second, beside = (chat(project, profile, user) for _ in range(3))
    settings.add_rule(first, "Always push to main.")
    kept_from(first)
    settings.add_rule(second, "Never push to main.")
    kept_from(second)
    shown = prompt_of(beside)
    assert "Never push to main." in shown and "Always push to main." not in shown
    ledger.choose(second, second.ledger.get().pk, state="noted")
    shown = prompt_of(beside)
    assert "- Always push to main." in shown.split(KEPT_NOTED)[0]
    assert "“Never push to main.”" in shown.split(KEPT_NOTED)[1]


def test_kept_entries_have_their_share_of_the_window_and_their_part_of_the_meter(
    user: User, profile: ModelProfile, project: Project
) -> None:
    source, beside = chat(project, profile, user), chat(project, profile, user)
    before = prompt.project_tokens(head_of(beside.pk))
    for number in range(30):
        settings.add_rule(source, f"Rule {number}: name the file number {number} of every answer in full.")
        kept_from(source)
    head = head_of(beside.pk)
    assert head.window is not None
    rules = kept_texts(head.kept, own=(), window=head.window.size).rules
    assert 0 < len(rules) < 30 and rules[-1].startswith("Rule 29")
    spent = prompt.project_tokens(head) - before
    assert 0 < spent <= MAX_KEPT_SHARE * head.window.size + 60
    assert prompt.opening_tokens(beside, window=head.window) == prompt.system_tokens(head)


def test_what_cannot_be_kept_is_refused_with_its_reason(user: User, profile: ModelProfile, project: Project) -> None:
    outside, inside = chat(None, profile, user, RULE), chat(project, profile, user, RULE)
    with pytest.raises(Conflict, match="shares no memory"):
        kept_from(outside)
    with pytest.raises(NotFound):
        ledger.keep(inside, outside.ledger.get().pk, on=True)
    ledger.choose(inside, inside.ledger.get().pk, state="dismissed")
    with pytest.raises(Conflict, match="in force or noted"):
        kept_from(inside)
    rows = [
        LedgerEntry(conversation=inside, text=f"Note {n}", state="noted", topic=f"t{n}") for n in range(MAX_KEPT + 1)
    ]
    LedgerEntry.objects.bulk_create(rows)
    LedgerEntry.objects.filter(text__startswith="Note").exclude(text="Note 0").update(kept_in=project)
    with pytest.raises(Invalid, match=f"at most {MAX_KEPT}"):
        ledger.keep(inside, LedgerEntry.objects.get(text="Note 0").pk, on=True)


def test_another_persons_project_gives_nothing(
    user: User, profile: ModelProfile, project: Project, django_user_model: type[User]
) -> None:
    other = django_user_model.objects.create_user("bob", password="correct horse battery")
    theirs = chat(projects.create(other, name="Theirs"), profile, other, RULE)
    kept_from(theirs)
    assert RULE not in prompt_of(chat(project, profile, user))
    LedgerEntry.objects.update(kept_in=project)  # as no path of the site stores it
    assert RULE not in prompt_of(own_conversations(user).get())


def test_the_api_keeps_lists_and_releases_an_entry(user: User, profile: ModelProfile, project: Project) -> None:
    api, source = Api(user), chat(project, profile, user, "Always push to main.")
    second = chat(project, profile, user, "Never push to main.")
    ids = []
    for row in (source, second):
        address = f"/api/conversations/{row.pk}/ledger/{row.ledger.get().pk}"
        assert api.patch(address, {"kept": True}).json()["kept"]
        ids.append(str(row.ledger.get().pk))
    items = api.get(f"/api/projects/{project.pk}/ledger").json()["items"]
    assert [(one["id"], one["replaced_by"]) for one in items] == [(ids[1], None), (ids[0], ids[1])]
    assert items[0]["conversation_id"] == str(second.pk)
    assert api.patch(address, {"kept": False}).json()["kept"] is False
    assert len(api.get(f"/api/projects/{project.pk}/ledger").json()["items"]) == 1
    assert api.patch(address, {}).status_code == 400


def test_the_pages_offer_it_where_the_chat_shares_its_memory_and_nowhere_else(
    user: User, profile: ModelProfile, project: Project
) -> None:
    pages, inside, outside = Pages(user), chat(project, profile, user), chat(None, profile, user)
    for row in (inside, outside):
        turn.begin(row, content=RULE)
    offer = "Keep for the project"
    assert offer in pages.get("chat", inside.pk).content.decode()
    assert offer in pages.get("context", inside.pk, htmx=True).content.decode()
    assert offer not in pages.get("chat", outside.pk).content.decode()
    assert offer not in pages.get("context", outside.pk, htmx=True).content.decode()
    entry = inside.ledger.get()
    shown = pages.post("decide", inside.pk, entry.pk, kept="1").content.decode()
    assert "Keep in this chat alone" in shown
    listed = pages.get("project", project.pk).content.decode()
    assert RULE in listed and "Keep in its chat alone" in listed
    assert pages.post("decide", outside.pk, outside.ledger.get().pk, kept="1").status_code == 409
    assert pages.post("choose", inside.pk, entry.pk, kept="").status_code == 200
    assert "Keep in its chat alone" not in pages.get("project", project.pk).content.decode()


def test_a_fork_keeps_nothing_and_new_words_are_kept_in_place_of_the_old(
    user: User, profile: ModelProfile, project: Project
) -> None:
    source, beside = chat(project, profile, user, RULE), chat(project, profile, user)
    kept_from(source)
    copy = forks.fork(source, turn.begin(source, content="Hello").question.pk)
    assert copy.ledger.get().kept_in_id is None
    settings.change(source, rules=["Always answer in German."])
    assert "- Always answer in German." in prompt_of(beside) and RULE not in prompt_of(beside)


@pytest.fixture
def remembers(user: User) -> None:
    preferences.change(user, remembers=True)


def said(row: Conversation, text: str) -> list[LedgerEntry]:
    """The entries of a new message."""
    row.refresh_from_db()
    begun = turn.begin(row, content=text)
    return list(LedgerEntry.objects.filter(message=begun.question.pk))


def test_a_fact_is_asked_about_once_and_kept_for_all_chats_in_no_project(
    user: User, profile: ModelProfile, project: Project, remembers: None
) -> None:
    source, beside, inside = chat(None, profile, user), chat(None, profile, user), chat(project, profile, user)
    (entry,) = said(source, "I live in Lisbon.")
    assert (entry.kind, entry.state, entry.asks_to_keep) == ("fact", "noted", True)
    assert "Lisbon" not in prompt_of(beside), "nothing is kept without an answer"
    ledger.keep(source, entry.pk, on=True)
    assert f"{OWN_NOTED}\n- {entry.said_at:%Y-%m-%d}: “I live in Lisbon.”" in prompt_of(beside)
    assert "Lisbon" not in prompt_of(inside)
    (again,) = said(beside, "I live in Lisbon.")
    assert again.asks_to_keep is None
    (moved,) = said(beside, "I live in Porto.")
    assert "Lisbon" in prompt_of(chat(None, profile, user))
    ledger.keep(beside, moved.pk, on=True)
    assert "Porto" in prompt_of(source) and "Lisbon" not in prompt_of(source)


def test_no_is_an_answer_and_the_question_does_not_come_again(
    user: User, profile: ModelProfile, remembers: None
) -> None:
    source = chat(None, profile, user)
    (entry,) = said(source, "I prefer short answers.")
    assert (entry.kind, entry.asks_to_keep) == ("preference", True)
    assert "short answers" not in prompt_of(chat(None, profile, user))
    assert ledger.keep(source, entry.pk, on=False).asks_to_keep is False
    assert [again.asks_to_keep for again in said(chat(None, profile, user), "I prefer short answers.")] == [None]


def test_the_memory_of_all_chats_is_off_until_it_is_switched_on(user: User, profile: ModelProfile) -> None:
    source = chat(None, profile, user, RULE)
    assert said(source, "I live in Lisbon.") == []
    with pytest.raises(Conflict, match="off"):
        kept_from(source)
    preferences.change(user, remembers=True)
    kept_from(source)
    beside = chat(None, profile, user)
    assert f"{OWN_RULES}\n- {RULE}" in prompt_of(beside)
    preferences.change(user, remembers=False)
    assert RULE not in prompt_of(beside)


def test_what_is_kept_for_all_chats_leaves_with_its_message_its_chat_and_its_place(
    user: User, profile: ModelProfile, project: Project, remembers: None, django_user_model: type[User]
) -> None:
    source, beside = chat(None, profile, user), chat(None, profile, user)
    (entry,) = said(source, "My name is Ana.")
    ledger.keep(source, entry.pk, on=True)
    settings.change(source, project=project)
    assert "Ana" not in prompt_of(beside) + prompt_of(source)
    settings.change(source, project=None)
    settings.change(source, shares_memory=False)
    assert "Ana" not in prompt_of(beside)
    settings.change(source, shares_memory=True)
    assert "Ana" in prompt_of(beside)
    other = django_user_model.objects.create_user("bob", password="correct horse battery")
    preferences.change(other, remembers=True)
    assert "Ana" not in prompt_of(chat(None, profile, other))
    gateway = Conversation.objects.create(owner=user, model=profile, kind="gateway")
    assert head_of(gateway.pk).kept is None
    ledger.withdraw(source.pk, [entry.message], by=source.pk)  # type: ignore[list-item]
    assert "Ana" not in prompt_of(beside)


def test_the_pages_ask_keep_list_and_switch(user: User, profile: ModelProfile) -> None:
    pages, row = Pages(user), chat(None, profile, user)
    assert pages.post("remember_person", on="on").headers["HX-Refresh"] == "true"
    (entry,) = said(row, "I live in Lisbon.")
    assert "Remember this in all chats?" in pages.get("chat", row.pk).content.decode()
    shown = pages.post("decide", row.pk, entry.pk, kept="1").content.decode()
    assert "Remembered in all chats:" in shown and "Remember this" not in shown
    listed = f"{pages.get('remembered').request['PATH_INFO']}?state=kept"
    assert "I live in Lisbon." in pages.client.get(listed).content.decode()
    assert pages.post("choose_remembered", entry.pk, kept="").status_code == 200
    assert "Nothing here yet." in pages.client.get(listed).content.decode()
    pages.post("remember_person")
    assert not preferences.preference_of(user).remembers


def test_a_rule_about_the_same_subject_ends_no_fact(user: User, profile: ModelProfile, remembers: None) -> None:
    source = chat(None, profile, user)
    (entry,) = said(source, "I speak French.")
    ledger.keep(source, entry.pk, on=True)
    said(source, "Always answer in German.")
    assert "I speak French." in prompt_of(chat(None, profile, user))


def test_the_question_is_asked_only_while_its_answer_can_hold(
    user: User, profile: ModelProfile, project: Project, remembers: None
) -> None:
    pages, row = Pages(user), chat(None, profile, user)
    (entry,) = said(row, "I live in Lisbon.")

    def is_asked() -> bool:
        return "Remember this in all chats?" in pages.get("chat", row.pk).content.decode()

    assert is_asked()
    settings.change(row, project=project)
    assert not is_asked(), "a project's chat keeps for its project"
    settings.change(row, project=None)
    preferences.change(user, remembers=False)
    assert not is_asked()
    preferences.change(user, remembers=True)
    assert is_asked()
    ledger.choose(row, entry.pk, state="dismissed")
    assert not is_asked()


def test_an_edit_that_repeats_the_sentence_keeps_the_question_and_the_answer(
    user: User, profile: ModelProfile, remembers: None
) -> None:
    row = chat(None, profile, user)
    for keeps in (False, True):
        (entry,) = said(row, f"My name is Ana{keeps}.")
        if keeps:
            ledger.keep(row, entry.pk, on=True)
        row.messages.filter(role="assistant").update(status="complete")
        assert entry.message is not None
        branches.edit(row, entry.message, content=f"Hello. My name is Ana{keeps}.")
        again = row.ledger.get(is_withdrawn=False, text=entry.text)
        assert again.pk != entry.pk
        assert (again.asks_to_keep, again.kept_for) == ((False, user) if keeps else (True, None))
        row.messages.filter(role="assistant").update(status="complete")
