"""What others keep of the same chats: LangChain's SummarizationMiddleware, and the last messages alone.

LangChain's middleware lives in an environment of its own (`make bench-memory` installs it), in a process of its own.
Its summaries are those of our selection without a model, as long as all of ours together may be, so that what differs
is what it does with them. It is begun at the same share of the window and keeps its usual 20 messages, or half of the
window where these are more than that. The last messages are cut at the same share, down to half of the window.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.measures import content
from compression.core.extractive.summariser import extract
from compression.core.plan.policy import Policy
from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD, Turn, Window

PEERS = Path(__file__).resolve().parents[1] / "var" / "peers"
KEPT = 20
FULL, TARGET = 0.8, 0.5
Messages = list[dict[str, Any]]


def lived(chats: Sequence[dict[str, Any]], windows: Sequence[int]) -> dict[str, list[tuple[float, float]]]:
    """(window, mean share of the answers' words) by window, of each; it is printed too."""
    shares: dict[str, list[tuple[float, float]]] = {}
    for window in windows:
        rows = {"last messages": kept_by(chats, window, last_messages)}
        if packages := next(PEERS.glob("lib/*/site-packages"), None):
            rows["LangChain"] = _in_its_own_process(chats, window, packages)
        else:
            print("   LangChain is not installed: make bench-memory does that")
        for name, (share, tokens) in rows.items():
            print(f"   {name}, window {window:,}: {share:.3f}  {tokens:,.0f} tokens a request", flush=True)
            shares.setdefault(name, []).append((window, share))
    return shares


def kept_by(
    chats: Sequence[dict[str, Any]], window: int, shorten: Callable[[Messages, int], Messages]
) -> tuple[float, float]:
    """(share, tokens) a question; `shorten` is called before each message of the person, as ours makes room."""
    shares, tokens = [], []
    for chat in chats:
        messages: Messages = []
        for message in chat["messages"]:
            messages.append(message)
            if message["role"] == "user":
                messages = shorten(messages, window)
        for question in chat["qa"]:
            if answer := content(str(question["answer"])) - content(question["question"]):
                asked = shorten([*messages, {"role": "user", "content": question["question"]}], window)
                words = content("\n".join(message["content"] for message in asked[:-1]))
                shares.append(len(answer & words) / len(answer))
                tokens.append(sum(map(cost, asked)))
    return mean(shares), mean(tokens)


def cost(message: dict[str, Any]) -> int:
    return count_tokens(message["content"]) + MESSAGE_OVERHEAD


def last_messages(messages: Messages, window: int) -> Messages:
    total = sum(map(cost, messages))
    if total < FULL * window:
        return messages
    kept = list(messages)
    while len(kept) > 1 and total > TARGET * window:
        total -= cost(kept.pop(0))
    return kept


def langchain(messages: Messages, window: int) -> Messages:
    """LangChain's own middleware, asked as an agent asks it before each call of its model."""
    from langchain.agents.middleware import SummarizationMiddleware
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.messages import AIMessage, HumanMessage

    def tokens(them: Sequence[Any]) -> int:
        return sum(count_tokens(str(one.content)) + MESSAGE_OVERHEAD for one in them)

    def summary(them: Sequence[Any]) -> str:
        turns = [turn_of(number, one.type == "human", str(one.content)) for number, one in enumerate(them)]
        room = Policy().context_budget(Window(window, min(1_000, window // 4)))
        return extract(turns, earlier="", max_tokens=room, count=count_tokens)

    middleware: Any = SummarizationMiddleware(
        FakeListChatModel(responses=[""]),
        trigger=("tokens", int(FULL * window)),
        keep=("messages", KEPT) if tokens_of(messages[-KEPT:]) < TARGET * window else ("tokens", int(TARGET * window)),
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


def tokens_of(messages: Messages) -> int:
    return sum(map(cost, messages))


def turn_of(number: int, is_persons: bool, text: str) -> Turn:
    from datetime import UTC, datetime, timedelta

    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
    return Turn(str(number), "user" if is_persons else "assistant", text, at, count_tokens(text) + MESSAGE_OVERHEAD)


def _in_its_own_process(chats: Sequence[dict[str, Any]], window: int, packages: Path) -> tuple[float, float]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(packages), *filter(None, sys.path)])}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory_peers", str(window)],
        input=json.dumps(list(chats)), capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    share, tokens = json.loads(done.stdout)
    return share, tokens


if __name__ == "__main__":
    print(json.dumps(kept_by(json.load(sys.stdin), int(sys.argv[1]), langchain)))
