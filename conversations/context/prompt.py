"""Builds the request to a model: the system prompt, the summary, kept and live messages, always in this order.

Passages recalled from the compacted part stand right before their question: everything before them stays the same from
turn to turn, so that a provider's cache can serve it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from django.conf import settings

from compression.core.values import Transcript, Turn, Window
from conversations.context import system_prompt, transcript
from conversations.context.head import Head, tools_for
from conversations.context.kept_entries import KeptTexts, column_of, kept_texts
from conversations.context.system_prompt import Instructions, noted_lines
from conversations.context.transcript import Loaded
from conversations.llm import tools as llm_tools
from conversations.llm.known_models import UNKNOWN_WINDOW
from conversations.llm.request import REFERENCE, Prompt
from conversations.models import Conversation

MAX_IMAGE_BYTES = 20_000_000
"""The most bytes of images in a request; older images are sent as names.

Providers accept about 30 MB, and base64 adds a third.
"""
MAX_IMAGES = 20
"""The most images in a request: with more, Anthropic refuses images with sides of over 2,000 pixels."""


def assemble(loaded: Loaded, *, may_call: bool = True) -> Prompt:
    """The request for a loaded conversation, whose last live message is the one to answer.

    Without `may_call`, the model gets its tools' definitions but must not call them.
    """
    messages: list[dict[str, Any]] = [{"role": "system", "content": system_prompt.text(instructions_of(loaded.head))}]
    if loaded.head.compressed_context is not None:
        messages.append({"role": settings.COMPRESSION_SUMMARY_ROLE, "content": loaded.head.compressed_context})
    visible = turns_with_images(loaded.turns) if loaded.head.can_see else ()
    recurring = None
    for turn in loaded.turns:
        if loaded.recalled and turn.id == loaded.recalled.before:
            recurring = len(messages)
            messages.append(loaded.recalled.message)
        messages.extend(as_messages(turn, with_images=turn.id in visible, instructs=instructs(loaded.head)))
    recurring = len(messages) if recurring is None else recurring
    return Prompt(tuple(messages), loaded.head.id, loaded.head.tools, may_call, recurring)


def instructions_of(head: Head) -> Instructions:
    """The content of the conversation's system prompt."""
    window = head.window.size if head.window else UNKNOWN_WINDOW
    return Instructions(
        head.mode,
        head.system_prompt,
        head.goal,
        tuple(head.rules),
        noted_lines(head.noted, cut=head.compressed_at, window=window),
        window,
        head.kind,
        bool(head.tools),
        head.project_instructions,
        kept_texts(head.kept, own=tuple(head.rules), window=window),
    )


def system_tokens(head: Head) -> int:
    """Tokens of the system prompt and of the offered tools, which every request begins with."""
    return system_prompt.tokens(instructions_of(head)) + llm_tools.tokens(head.tools)


def project_tokens(head: Head) -> int:
    """The tokens that the project's instructions and kept entries add to the system prompt, by our own count."""
    instructions = instructions_of(head)
    if instructions.kept.is_personal:
        return 0
    without = instructions._replace(project="", kept=KeptTexts())
    return system_prompt.tokens(instructions) - system_prompt.tokens(without) if without != instructions else 0


def request_transcript(loaded: Loaded) -> Transcript:
    """The next request as the engine's transcript, with the figures of the meter; its checkpoints are not read."""
    assert loaded.head.window is not None, "without a model there is no request"
    return Transcript(
        turns=loaded.turns,
        window=loaded.head.window,
        system_tokens=system_tokens(loaded.head),
        context_tokens=loaded.head.compressed_tokens,
        cut=loaded.head.compressed_at,
        waiting=loaded.waiting,
    )


def opening_tokens(
    conversation: Conversation,
    *,
    window: Window | None,
    rules: Sequence[str] | None = None,
    goal: str | None = None,
    calls: bool | None = None,
) -> int:
    """Tokens of the system prompt and tools of a conversation that may be unsaved, or have other rules or goal.

    An executor's conversation has its agent's prompt and rules. `calls`: the model can call tools (None: as the
    conversation's own model).
    """
    person = conversation.parent or conversation
    can_call = bool(conversation.model and conversation.model.can_call) if calls is None else calls
    tools = tools_for(conversation) if conversation.uses_tools and can_call else ()
    size = window.size if window else UNKNOWN_WINDOW
    instructions = Instructions(
        conversation.mode,
        person.system_prompt,
        conversation.goal_text if goal is None else goal,
        tuple(person.rules if rules is None else rules),
        noted_lines(conversation.noted, cut=conversation.compressed_at, window=size),
        size,
        conversation.kind,
        bool(tools),
        person.project.instructions if person.project else "",
        kept_texts(column_of(person), own=tuple(person.rules if rules is None else rules), window=size),
    )
    return system_prompt.tokens(instructions) + llm_tools.tokens(tools)


def turns_with_images(turns: Sequence[Turn]) -> Collection[str]:
    """Ids of the turns whose images are sent: the latest ones, as many as a request can hold."""
    ids: set[str] = set()
    room, places = MAX_IMAGE_BYTES, MAX_IMAGES
    for turn in reversed(turns):
        room -= sum(image.size for image in turn.images)
        places -= len(turn.images)
        if room < 0 or places < 0:
            break
        if turn.images:
            ids.add(turn.id)
    return ids


def instructs(head: Head) -> bool:
    """Whether system messages in the history instruct the model: only those of the gateway's callers do."""
    return head.kind == Conversation.Kind.GATEWAY


def as_messages(turn: Turn, *, with_images: bool = False, instructs: bool = False) -> Iterator[dict[str, Any]]:
    """A message of the history as it is sent, then the results of its tool calls, which are already cut.

    Without `with_images`, images are sent as names. Without `instructs`, a system message is sent as a record.
    """
    turn = transcript.without_results(turn) if turn.elided else turn
    if turn.role in transcript.PREFIXES and not (instructs and turn.role == "system"):
        yield {"role": "user", "content": transcript.as_sent(turn.role, turn.content)}
        return
    message: dict[str, Any] = {"role": turn.role, "content": _parts(turn) if with_images else turn.captioned}
    if turn.tools:
        message["tool_calls"] = [
            {"id": use.call_id, "type": "function", "function": {"name": use.name, "arguments": use.arguments}}
            for use in turn.tools
        ]
    yield message
    for use in turn.tools:
        result = transcript.NO_RESULT if use.result is None else use.result
        yield {"role": "tool", "tool_call_id": use.call_id, "content": result}


def _parts(turn: Turn) -> list[dict[str, Any]]:
    words = [{"type": "text", "text": turn.content}] if turn.content.strip() else []
    urls = [f"{REFERENCE}{image.hash}" for image in turn.images]
    return [*words, *({"type": "image_url", "image_url": {"url": url}} for url in urls)]
