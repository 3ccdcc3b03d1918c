"""Exports a conversation as Markdown for people; tool calls, and the work of executors for them, are collapsed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from conversations.context.transcript import images_of
from conversations.exchange.agent_runs import runs_of
from conversations.exchange.exports import history_of, in_effect
from conversations.messages.text_files import without_escapes
from conversations.models import AgentStep, Conversation, Message, ToolCall
from conversations.runtime import end_reasons

Steps = dict[int, list[AgentStep]]
"""For each call of the planner: its message, and the executor's work until the planner's next one."""


def as_markdown(conversation: Conversation) -> str:
    messages = list(history_of(conversation))
    steps = steps_of(conversation, messages)
    head = [
        f"# {_one_line(str(conversation))}",
        "",
        f"- Started: {conversation.created_at:%Y-%m-%d %H:%M} UTC",
        f"- Messages: {len(messages)}",
        f"- Compressions: {in_effect(conversation).count()}",
    ]
    return "\n".join([*head, *(line for message in messages for line in _message_lines(message, steps)), ""])


def steps_of(conversation: Conversation, messages: Sequence[Message]) -> Steps:
    """The steps of an agent's executor by the calls that asked for them."""
    found: Steps = {}
    for run in runs_of(conversation, messages, prefetch=("steps__message__tool_calls",)):
        call: int | None = None
        for step in run.steps.all():
            call = step.call_id if step.kind in AgentStep.BY_PLANNER else call
            if call is not None:
                found.setdefault(call, []).append(step)
    return found


def _message_lines(message: Message, steps: Steps) -> Iterator[str]:
    name = f" ({_one_line(message.name)})" if message.name else ""
    yield f"\n## {message.get_role_display()}{name}, {message.created_at:%Y-%m-%d %H:%M}\n"
    if message.content:
        yield message.content
    for image in images_of(message.images):
        yield f"\n{_one_line(image.caption)}"
    if why := end_reasons.cut_off_note(message):
        yield f"\n*{why[:1].upper()}{why[1:]}.*"
    for call in message.tool_calls.all():
        yield from _call_lines(call, steps.get(call.pk, ()))


def _call_lines(call: ToolCall, steps: Sequence[AgentStep] = ()) -> Iterator[str]:
    how = ", failed" if call.status == ToolCall.Status.FAILED else ", not ended" if call.is_unfinished else ""
    yield f"\n<details>\n<summary>Call of <code>{escape(_one_line(call.name))}</code>{how}</summary>"
    if steps:
        for step in steps:
            yield from _step_lines(step)
    else:
        yield f"\n{_fenced(call.arguments)}"
        if result_text := call.error if call.result is None else call.result:
            yield f"\nResult:\n\n{_fenced(without_escapes(result_text))}"
    yield "\n</details>"


def _step_lines(step: AgentStep) -> Iterator[str]:
    yield f"\n**{step.who}, {step.get_kind_display().lower()}**"
    if step.message.content:
        yield "\n" + "\n".join(f"> {line}".rstrip() for line in step.message.content.splitlines())
    for call in step.message.tool_calls.all():
        yield from _call_lines(call)


def _fenced(text: str) -> str:
    """A code block whose fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
