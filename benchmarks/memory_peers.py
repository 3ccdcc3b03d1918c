"""What others keep of the same chats: the last messages, BM25, LangChain's summaries, LlamaIndex's memory.

Those from PyPI live in an environment of their own (`make bench-memory` installs it), in a process of its own.

- **last messages**: cut at the same share of the window, down to half of it.
- **BM25**: the last four messages, and of the others those that rank first for the question (rank-bm25's BM25Okapi, its
  own defaults, words in lower case), until as many tokens are taken as ours take in that window.
- **LangChain**: its SummarizationMiddleware. Its summaries are those of our selection without a model, as long as all
  of ours together may be, so that what differs is what it does with them. It is begun at the same share of the window
  and keeps its usual 20 messages, or half of the window where these are more than that.
- **LlamaIndex**: its Memory with a VectorMemoryBlock, whose embeddings are those that WordLlama ships with (256
  dimensions). It may take as many tokens as a request of ours before a compaction, and has its own defaults besides.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple, Protocol

from benchmarks import intervals
from benchmarks.measures import content
from benchmarks.questions import questions_of, share
from compression.core.extractive.summariser import extract
from compression.core.plan.policy import Policy
from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD, Turn, Window

PEERS = Path(__file__).resolve().parents[1] / "var" / "peers"
KEPT, LAST = 20, 4
FULL, TARGET = 0.8, 0.5
Messages = list[dict[str, Any]]


class Kept(NamedTuple):
    """The share of the answer's words, the tokens and the milliseconds of each question's request."""

    shares: list[float]
    tokens: list[float]
    ms: list[float]


class Peer(Protocol):
    """One chat in one window, as another system keeps it."""

    def add(self, message: dict[str, Any]) -> None: ...

    def request(self, question: str) -> Messages: ...


def lived(
    chats: Sequence[dict[str, Any]], windows: Sequence[int], tokens: Sequence[float]
) -> dict[str, list[tuple[float, float]]]:
    """(tokens of a request, share of the answers' words) in each window, of each; it is printed too.

    `tokens` are those of a request of ours in each window, none where the chats are not there.
    """
    shares: dict[str, list[tuple[float, float]]] = {}
    packages = next(PEERS.glob("lib/*/site-packages"), None)
    for window, ours in zip(windows, tokens, strict=False):
        rows = {"last messages": kept_by(chats, lambda window=window: LastMessages(window))}
        for name in IN_A_PROCESS:
            if packages:
                rows[name] = _in_its_own_process(name, chats, window, int(ours), packages)
            else:
                print(f"   {name} is not installed: make bench-memory does that")
        for name, kept in rows.items():
            figures = f"{intervals.written(kept.shares)}  {mean(kept.tokens):,.0f} tokens a request"
            print(f"   {name}, window {window:,}: {figures}, {median(kept.ms):.0f} ms", flush=True)
            shares.setdefault(name, []).append((mean(kept.tokens), mean(kept.shares)))
    return shares


def kept_by(chats: Sequence[dict[str, Any]], peer_of: Callable[[], Peer]) -> Kept:
    kept = Kept([], [], [])
    for chat in chats:
        peer = peer_of()
        for message in chat["messages"]:
            peer.add(message)
        for question in questions_of(chat):
            if question.answer:
                began = time.perf_counter()
                asked = peer.request(question.text)
                kept.ms.append(1e3 * (time.perf_counter() - began))
                words = content("\n".join(message["content"] for message in asked))
                kept.shares.append(share(question.answer, words))
                kept.tokens.append(tokens_of(asked) + cost({"content": question.text}))
    return kept


def cost(message: dict[str, Any]) -> int:
    return count_tokens(message["content"]) + MESSAGE_OVERHEAD


def tokens_of(messages: Messages) -> int:
    return sum(map(cost, messages))


class Shortened:
    """A list of messages that is shortened before each message of the person, as ours makes room."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.messages: Messages = []

    def add(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        if message["role"] == "user":
            self.messages = self.shorten(self.messages)

    def request(self, question: str) -> Messages:
        return self.shorten([*self.messages, {"role": "user", "content": question}])[:-1]

    def shorten(self, messages: Messages) -> Messages:
        raise NotImplementedError


class LastMessages(Shortened):
    def shorten(self, messages: Messages) -> Messages:
        total = tokens_of(messages)
        if total < FULL * self.window:
            return messages
        kept = list(messages)
        while len(kept) > 1 and total > TARGET * self.window:
            total -= cost(kept.pop(0))
        return kept


class Bm25:
    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.messages: Messages = []
        self.index: Any = None

    def add(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    def request(self, question: str) -> Messages:
        from rank_bm25 import BM25Okapi

        if self.index is None:
            self.index = BM25Okapi([words_of(message["content"]) for message in self.messages])
        scores = self.index.get_scores(words_of(question))
        last = len(self.messages) - LAST
        taken = set(range(max(last, 0), len(self.messages)))
        left = self.tokens - cost({"content": question}) - sum(cost(self.messages[at]) for at in taken)
        for at in sorted(range(max(last, 0)), key=lambda at: -scores[at]):
            if cost(self.messages[at]) <= left:
                taken.add(at)
                left -= cost(self.messages[at])
        return [self.messages[at] for at in sorted(taken)]


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


class LangChain(Shortened):
    """LangChain's own middleware, asked as an agent asks it before each call of its model."""

    def shorten(self, messages: Messages) -> Messages:
        from langchain.agents.middleware import SummarizationMiddleware
        from langchain_core.language_models import FakeListChatModel
        from langchain_core.messages import AIMessage, HumanMessage

        window = self.window

        def tokens(them: Sequence[Any]) -> int:
            return sum(count_tokens(str(one.content)) + MESSAGE_OVERHEAD for one in them)

        def summary(them: Sequence[Any]) -> str:
            turns = [turn_of(number, one.type == "human", str(one.content)) for number, one in enumerate(them)]
            room = Policy().context_budget(Window(window, min(1_000, window // 4)))
            return extract(turns, earlier="", max_tokens=room, count=count_tokens)

        half = int(TARGET * window)
        middleware: Any = SummarizationMiddleware(
            FakeListChatModel(responses=[""]),
            trigger=("tokens", int(FULL * window)),
            keep=("messages", KEPT) if tokens_of(messages[-KEPT:]) < half else ("tokens", half),
            token_counter=tokens,
            trim_tokens_to_summarize=None,
            summarizer=summary,
        )
        kinds = {"user": HumanMessage, "assistant": AIMessage}
        state = [kinds.get(message["role"], HumanMessage)(message["content"]) for message in messages]
        if not (update := middleware.before_model({"messages": state}, None)):
            return messages
        return [
            {"role": "user" if one.type == "human" else "assistant", "content": str(one.content)}
            for one in update["messages"][1:]
        ]


class LlamaIndex:
    """LlamaIndex's memory, asked as its agents ask it: the question is put, then all that is to be sent is got."""

    def __init__(self, window: int) -> None:
        from benchmarks.llama_memory import memory

        self.memory = memory(int(FULL * window))
        self.loop = asyncio.new_event_loop()

    def add(self, message: dict[str, Any]) -> None:
        from llama_index.core.llms import ChatMessage

        role = message["role"] if message["role"] in ("user", "assistant") else "user"
        self.loop.run_until_complete(self.memory.aput(ChatMessage(role=role, content=message["content"])))

    def request(self, question: str) -> Messages:
        from llama_index.core.llms import ChatMessage

        messages = self.loop.run_until_complete(self.memory.aget(input=ChatMessage(role="user", content=question)))
        return [{"role": one.role.value, "content": one.content or ""} for one in messages]


IN_A_PROCESS: dict[str, Callable[[int, int], Peer]] = {
    "BM25": lambda window, tokens: Bm25(tokens),
    "LangChain": lambda window, tokens: LangChain(window),
    "LlamaIndex": lambda window, tokens: LlamaIndex(window),
}


def turn_of(number: int, is_persons: bool, text: str) -> Turn:
    from datetime import UTC, datetime, timedelta

    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
    return Turn(str(number), "user" if is_persons else "assistant", text, at, count_tokens(text) + MESSAGE_OVERHEAD)


def _in_its_own_process(name: str, chats: Sequence[dict[str, Any]], window: int, tokens: int, packages: Path) -> Kept:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(packages), *filter(None, sys.path)])}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory_peers", name, str(window), str(tokens)],
        input=json.dumps(list(chats)), capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    return Kept(*json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    name, window, tokens = sys.argv[1:]
    print(json.dumps(kept_by(json.load(sys.stdin), lambda: IN_A_PROCESS[name](int(window), int(tokens)))))
