"""A page that is cut off for a while, again and again, shows the same as a page that is loaded afresh."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import settings as how
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test

from conversations.instructions.conversation_settings import change
from conversations.models import ModelProfile
from tests.conversations.cut_off_page import CutOffPage
from tests.conversations.pages import Pages
from tests.faults.test_life import STEPS, Life
from tests.llm_server import LlmServer

LIVES = int(os.environ.get("LIVES", "2"))


class LifeOnAPage(Life):
    """A life, and a page that is open meanwhile. `cut_off` is for how many steps it hears of nothing."""

    pages: Pages

    @initialize()
    def open(self) -> None:
        self.cut_off = 0
        self.page = CutOffPage(self.pages, self.conversation.pk)

    @rule(steps=st.integers(1, 3))
    def lose_the_socket(self, steps: int) -> None:
        self.cut_off = steps

    @rule(number=st.integers(0, 9))
    def rename(self, number: int) -> None:
        change(self.conversation, title=f"Title {number}")

    @invariant()
    def the_page_shows_how_things_are(self) -> None:
        if not hasattr(self, "page"):
            return
        if self.page.conversation != self.conversation.pk:
            self.page = CutOffPage(self.pages, self.conversation.pk)  # of the fork
        self.cut_off -= 1
        if self.cut_off > 0:
            return
        self.page.catch_up()
        self.done["came back"] += 1
        fresh = CutOffPage(self.pages, self.conversation.pk)
        assert self.page.shown == fresh.shown


@pytest.mark.django_db(transaction=True)
def test_a_page_that_was_cut_off_shows_what_a_fresh_one_shows(
    user: Any, profile: ModelProfile, llm: LlmServer, settings: Any
) -> None:
    settings.COMPRESSION_AHEAD = False
    settings.COMPRESSION_COOLDOWN_SECONDS = 0
    small = ModelProfile.objects.create(
        name="small", model_id="small", base_url=llm.url, api_key="sk", window=2_000, token_correction=1.0
    )
    done: Counter[str] = Counter()
    of = {"user": user, "llm": llm, "profiles": (profile, small), "done": done, "pages": Pages(user)}
    run_state_machine_as_test(
        type("ThisLife", (LifeOnAPage,), of),
        settings=how(
            max_examples=LIVES,
            stateful_step_count=STEPS,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert done["came back"] > LIVES * STEPS / 3
    print(f"{done['came back']:,} times")
