from hypothesis import given, settings
from hypothesis import strategies as st

from compression.core.facts import find_facts, is_critical, kept_facts, with_facts
from compression.core.retention import GATE_FACTS, REPAIR_SHARE, repaired
from compression.core.tokens import count_tokens
from compression.core.values import Draft, Fact, Transcript, Window

SUMMARY = "## Summary\nThey worked on the pool."
CRITICAL = "Raise max_pool_size in /srv/pool/settings.py to 20 connections, the timeout to 1500 ms: PoolTimeoutError."
CHATTER = " ".join(
    f"Mail anna{number}@example.org by 2026-03-{number:02}: https://example.org/tickets/{number}"
    for number in range(10, 22)
)


def gated(texts: list[str], max_tokens: int) -> Draft:
    draft = Draft(
        Transcript((), Window(8192, reserve=0)), max_tokens=max_tokens, facts=find_facts(texts), summary=SUMMARY
    )
    return repaired(draft, count=count_tokens)


def test_no_address_or_date_takes_the_room_of_a_path_an_identifier_or_a_number_with_its_unit() -> None:
    texts = [CHATTER * 3, CRITICAL]
    critical = {fact.text for fact in find_facts([CRITICAL]) if is_critical(fact)}
    assert critical >= {"max_pool_size", "/srv/pool/settings.py", "1500 ms", "PoolTimeoutError"}
    draft = gated(texts, 200)
    assert critical <= {fact.text for fact in kept_facts(draft.facts, draft.summary)}
    assert len(kept_facts(draft.facts[:GATE_FACTS], draft.summary)) < GATE_FACTS
    assert draft.retention.repaired >= len(critical)


def test_a_bare_number_is_not_critical() -> None:
    assert [fact.text for fact in find_facts(["There were 1536 of them, in 1500 ms."]) if is_critical(fact)] == [
        "1500 ms"
    ]


words = st.sampled_from(CRITICAL.split() + CHATTER.split() + ["a/b.py", "get_it", "30 MB", "Never push.", "x" * 300])


@settings(max_examples=60, deadline=None)
@given(st.lists(words, max_size=60).map(" ".join), st.integers(20, 300))
def test_whatever_the_facts_no_critical_one_that_fits_is_left_out(text: str, max_tokens: int) -> None:
    draft = gated([text], max_tokens)
    most = count_tokens(SUMMARY) + int(max_tokens * REPAIR_SHARE)
    fitting: list[Fact] = []
    for fact in filter(is_critical, draft.facts[:GATE_FACTS]):
        if count_tokens(with_facts(SUMMARY, [*fitting, fact])) <= most:
            fitting.append(fact)
    assert kept_facts(fitting, draft.summary) == tuple(fitting)
    assert count_tokens(draft.summary) <= most
