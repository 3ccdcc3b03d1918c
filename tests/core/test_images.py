"""Images of messages in the engine: part of the history's hash, named wherever it is read as text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compression.core.digest import digest_after, extend_digest
from compression.core.extractive.summariser import extract
from compression.core.plan.policy import Policy
from compression.core.stages.prepare import prepare, render_transcript
from compression.core.tokens import count_tokens
from compression.core.values import Draft, Image, Steering, ToolUse, Transcript, Turn, Window
from tests.core.conversations import turn
from tests.core.test_pipeline import Scripted

RACK = Image("ab" * 32, "rack.jpg", 900)
PLAN = Image("cd" * 32, "plan of the cellar.png", 900)


def with_images(content: str, *images: Image, number: int = 0) -> Turn:
    told = turn(content, number=number)
    return replace(told, images=images, tokens=told.tokens + 1_105 * len(images))


def test_the_hash_of_a_history_without_images_is_what_it_always_was() -> None:
    call = ToolUse("a", "look", '{"at": "billing"}', "8443")
    history = [
        turn("Which port?"),
        turn("Let me look.", role="assistant", tools=(call,)),
        turn("Port 8443 — “über”.", role="assistant"),
    ]
    assert extend_digest("", history[:1]) == "10a4ad4ab5d74f8f526776d9c8bc644650907df67cab3c566456a91020a39051"
    assert extend_digest("", history) == "c95fe5389e2c7c5ac8cba0ee5261a6e83009be02b699232d7100a89f003881bb"
    assert digest_after("", "user", "Which port?", ()) == extend_digest("", history[:1])


def test_another_image_or_another_order_makes_another_history_and_another_name_does_not() -> None:
    histories = [(), (RACK,), (PLAN,), (RACK, PLAN), (PLAN, RACK)]
    assert len({extend_digest("", [with_images("look", *images)]) for images in histories}) == len(histories)
    renamed = replace(RACK, name="other.jpg", size=1)
    assert extend_digest("", [with_images("look", RACK)]) == extend_digest("", [with_images("look", renamed)])


def test_a_summariser_reads_the_names_of_images() -> None:
    text = render_transcript((with_images("What is in it?", RACK, PLAN), with_images("", RACK, number=1)))
    assert "What is in it?\n[image: rack.jpg]\n[image: plan of the cellar.png]\n\n" in text
    assert text.endswith("\n[image: rack.jpg]")


@pytest.mark.parametrize("window", [None, 3_000])
def test_a_message_with_images_is_as_long_for_a_summariser_as_its_words(window: int | None) -> None:
    long = "The billing service listens on port 8443 since the move. " * 150
    turns = (with_images(long, RACK), with_images("and this?", PLAN, number=1))
    draft = Draft(Transcript(turns, Window(16_000, 1_000)), condensed=turns, room=2_000)
    policy = Policy(summary_max_tokens=200)
    passages = prepare(draft, policy, Steering(), summariser=Scripted(window=window), count=count_tokens).passages
    read = "\n".join(passage.text for passage in passages)
    assert read.count(RACK.caption) == read.count(PLAN.caption) == 1
    assert all(piece.tokens < 2_000 for passage in passages for piece in passage.turns)


def test_the_summariser_without_a_model_names_images() -> None:
    turns = [with_images("I took this one in the cellar on Monday.", RACK), with_images("", PLAN, number=1)]
    summary = extract(turns, earlier="", max_tokens=200, count=count_tokens)
    assert "rack.jpg" in summary and "plan of the cellar.png" in summary
