"""Chat templates that refuse histories which OpenAI's own models take: how servers say so, and what they accept.

vLLM, llama.cpp, LM Studio and Mistral render a request with the template of the model. Many templates take one system
message at the beginning and the roles user and assistant in turn; some take no system message at all.
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

from conversations.llm.anthropic_blocks import OPENING
from conversations.models import ModelProfile

ChatTemplate = ModelProfile.ChatTemplate
Message = dict[str, Any]

STATUSES = (400, 422, 500)
"""400 is how vLLM and Mistral refuse messages, 500 how llama.cpp does."""
UNANSWERED = "[No reply.]"
"""Said for the assistant where a person speaks right after the result of a tool."""
GO_ON = "[Go on.]"
"""Said for the person where a reply comes last."""

_ORDER = re.compile(
    r"roles? must alternate|system message must be|unexpected role|expected last role|no user query found"
    r"|(?:first|last) message (?:must|should)|must (?:start|begin|end) with an? (?:user|assistant)|jinja|chat.template",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(
    r"system (?:role|message|prompt|instruction)s?\b.{0,40}\bnot\b.{0,12}\b(?:support|allow|enabl)"
    r"|(?:not support|unsupported|invalid|unknown)\w* (?:a |the )?(?:role:? )?['\"]?system\b"
    r"|only (?:the )?['\"]?user['\"]?,? (?:and|or) ['\"]?(?:assistant|model)['\"]? roles? are (?:supported|allowed)",
    re.IGNORECASE,
)


def corrected(template: str, complaint: str, messages: Sequence[Message], *, status: int) -> str | None:
    """The next stricter template to try after a refusal, None where the complaint is about something else.

    A template that would leave the messages as they were refused is skipped.
    """
    if status not in STATUSES:
        return None
    without_system = _NO_SYSTEM.search(complaint) is not None
    if not without_system and not _ORDER.search(complaint):
        return None
    refused = shaped(messages, template)
    stricter = [ChatTemplate.NO_SYSTEM] if without_system else [ChatTemplate.STRICT, ChatTemplate.NO_SYSTEM]
    order = list(ChatTemplate)
    later = (one for one in stricter if order.index(one) > order.index(ChatTemplate(template)))
    return next((one.value for one in later if shaped(messages, one) != refused), None)


async def remember(profile: ModelProfile, template: str) -> None:
    """Store what a server taught, for all processes and later starts; a reply never fails for it."""
    rows = ModelProfile.objects.filter(pk=profile.pk, model_id=profile.model_id, base_url=profile.base_url)
    with suppress(DatabaseError):
        await sync_to_async(partial(rows.update, chat_template=template))()
    profile.chat_template = template


def shaped(messages: Sequence[Message], template: str) -> list[Message]:
    """The messages as a template takes them; those of a free one are unchanged.

    Texts of one role that stand side by side are joined by a blank line. System messages in the middle become the
    user's, as for Anthropic's API. Calls of tools and their results stay as they are.
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
    """Neighbours of one role as one; nothing is added to a message that has called tools, or to a result."""
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
    """The fields of both; names of different speakers are put before their words."""
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
    """A person speaks first and last, and never right after the result of a tool."""
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
        yield {"role": "user", "content": GO_ON}
