"""Frames that no page sends: the socket closes or ignores them, and the site goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed

from tests.faults.serving import Served, serving
from tests.fuzzing.mutations import TEXTS, VALUES, fuzzed

FRAMES = st.lists(st.binary(max_size=200) | TEXTS | VALUES.map(json.dumps), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("site")) as site:
        yield site


@fuzzed
@given(frames=FRAMES)
def test_any_frames(served: Served, frames: list[Any]) -> None:
    with suppress(ConnectionClosed), served.open_socket() as socket:
        for frame in frames:
            socket.send(frame if isinstance(frame, bytes) else frame.encode("utf-8", "replace").decode())
    assert served.ask("GET", f"/api/conversations/{served.id}")


@fuzzed
@given(path=st.text(st.characters(codec="ascii", min_codepoint=0x21), max_size=60))
def test_any_address_of_a_socket(served: Served, path: str) -> None:
    path = path.replace("#", "").replace("?", "").replace("\\", "")
    with suppress(Exception), served.open_socket(f"/ws/{path}") as socket:
        socket.recv(timeout=0.2)
    assert served.ask("GET", f"/api/conversations/{served.id}")
