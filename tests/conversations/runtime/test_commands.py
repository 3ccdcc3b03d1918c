from __future__ import annotations

import uuid

import pytest
from django.core.management import CommandError, call_command

from conversations.models import Conversation
from tests.conversations.chat import fill


def test_compact_compresses_a_conversation_and_says_what_came_of_it(
    conversation: Conversation, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(conversation, 20)
    call_command("compact", str(conversation.pk), instructions="keep the ports")
    assert "16 messages by scripted" in capsys.readouterr().out
    conversation.refresh_from_db()
    assert conversation.is_compressed
    call_command("compactions", str(conversation.pk))
    assert "succeeded" in capsys.readouterr().out


def test_compact_says_why_there_was_nothing_to_do(conversation: Conversation) -> None:
    with pytest.raises(CommandError, match="skipped: There is nothing to compact"):
        call_command("compact", str(conversation.pk))


@pytest.mark.parametrize("command", ["compact", "compactions"])
def test_an_unknown_conversation_is_one_clear_line(transactional_db: None, command: str) -> None:
    with pytest.raises(CommandError, match="no conversation"):
        call_command(command, str(uuid.uuid4()))
