"""Passages and instructions of projects under random moves: a chat has what its person may read, and nothing else."""

from __future__ import annotations

import random
from typing import Any

import pytest
from django.utils import timezone

from conversations import project_members, projects
from conversations.context import transcript
from conversations.errors import NotFound
from conversations.instructions import conversation_settings
from conversations.memory import message_index, recall
from conversations.models import Conversation, ModelProfile, Project, ProjectMember, User
from tests.conversations.projects.test_projects import talk

STEPS = 40


def may_write(user_id: int, project: Project) -> bool:
    writers = ProjectMember.objects.filter(project=project, role="writer").values_list("user_id", flat=True)
    return user_id == project.owner_id or user_id in set(writers)


def acted(chance: random.Random, people: list[User], folders: list[Project], chats: list[Conversation]) -> None:
    """One random move, as the pages make it; one that is refused changes nothing."""
    folder, person = chance.choice(folders), chance.choice(people)
    chat = Conversation.objects.get(pk=chance.choice(chats).pk)
    match chance.randrange(5):
        case 0 | 1:
            target = chance.choice([None, *folders])
            allowed = target is None or may_write(chat.owner_id, target)
            try:
                conversation_settings.change(chat, project=target)
                assert allowed
            except NotFound:
                assert not allowed
        case 2:
            conversation_settings.change(chat, shares_memory=chance.random() < 0.7)
        case 3 if person.pk != folder.owner_id:
            project_members.share(folder, person.username, chance.choice(["reader", "writer", "writer"]))
        case 4 if ProjectMember.objects.filter(project=folder, user=person).exists():
            project_members.unshare(folder, person.pk)


@pytest.mark.parametrize("seed", range(4))
def test_each_chat_has_what_its_person_may_read_and_nothing_else(
    user: User, profile: ModelProfile, settings: Any, seed: int
) -> None:
    settings.SHARED_PROJECTS = True
    chance = random.Random(seed)
    people = [user, *(User.objects.create(username=name) for name in ("grace", "linus"))]
    folders = [projects.create(one, name=one.username, instructions=f"Of {one.username}.") for one in people]
    chats = [
        talk(people[number % 3], None, f"The harbour code of quay {number} is K{number}Z.", title=f"Quay {number}")
        for number in range(6)
    ]
    for _ in range(STEPS):
        acted(chance, people, folders, chats)
        message_index.keep_up()
        asking = Conversation.objects.select_related("project").get(pk=chance.choice(chats).pk)
        asked = asking.messages.create(
            role="user", content="Which harbour codes have the quays?", created_at=timezone.now()
        )
        loaded = recall.load_for_request(asking.pk)
        asked.delete()
        inside = Conversation.objects.filter(project=asking.project, shares_memory=True).exclude(pk=asking.pk)
        is_shared = asking.project is not None and asking.shares_memory
        may_read = {row.title for row in inside} if is_shared else set()
        quoted = {quote.source.conversation for quote in loaded.recalled.quotes} if loaded.recalled else set()
        assert quoted == may_read
        written = asking.project.instructions if asking.project else ""
        assert transcript.load(asking.pk).head.project_instructions == written
        for row in Conversation.objects.exclude(project=None).select_related("project"):
            assert row.project and may_write(row.owner_id, row.project)
