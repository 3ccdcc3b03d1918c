"""What the flows of an agent save: docs/agents.md's table, `python -m benchmarks.agents`.

A conversation is played message by message: before each one of the assistant, which is a request to a model, and once
more at the end, the flow makes room as it does in a run (`conversations.room`), with a scripted model over HTTP that
writes summaries of the length that it is asked for, and again without a model (the extractive summariser). Then what a
request holds of the history, summary and messages, is set beside the same history uncompressed.

Played are invented conversations, made of the lines of `benchmarks.invented`, and the runs of coding agents in
`../shared/data/swe`: their first 20 messages, and all of them.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import cycle
from typing import Any

from benchmarks.conversations import DATA
from benchmarks.goals import end, note, sized
from benchmarks.invented import ANSWER, ASIDES, TALK
from benchmarks.site import site
from tests.llm_answers import QUOTE, Request, text_of
from tests.llm_server import LlmServer

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
GOALS = {"planner": 65, "executor": 40}
"""Percent that a history of 20 messages is to be smaller."""
RESULT = 2_000
"""Characters of an invented tool's result: all of it is sent."""
MESSAGES = 20
COLUMNS = (
    "summariser", "messages", "history", "at once", "smaller", "played", "smaller", "at most", "summaries",
    "their tokens", "sent without", "sent with", "saved", "facts kept",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Said:
    """A message; `results` are those of the tools that it calls."""

    role: str
    content: str
    results: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Play:
    name: str
    flow: str
    lines: tuple[Said, ...]


@dataclass
class Tally:
    """Tokens of history, by our own count: of the last request without compression and with it, at once and played;
    the most of any; of all together, with and without; and what the summaries cost."""

    before: int = 0
    at_once: int = 0
    after: int = 0
    peak: int = 0
    sent: int = 0
    whole: int = 0
    summaries: int = 0
    spent: int = 0
    facts: list[tuple[int, int]] = field(default_factory=list)


def reduced(after: int, before: int) -> float:
    """Percent."""
    return 100 * (1 - after / before)


def main() -> None:
    if not list(DATA.glob("swe/*.json")):
        print(f"The real runs are not there ({DATA}): only invented ones are played.", file=sys.stderr)
    with LlmServer() as llm, site():
        llm.default_summary = summary_of
        for flow in GOALS:
            print(f"| {flow} | {' | '.join(COLUMNS)} |\n| --- | --- |{' ---: |' * (len(COLUMNS) - 1)}")
            chosen = [play for play in plays() if play.flow == flow]
            for play in sized(chosen, small=[chosen[0], chosen[-1]]):
                for summariser in ("model", "extractive"):
                    tally = asyncio.run(played(play, llm, summariser=summariser))
                    tally.at_once = asyncio.run(played(play, llm, summariser=summariser, at_once=True)).after
                    print(line(play, summariser, tally), flush=True)
                    found = reduced(tally.at_once if flow == "planner" else tally.after, tally.before)
                    is_met = len(play.lines) < MESSAGES or found >= GOALS[flow]
                    note(is_met, f"{flow}, {play.name}, {summariser}: {found:.1f} %, not {GOALS[flow]} %")
            print()
    end()


def line(play: Play, summariser: str, tally: Tally) -> str:
    found, kept = (sum(each) for each in zip(*tally.facts, strict=True)) if tally.facts else (0, 0)
    cells = [
        play.name, summariser, str(len(play.lines)), f"{tally.before:,}",
        f"{tally.at_once:,}", f"{reduced(tally.at_once, tally.before):.1f} %",
        f"{tally.after:,}", f"{reduced(tally.after, tally.before):.1f} %", f"{tally.peak:,}",
        str(tally.summaries), f"{tally.spent:,}", f"{tally.whole:,}", f"{tally.sent:,}",
        f"{reduced(tally.sent + tally.spent, tally.whole):.1f} %", f"{kept} of {found}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def plays() -> Iterator[Play]:
    yield Play("invented, 180 tokens a message", "planner", invented(180))
    yield Play("invented, 250 tokens a message", "planner", invented(250))
    yield Play("invented, 500 tokens a message", "planner", invented(500))
    yield Play("invented, 1,000 tokens a message", "planner", invented(1_000))
    yield Play("invented, 100 tokens a message", "executor", invented(100))
    yield Play("invented, 200 tokens a message", "executor", invented(200))
    yield Play("invented, 10 turns with a tool each", "executor", with_tools(invented(100), 1))
    yield Play("invented, one turn of 25 requests", "executor", with_tools(invented(60)[:2], 24))
    for path in sorted(DATA.glob("swe/*.json")):
        lines = real(json.loads(path.read_text())["messages"])
        for flow in GOALS:
            if len(lines) > MESSAGES:
                yield Play(f"{path.stem}, the first {MESSAGES}", flow, lines[:MESSAGES])
            yield Play(f"{path.stem}, all", flow, lines)


def invented(tokens: int) -> tuple[Said, ...]:
    """20 messages of about that many tokens each, no two of them the same."""
    return tuple(Said(("user", "assistant")[number % 2], words(number, tokens)) for number in range(MESSAGES))


def words(number: int, tokens: int) -> str:
    """Lines with facts of their own: each names ports, paths and times that stand in no other message."""
    from compression.core.tokens import count_tokens

    lines: list[str] = []
    for each, said in enumerate(cycle((*TALK, *ASIDES, ANSWER.split("\n")[0]))):
        place = 100 * number + each
        lines.append(f"{said} (step {place}: /srv/step{place}/run.log, port {6_000 + place}, {each + 2} min)")
        if count_tokens(" ".join(lines)) >= tokens:
            return " ".join(lines)
    raise AssertionError


def with_tools(lines: Sequence[Said], calls: int) -> tuple[Said, ...]:
    """The same with `calls` tools called, one after the other, before each answer."""
    found: list[Said] = []
    for number, said in enumerate(lines):
        if said.role == "assistant":
            results = (words(1_000 * number + each, 500)[:RESULT] for each in range(calls))
            found += [Said("assistant", "", (result,)) for result in results]
        found.append(said)
    return tuple(found)


def real(messages: Sequence[dict[str, Any]]) -> tuple[Said, ...]:
    """A coding agent's run: what was to be done comes first, and each result belongs to the call before it."""
    found: list[Said] = []
    for message in (one for one in messages if one["role"] != "system"):
        if message["role"] == "tool" and found:
            found[-1] = replace(found[-1], results=(*found[-1].results, message["content"]))
        else:
            found.append(Said(message["role"], message["content"]))
    return tuple(found)


async def played(play: Play, llm: LlmServer, *, summariser: str, at_once: bool = False) -> Tally:
    """`at_once`: all of it is there when the first request is made, as after an import."""
    from asgiref.sync import sync_to_async

    conversation = await sync_to_async(begun)(play, llm, summariser)
    tally = Tally()
    for number, said in enumerate((*play.lines, Said("user", "Go on."))):
        if said.role == "assistant" and not at_once:
            await request(conversation, tally)
        await sync_to_async(written)(conversation, said, number, protected=number == 0 and play.flow == "executor")
    await request(conversation, tally)
    await sync_to_async(count)(conversation, tally)
    return tally


async def request(conversation: Any, tally: Tally) -> None:
    """Room is made for one, and what it holds of the history is counted."""
    from asgiref.sync import sync_to_async

    from conversations.compaction import trigger
    from conversations.context import transcript

    loaded = await trigger.ensure_room(conversation.pk)
    usage = loaded.usage(system_tokens=0)
    whole = await sync_to_async(transcript.between)(conversation.pk, None, START + timedelta(days=1))
    assert usage is not None
    tally.before, tally.after = sum(turn.tokens for turn in whole), usage.total
    tally.whole += tally.before
    tally.sent += tally.after
    tally.peak = max(tally.peak, tally.after)


def count(conversation: Any, tally: Tally) -> None:
    from compression.models import Compaction

    rows = list(Compaction.objects.filter(conversation=conversation))
    assert all(row.flow == conversation.kind.replace("agent", "planner") for row in rows)
    done = [row for row in rows if row.status == Compaction.Status.SUCCEEDED]
    assert len(done) == len(rows), [(row.status, row.error) for row in rows]
    tally.summaries = len(done)
    tally.spent = sum(row.prompt_tokens + row.completion_tokens for row in rows)
    tally.facts = [(row.facts_found, row.facts_kept) for row in rows]


def begun(play: Play, llm: LlmServer, summariser: str) -> Any:
    from django.contrib.auth import get_user_model

    from compression.models import KeptSummary
    from conversations.models import Conversation, ModelProfile

    profile, _ = ModelProfile.objects.get_or_create(
        name="scripted",
        defaults={
            "model_id": "m",
            "base_url": llm.url,
            "window": 128_000,
            "token_correction": 1.0,
            "calls_tools": True,
        },
    )
    # An answer that was kept would save a call that is counted.
    KeptSummary.objects.all().delete()
    policy = {"summariser": "extractive"} if summariser == "extractive" else {}
    kind = {"planner": "agent"}.get(play.flow, play.flow)
    owner = get_user_model().objects.get()
    return Conversation.objects.create(owner=owner, model=profile, kind=kind, policy=policy)


def written(conversation: Any, said: Said, number: int, *, protected: bool) -> None:
    """A message's row, as it is counted when it is sent."""
    from compression.core.values import ToolUse
    from conversations.context import transcript
    from conversations.models import Message, ToolCall

    uses = [ToolUse(f"call{number}-{each}", "read", f'{{"step": {each}}}', it) for each, it in enumerate(said.results)]
    message = Message.objects.create(
        conversation=conversation,
        role=said.role,
        content=said.content,
        created_at=START + timedelta(seconds=number),
        token_count=transcript.message_tokens(said.content, uses, role=said.role),
        is_protected=protected,
    )
    ToolCall.objects.bulk_create(
        ToolCall(
            message=message, call_id=use.call_id, name=use.name, arguments=use.arguments, result=use.result,
            created_at=message.created_at,
        )
        for use in uses
    )  # fmt: skip


def summary_of(asked: Request) -> str:
    """What a model that does as it is told would write: the text's most important facts, in as many words as asked."""
    from compression.core.extractive.summariser import extract
    from compression.core.tokens import count_tokens
    from compression.core.values import Turn

    text = text_of(asked.messages[-1])
    quotes = [found[2] for found in QUOTE.finditer(text)]
    most = int(text_of(asked.messages[0]).split(" words, with exactly")[0].rsplit(" ", 1)[1])
    turns = [Turn(str(n), "user", quote, START, count_tokens(quote)) for n, quote in enumerate(quotes)]
    return extract(turns, earlier="", max_tokens=int(most / 0.7), count=count_tokens)


if __name__ == "__main__":
    main()
