"""What a long conversation costs with providers' caches: `python -m benchmarks.economy`.

TURNS turns of an invented conversation (`benchmarks.talk`) in windows of several sizes, with the usual policy and with
the economy preset, against scripted caches (`benchmarks.caching`). The requests are the product's own: its policy
decides, its stages compact, its prompts are read by the cache; rows, HTTP and the ledger add nothing to them and are
left out. A summary is the extractive one, as long as it is asked for, written by a model whose tokens are counted.

Printed by window: units a turn, the share of all input that is cached, and that of the compactions' input; and beside
them the units that no policy can save: each question and reply read once, and the replies written.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from benchmarks.goals import end, note, sized
from benchmarks.talk import turns as talk

if TYPE_CHECKING:
    from benchmarks.caching import Cache, Tally
    from compression.core.plan.policy import Policy
    from compression.core.ports import Summariser
    from compression.core.values import Draft, Passage, SummariserOutput, Turn
    from conversations.context.transcript import Loaded
    from conversations.llm.port import Reply
    from conversations.llm.request import Prompt

TURNS = sized(5_000, small=150)
WINDOWS = sized((16_384, 32_768, 131_072, 1_000_000), small=(16_384,))
UNITS, SHARE, OF_COMPACTIONS = 1_250, 0.96, 0.9
"""The goals: units a turn at most, and the least shares of input that is cached."""
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
HITS = 40
"""Messages that recall reads for a question."""
PROCESSES = 2
FACTS = 5
"""Facts that a scripted summary names beside the selected sentences."""


@dataclass
class Book:
    """A cache, and what the requests of turns and of compactions took with it."""

    cache: Cache | None
    turns: Tally
    compactions: Tally


class Result(NamedTuple):
    """What a conversation took: `fixed` are the units that no policy can save."""

    live: int | None
    compactions: int
    fixed: float
    seconds: float
    books: dict[str, Book]


def main() -> None:
    print(f"{TURNS:,} turns; units: uncached input 1, cached .1, output 4")
    plays = [(preset, window) for preset in ("chat", "economy") for window in WINDOWS]
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        longest_first = sorted(plays, key=lambda play: (play[0] != "chat", -play[1]))
        found = {play: pool.submit(played, *play) for play in longest_first}
        for preset, window in plays:
            print("\n".join(report(preset, window, found[preset, window].result())), flush=True)
    end()


def played(preset: str, window: int) -> Result:
    """Live the conversation, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="chatsite-bench-", ignore_cleanup_errors=True) as folder:
        os.environ |= {"DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "chatsite.settings"}
        import django

        django.setup()
        began = time.perf_counter()
        place = asyncio.run(play(preset, window))
    books = {kind: replace(book, cache=None) for kind, book in place.books.items()}
    return Result(place.policy.max_live_tokens, place.compactions, place.fixed, time.perf_counter() - began, books)


def report(preset: str, window: int, result: Result) -> list[str]:
    """A line for each kind of cache; goals are held against the economy preset alone."""
    live = f"{result.live:,} live tokens" if result.live else "by the window"
    lines = [f"{preset}, window {window:,}: {live}, {result.compactions} compactions, {result.seconds:.0f} s"]
    for kind, book in result.books.items():
        whole, name = book.turns + book.compactions, f"{preset}, {window:,}, {kind}"
        units, share, own = whole.units / TURNS, whole.share, book.compactions.share
        figures = (
            (units <= UNITS, f"{units:,.0f} units a turn", f"{UNITS:,}"),
            (share >= SHARE, f"{share:.1%} of input cached", f"{SHARE:.0%}"),
            (own >= OF_COMPACTIONS, f"{own:.1%} of compactions' input", f"{OF_COMPACTIONS:.0%}"),
        )
        is_held = preset == "economy"
        told = (f"{text}{note(met or not is_held, f'{name}: {text}, not {goal}')}" for met, text, goal in figures)
        lines.append(
            f"   {kind:<9}{', '.join(told)}; {book.compactions.units / TURNS:,.0f} units a turn for compactions, "
            f"{result.fixed / TURNS:,.0f} whatever is done; {book.turns.input / TURNS:,.0f} tokens a request"
        )
    return lines


async def play(preset: str, window: int, *, turns: int = TURNS, **own: Any) -> Place:
    place = Place(preset, window, own)
    for question, reply in talk(turns):
        place.say("user", question)
        place.recall()
        if place.is_due() and await place.compact():
            place.compactions += 1
            place.recall()
        place.answer(reply)
    return place


@dataclass
class Place:
    """A conversation that is lived in memory: the product's state of it, and its requests."""

    preset: str
    window: int
    own: dict[str, Any]
    compactions: int = 0
    fixed: float = 0.0
    """Units that no policy saves: each message read once, and the replies written."""
    history: list[Turn] = field(default_factory=list)
    index: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        from benchmarks.caching import Marks, Prefixes, Tally
        from conversations.context.head import Head
        from conversations.context.policy import policy_of
        from conversations.context.transcript import Loaded
        from conversations.models import ModelProfile

        caches: dict[str, Cache] = {"prefixes": Prefixes(), "marks": Marks()}
        self.books = {kind: Book(cache, Tally(), Tally()) for kind, cache in caches.items()}
        self.profile = ModelProfile(
            name="bench", model_id="bench", window=self.window, token_correction=1.0, price_input=1, price_output=4,
            price_cached=0.1,
        )  # fmt: skip
        values: dict[str, Any] = dict.fromkeys(Head._fields) | {
            "id": UUID(int=1), "mode": "assistant", "system_prompt": "Be brief.", "rules": [], "noted": [], "goal": "",
            "kind": "chat", "compressed_tokens": 0, "verbatim_ids": [], "elided": {}, "version": 0,
            "is_compacting": False, "is_replying": False, "profile_id": 1, "provider": "openai",
            "nominal_window": self.window, "is_local": False, "correction": 1.0, "sees_images": False,
            "calls_tools": False, "uses_tools": False, "owner_id": 1, "tools": (),
            "policy": {"preset": self.preset} | self.own,
        } | {name: getattr(self.profile, name) for name in Head._fields if name.startswith("price_")}  # fmt: skip
        self.loaded: Loaded = Loaded(Head(**values), (), ())
        self.policy: Policy = policy_of(self.loaded.head)
        self.checkpoints: tuple[Any, ...] = ()

    def say(self, role: Any, content: str) -> Turn:
        from compression.core.text.index_terms import index_terms
        from compression.core.tokens import count_tokens
        from compression.core.values import MESSAGE_OVERHEAD, Turn

        number = len(self.history)
        tokens = count_tokens(content) + MESSAGE_OVERHEAD
        turn = Turn(str(number), role, content, START + timedelta(seconds=30 * number), tokens)
        self.history.append(turn)
        for term in set(index_terms(content)):
            self.index[term].append(number)
        self.loaded = replace(self.loaded, live=(*self.loaded.live, turn), recalled=None)
        return turn

    def recall(self) -> None:
        """Quote passages for the question as a turn does, by an index in memory."""
        from compression.core.recall import recall
        from compression.core.recall.ranking import rarity
        from compression.core.recall.recall import PastMessage
        from compression.core.tokens import count_tokens
        from conversations.memory.recall import MAX_ASSUMED, RECENT_MESSAGES, room_for

        self.loaded = replace(self.loaded, recalled=None)
        budget, question = room_for(self.loaded).own, self.loaded.live[-1]
        if budget < recall.MIN_BUDGET_TOKENS:
            return
        weights = recall.query_of(
            question.content, (turn.content for turn in self.loaded.live[-1 - RECENT_MESSAGES : -1])
        )
        sent, scores = {turn.id for turn in self.loaded.turns}, defaultdict[int, float](float)
        for term in weights:
            found = self.index.get(term, [])
            for number in found[-1_000:]:
                scores[number] += rarity(len(found), min(len(self.history), MAX_ASSUMED))
        best = sorted((at for at in scores if str(at) not in sent), key=lambda at: (-scores[at], at))[:HITS]
        near = sorted({at + step for at in best for step in (-1, 0, 1) if 0 <= at + step < len(self.history)})
        quotes = recall.chosen(
            [
                PastMessage(turn.id, at, turn.role, "", turn.content, turn.created_at)
                for at in near
                if (turn := self.history[at]).id not in sent
            ],
            weights,
            counts={term: len(self.index.get(term, ())) for term in weights},
            among=len(self.history),
            budget=budget,
            count=count_tokens,
            question=question.content,
        )
        self.loaded = replace(self.loaded, recalled=recall.recalled(question.id, quotes, count_tokens))

    def is_due(self) -> bool:
        from conversations.requests.usage import usage_of

        used = usage_of(self.loaded)
        assert used is not None
        return self.policy.is_due(used)

    def answer(self, reply: str) -> None:
        """Send the request, and take the reply."""
        from benchmarks.caching import OUTPUT
        from conversations.context.prompt import assemble

        sent = assemble(self.loaded)
        said = self.say("assistant", reply)
        for book in self.books.values():
            assert book.cache is not None
            size, cached = book.cache.read(sent, recurs=True)
            book.turns.add(input=size, cached=cached, output=said.tokens)
        self.fixed += sum(turn.tokens for turn in self.history[-2:]) + OUTPUT * said.tokens

    async def compact(self) -> bool:
        from compression.core import pipeline
        from compression.core.errors import CompactionSkipped
        from compression.core.tokens import count_tokens
        from compression.core.values import Steering
        from conversations.context.prompt import request_transcript

        source = replace(request_transcript(self.loaded), checkpoints=self.checkpoints)
        try:
            draft = await pipeline.compact(
                source, self.policy, steering=Steering(growth=0), summariser=self.summariser(), count=count_tokens,
                on_stage=ignored, originals=self.originals,
            )  # fmt: skip
        except CompactionSkipped:
            return False
        self.put(draft)
        return True

    def summariser(self) -> Summariser:
        return summariser_of(self.loaded, self.profile, self.policy, ScriptedModel(self))

    def put(self, draft: Draft) -> None:
        head = self.loaded.head._replace(
            compressed_context=draft.context, compressed_tokens=draft.context_tokens, compressed_at=draft.cut,
            verbatim_ids=list(draft.verbatim_ids),
        )  # fmt: skip
        cut = draft.cut
        assert cut is not None
        live = tuple(turn for turn in self.loaded.live if turn.created_at > cut)
        kept = tuple(turn for turn in self.loaded.turns if turn.id in draft.verbatim_ids)
        self.loaded = replace(self.loaded, head=head, live=live, kept=kept)
        self.checkpoints = tuple(replace(one, number=at) for at, one in enumerate(draft.checkpoints, 1))

    async def originals(self, after: datetime | None, until: datetime, ids: Sequence[str]) -> tuple[Turn, ...]:
        return tuple(
            turn for turn in self.history if (after is None or turn.created_at > after) and turn.created_at <= until
        )


async def ignored(*_: object) -> None:
    """No one follows a compaction here."""


@dataclass
class ScriptedModel:
    """A model that writes the summary which is selected without one."""

    place: Place
    summary: str = ""

    async def complete(self, prompt: Prompt, **_: Any) -> Reply:
        from compression.core.tokens import count_tokens
        from conversations.llm.port import Reply

        for book in self.place.books.values():
            assert book.cache is not None
            size, cached = book.cache.read(prompt, recurs=bool(prompt.recurring))
            book.compactions.add(input=size, cached=cached, output=count_tokens(self.summary))
        return Reply(self.summary, "stop", None)


def summariser_of(loaded: Loaded, profile: Any, policy: Policy, model: ScriptedModel) -> Summariser:
    from compression.core.extractive.summariser import Extractive
    from conversations.compaction.model_summariser import ModelSummariser
    from conversations.compaction.prompt_cache_reuse import so_far

    class Scripted(ModelSummariser):
        async def summarise(self, passage: Passage) -> SummariserOutput:
            text = (await Extractive().summarise(replace(passage, max_tokens=int(0.8 * passage.max_tokens)))).text
            model.summary = "\n".join((text, *(f"- {fact.text}" for fact in passage.facts[:FACTS])))
            return await super().summarise(passage)

    within = so_far(loaded) if policy.summary_request == "conversation" else None
    return Scripted(profile, model, mode=loaded.head.mode, within=within)  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main())
