"""Adapts messages to chat templates that refuse some histories, and recognises those refusals.

vLLM, llama.cpp, LM Studio and Mistral render a request with the model's chat template. Many templates accept only one
system message, at the beginning, and the roles user and assistant in turn; some accept no system message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import takewhile
from typing import Any

from asgiref.sync import sync_to_async
from django.db import DatabaseError

from conversations.llm.providers.anthropic_blocks import OPENING
from conversations.models import ModelProfile

ChatTemplate = ModelProfile.ChatTemplate
Message = dict[str, Any]

STATUSES = (400, 422, 500)
"""HTTP statuses of these refusals: 400 of vLLM and Mistral, 500 of llama.cpp."""
UNANSWERED = "[No reply.]"
"""An assistant message inserted between a tool's result and a user message."""
CONTINUATION = "[Go on.]"
"""A user message appended after a reply that is the last message."""

_ORDER = re.compile(
    r"roles? must alternate|system message (?:must be|in the middle)|unexpected role|expected last role"
    r"|no user query found|(?:first|last) message (?:role )?(?:must|should)"
    r"|must (?:start|begin|end) with an? (?:user|assistant)"
    r"|(?:role|user|message|request|conversation)s?\b.{0,60}\balternat(?:e|es|ing)\b|multiturn requests|turn comes"
    r"|system\b.{0,60}(?:(?:at|in) the (?:beginning|start|top)|(?:come|be) first|at index 0|开头)"
    r"|only (?:one|the first) (?:system )?message\b.{0,20}(?:allowed|system)|system after"
    r"|consecutive .{0,20}messages|expected user role|jinja|chat.template",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(
    r"(?:system|developer) (?:role|message|prompt|instruction)s?\b.{0,40}\bnot\b.{0,12}\b(?:support|allow|enabl)"
    r"|(?:not support|unsupported|invalid|unknown)\w* (?:a |the )?(?:role:? )?['\"]?system\b"
    r"|only (?:the )?['\"]?user['\"]?,? (?:and|or) ['\"]?(?:assistant|model)['\"]? roles? are (?:supported|allowed)",
    re.IGNORECASE,
)


def corrected(template: str, complaint: str, messages: Sequence[Message], *, status: int) -> str | None:
    """The next stricter template to try after a refusal, None if the error has another reason.

    A template that would not change the refused messages is skipped.
    """
    if status not in STATUSES:
        return None
    without_system = _NO_SYSTEM.search(complaint) is not None
    if not without_system and not _ORDER.search(complaint):
        return None
    refused = shaped(messages, template)
    stricter = [ChatTemplate.NO_SYSTEM] if without_system else [ChatTemplate.STRICT, ChatTemplate.NO_SYSTEM]
    order = list(ChatTemplate)
    later = (
        stricter_template
        for stricter_template in stricter
        if order.index(stricter_template) > order.index(ChatTemplate(template))
    )
    return next(
        (stricter_template.value for stricter_template in later if shaped(messages, stricter_template) != refused), None
    )


async def remember(profile: ModelProfile, template: str) -> None:
    """Store the template that a server accepted, for all processes; database errors are ignored."""
    rows = ModelProfile.objects.filter(pk=profile.pk, model_id=profile.model_id, base_url=profile.base_url)
    with suppress(DatabaseError):
        await sync_to_async(partial(rows.update, chat_template=template))()
    profile.chat_template = template


def shaped(messages: Sequence[Message], template: str) -> list[Message]:
    """The messages in the form that a template accepts; FREE changes nothing.

    Adjacent texts of the same role are joined by a blank line. System messages in the middle become the user's, as
    for Anthropic's API. Tool calls and their results do not change.
    """
    if template == ChatTemplate.FREE:
        return list(messages)
    leading = list(takewhile(_is_system, messages))
    opening = [message | {"role": "system" if template == ChatTemplate.STRICT else "user"} for message in leading]
    later = [message | {"role": "user"} if _is_system(message) else message for message in messages[len(leading) :]]
    return list(_in_turn(_joined([*opening, *later])))


def _is_system(message: Message) -> bool:
    return message["role"] in ("system", "developer")


def _joined(messages: Sequence[Message]) -> Iterator[Message]:
    """Adjacent messages of the same role joined into one, except messages with tool calls and tools' results."""
    before: Message | None = None
    for message in messages:
        if before is not None and _may_join(before, message):
            before = _both(before, message)
            continue
        if before is not None:
            yield before
        before = message
    if before is not None:
        yield before


def _may_join(before: Message, message: Message) -> bool:
    is_alike = before["role"] == message["role"] and message["role"] in ("system", "user", "assistant")
    return is_alike and not (before.get("tool_calls") or before.get("function_call"))


def _both(before: Message, message: Message) -> Message:
    """Two messages joined into one; names of different speakers are put before their texts."""
    if before.get("name") == message.get("name"):
        return before | message | {"content": _content(before.get("content"), message.get("content"))}
    content = _content(_named(before), _named(message))
    return {name: value for name, value in (before | message).items() if name != "name"} | {"content": content}


def _named(message: Message) -> Any:
    name, content = message.get("name"), message.get("content")
    if not name:
        return content
    if isinstance(content, list):
        return [{"type": "text", "text": f"{name}:"}, *content]
    return f"{name}: {content or ''}"


def _content(before: Any, after: Any) -> Any:
    if not before or not after:
        return before or after
    if isinstance(before, str) and isinstance(after, str):
        return f"{before}\n\n{after}"
    return [*_parts(before), *_parts(after)]


def _parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _in_turn(messages: Iterable[Message]) -> Iterator[Message]:
    """The messages with others inserted, so that the user's is first and last and never follows a tool's result."""
    before = ""
    for message in messages:
        role = message["role"]
        if before in ("", "system") and role not in ("system", "user"):
            yield {"role": "user", "content": OPENING}
        if before in ("tool", "function") and role == "user":
            yield {"role": "assistant", "content": UNANSWERED}
        yield message
        before = role
    if before == "assistant":
        yield {"role": "user", "content": CONTINUATION}
