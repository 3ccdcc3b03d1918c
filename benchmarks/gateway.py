"""What the gateway adds to a call: `python -m benchmarks.gateway`.

The same client asks a scripted model directly and through a running site, in turn: a history of 200 messages, of which
the beginning was compacted by an earlier call, and one that fits as it is. Medians, and the difference of the two.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.goals import end, note, sized
from benchmarks.live import model
from tests.furnishing import furnish
from tests.journeys.site import Site

CALLS = sized(150, small=3)
MESSAGES = 200
TARGET_MS = 15


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="chatsite-bench-") as folder, model() as url:
        key, _ = furnish(Path(folder))
        with Site(Path(folder), llm_url=url, window=8_000, COMPRESSION_COOLDOWN_SECONDS="0") as site:
            measure(site, key, url)


def measure(site: Site, key: str, model_url: str) -> None:
    with httpx2.Client(timeout=60) as client:
        folded, short = history(MESSAGES, words=40), history(20, words=40)
        ask(client, f"{site.url}/v1", key, folded)
        for name, messages, checkpoint in (("known prefix", folded, "hit"), ("no compaction needed", short, "none")):
            direct, through = [], []
            for _ in range(CALLS):
                direct.append(ask(client, model_url, "sk-test", messages)[0])
                took, headers = ask(client, f"{site.url}/v1", key, messages)
                assert headers["x-chatsite-checkpoint"] == checkpoint
                through.append(took)
            told(f"{len(messages)} messages, {name}", direct, through)


def told(name: str, direct: list[float], through: list[float]) -> None:
    before, after = statistics.median(direct), statistics.median(through)
    p99 = statistics.quantiles(through, n=100)[-1]
    over = after - before
    verdict = note(over < TARGET_MS, f"{name}: {over:.1f} ms added, not {TARGET_MS}")
    ways = f"direct {before:.1f} ms, through the gateway {after:.1f}"
    print(f"{name}: {ways}: {over:.1f} added, {p99 - before:.1f} at the 99th percentile{verdict}")


def ask(client: httpx2.Client, url: str, key: str, messages: list[dict[str, Any]]) -> tuple[float, Any]:
    """Milliseconds, and the headers of the answer."""
    body = {"model": "scripted", "messages": messages}
    began = time.perf_counter()
    answer = client.post(f"{url}/chat/completions", json=body, headers={"Authorization": f"Bearer {key}"})
    took = 1000 * (time.perf_counter() - began)
    assert answer.status_code == 200, answer.text
    return took, answer.headers


def history(count: int, *, words: int) -> list[dict[str, Any]]:
    """An odd number of messages behind a system prompt, the last a person's."""
    said = [
        {"role": "user" if number % 2 == 0 else "assistant", "content": f"Number {number} of it. " + "word " * words}
        for number in range(count - 1)
    ]
    return [{"role": "system", "content": "Be short."}, *said]


if __name__ == "__main__":
    main()
    end()
