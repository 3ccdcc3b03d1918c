"""Ways to compress a conversation without a model: ours, and peers to stand beside it."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.conversations import Conversation
from benchmarks.units import Ranking, summary_of, units_of
from compression.core.extractive.notes import MENTIONED
from compression.core.extractive.summariser import extract
from compression.core.tokens import count_tokens

System = Callable[[Conversation, int], str]
"""(conversation, budget in tokens) -> text."""


def extractive(conversation: Conversation, budget: int) -> str:
    return extract(conversation.turns, earlier="", max_tokens=budget, count=count_tokens)


def lines_alone(conversation: Conversation, budget: int) -> str:
    """Ours, but for the values that it only names: those of a run that it tells in their lines."""
    summary = extractive(conversation, budget)
    return "\n".join(line for line in summary.splitlines() if not line.startswith(MENTIONED))


def others() -> dict[str, System]:
    """The peers, and all of the conversation; they need the packages of the dependency group `bench`."""
    from benchmarks import graphs, peers

    return {
        "last": _ranking(peers.last),
        "random": _ranking(peers.at_random),
        "TextRank (sumy)": _ranking(graphs.text_rank),
        "LexRank (sumy)": _ranking(graphs.lex_rank),
        "TF-IDF with MMR": _ranking(peers.mmr),
        "rare words": _ranking(peers.rare_words),
        "the whole conversation": everything,
    }


def _ranking(ranking: Ranking) -> System:
    orders: dict[str, list[int]] = {}

    def system(conversation: Conversation, budget: int) -> str:
        units = units_of(conversation)
        if conversation.name not in orders:
            orders[conversation.name] = list(ranking(units))
        return summary_of(units, orders[conversation.name], budget)

    return system


def everything(conversation: Conversation, budget: int) -> str:
    """All of it, whatever the budget: the most that a measure can reach."""
    units = units_of(conversation)
    return summary_of(units, range(len(units)), sum(unit.tokens + 10 for unit in units))
