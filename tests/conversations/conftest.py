from __future__ import annotations

from typing import Any

import pytest

from tests.conversations.chat import Chat
from tests.llm_server import LlmServer


@pytest.fixture
async def chat(conversation: Any, llm: LlmServer, server_loop: None) -> Chat:
    return Chat(conversation, llm)
