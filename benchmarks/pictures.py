"""The pictures of README, taken from a running site: `python -m benchmarks.pictures`.

An invented conversation is imported, given a goal, folded by a scripted model's summaries, and gone on with.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.journeys.conftest import CHROMIUM
from tests.journeys.site import Person, Site
from tests.llm_server import LlmServer

DOCS = Path(__file__).resolve().parents[1] / "docs"
TALK = """
We need to move service alpha off node-3 before Friday; it listens on 5433 and logs to /var/log/alpha.
Then three things have to happen first: drain the node, copy the WAL archive, and switch the health check to node-7.
Retries stay at 4. And never restart it on Fridays, that is a rule.
Noted. I changed deploy/alpha.yaml: maxRetries 4, maintenance window Monday to Thursday, and the probe waits 30 s.
Where does the archive go? It is 41 GB and has to survive node-3 being wiped.
To /var/backups/alpha/wal on node-7: that volume is snapshotted nightly, and 120 GB of it are free.
Good. How long will the copy take over the internal network?
About 26 minutes at 27 MB/s, measured with the last base backup; add 5 minutes to verify the checksums.
The checksum of the last segment should be 9f6c21d0, please check that one by hand.
Done: 9f6c21d0 on both sides. The other 812 segments were verified by pg_verifybackup 15.4, all of them clean.
Who is on call while we switch?
Dana until 18:00 UTC, then Ravi. Both have the runbook at https://runbooks.example/alpha, second page.
We also promised the billing team a read-only window of at most 90 seconds. Can we hold that?
Yes: a rehearsal on staging took 41 seconds from the first refused write to the first accepted one on the new node.
What do we do if the replica lags behind?
Stop at 256 KB of lag and wait; over 10 minutes of waiting means that we go back: kubectl rollout undo deploy/alpha.
Fine. And the firewall ticket?
NET-212 was closed this morning: node-7 reaches the three billing hosts on 5433 and nothing else.
Then nothing blocks us any more, I think.
Nothing does. What is left is the switch itself, and telling billing an hour before.
Keep the connection string exactly as it is: postgres://alpha@node-7.internal:5433/alpha
It stays word for word. For the switch itself, drain first and let the health check follow.
""".strip().splitlines()
SUMMARY = """## Summary
Service alpha moves from node-3 to node-7 before Friday; the archive is copied and verified, the switch is to come.

## Decisions
- Retries stay at 4
- Never restart it on Fridays: a rule
- WAL archive in /var/backups/alpha/wal on node-7: snapshotted nightly, 120 GB free
- Go back with kubectl rollout undo deploy/alpha after 10 minutes of waiting, stop at 256 KB of lag

## Files
- deploy/alpha.yaml: maxRetries 4, maintenance window Monday to Thursday, probe waits 30 s

## State
- Done: copy of 41 GB in 26 minutes, 812 segments verified by pg_verifybackup 15.4, last one 9f6c21d0; NET-212 closed
- Pending: read-only window of at most 90 seconds, 41 seconds in the rehearsal
- Next: the switch, telling billing an hour before

## Context
- alpha listens on 5433, logs to /var/log/alpha
- On call: Dana until 18:00 UTC, then Ravi; runbook https://runbooks.example/alpha
"""
MARKS = """
[CHECKPOINT] Copy and verify the WAL archive - COMPLETED
[DECISION] Go back after ten minutes of lag: the replica must not diverge - LOCKED
[ARTIFACT] Modified deploy/alpha.yaml
"""
"""What the summariser reports of the goal."""
SECOND = """## Summary
The switch to node-7 is to begin at 22:30 UTC; nothing blocks it any more.

## Decisions
- Begin at 22:30 UTC: Ravi is on call and billing is asleep

## State
- Done: NET-212 closed, node-7 reaches the three billing hosts on 5433
- Next: drain node-3, switch the health check, tell billing at 21:30 UTC

## Context
- connection string postgres://alpha@node-7.internal:5433/alpha
"""
GOAL = "Move service alpha to node-7 before Friday, without losing a write"
STEPS = ("Copy and verify the WAL archive", "Switch within 90 seconds", "Tell billing an hour before")
RULES = ("Keep the connection string exactly as it is", "All times in UTC")
ANSWER = """You settled on `/var/backups/alpha/wal` on node-7. For the switch:

```bash
kubectl drain node-3 --ignore-daemonsets --timeout=120s
kubectl rollout restart deploy/alpha -n prod
kubectl wait --for=condition=available deploy/alpha
```

The second line is safe today, Thursday; your rule about Fridays holds from midnight.
"""
LATER = (
    ("When do we begin?", "At 22:30 UTC: Ravi is on call by then, and billing is asleep. " + "It takes an hour. " * 20),
    ("Who tells billing?", "You do, at 21:30 UTC, an hour before. " + "The wording is in the runbook. " * 20),
    ("Is anything open?", "No: NET-212 is closed, and node-7 reaches all three billing hosts. " + "All is set. " * 20),
    ("Then we are ready.", "We are."),
    ("Good night until then.", "Until 22:30 UTC."),
)
ASIDES = (
    "I would like to have this settled before the stand-up, because the others plan their morning around it, and "
    "nobody should have to guess afterwards what it was that the two of us agreed on here.",
    "I wrote it into the runbook as well, with the commands and the output that is to be expected, so that whoever is "
    "on call can repeat every step of it without having to ask either of us first.",
)
KEPT = 4
"""Messages at the end that are not folded, and stay as short as they are."""
CENTRED = {
    "chat": ((".compaction-divider", "center"),),
    "divider": ((".compaction-divider", "center"),),
    "diff": (("#diff", "start"),),
}
"""What is scrolled to for a picture, and where it stands then."""
SIZES = {"": (1280, 860), "-phone": (390, 844)}


def main() -> None:
    DOCS.mkdir(exist_ok=True)
    with (
        LlmServer() as llm,
        tempfile.TemporaryDirectory() as folder,
        Site(Path(folder), llm_url=llm.url, window=4_000) as place,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 1280, "height": 860}).new_page()
        person = Person(page, place)
        person.sets_up()
        for title in ("Trip to Lisbon", "Postgres tuning notes", "Thesis outline, chapter 3"):
            person.imports(talk(title, 2))
            page.goto(place.url)
        person.imports(talk("Deploying alpha to production", len(TALK)))
        aim(page)
        llm.enqueue_summary(SUMMARY + MARKS, delay=2, times=6)
        person.box.fill("Then let us do the switch tonight, with the runbook.")
        page.locator("#compact").click()
        page.get_by_text("summarising").wait_for()
        taken(page, "compressing")
        page.locator(".compaction-divider").first.wait_for()
        page.get_by_role("button", name="Dismiss").click()
        llm.enqueue(ANSWER)
        person.says("And the archive? Which path did we agree on?")
        person.is_answered("midnight")
        taken(page, "chat")
        taken(page, "divider", of=".compaction-divider")
        page.get_by_role("link", name="Context", exact=True).click()
        taken(page, "context")
        page.get_by_role("button", name="Close").click()
        again(person, llm)
        taken(page, "diff")
        figures(page, place)
        browser.close()


def aim(page: Page) -> None:
    """A goal with its checkpoints, and rules, as a person sets them."""
    page.get_by_role("link", name="Context", exact=True).click()
    page.get_by_label("What this conversation is to reach").fill(GOAL)
    page.get_by_label("Priority").select_option("high")
    page.get_by_role("button", name="Set goal").click()
    for step in STEPS:
        page.get_by_label("A further checkpoint").fill(step)
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_label(f"Status of {step}").wait_for()
    for rule in RULES:
        page.get_by_label("A further rule").fill(rule)
        page.get_by_role("button", name="Add rule").click()
        page.get_by_role("button", name=rule).wait_for()
    page.get_by_role("button", name="Close").click()


def again(person: Person, llm: LlmServer) -> None:
    """Said on and folded once more; then what that changed."""
    page = person.page
    for question, answer in LATER:
        llm.enqueue(answer)
        person.says(question)
        person.is_answered(answer[-20:])
    llm.clear()
    llm.enqueue_summary(SECOND, times=6)
    page.locator("#compact").click()
    page.locator(".compaction-divider").nth(1).wait_for()
    page.locator(".compaction-divider").nth(1).get_by_role("link", name="View").click()
    page.locator("#diff").wait_for()
    page.evaluate("document.querySelector('#diff').scrollIntoView()")


def figures(page: Page, place: Site) -> None:
    """Forty days of an invented site's life, and the pages that add it up."""
    command = [sys.executable, "-m", "benchmarks.history", "alice", "40", "6000", "500"]
    subprocess.run(command, env=place.environment, check=True)
    page.goto(f"{place.url}/admin/analytics/")
    taken(page, "analytics", whole=True)
    page.goto(f"{place.url}/usage/")
    taken(page, "usage")


def talk(title: str, count: int) -> dict[str, Any]:
    messages = [
        {
            "role": ("user", "assistant")[n % 2],
            "content": text if n >= len(TALK) - KEPT else f"{text} {ASIDES[n % 2]}",
            "created_at": f"2026-11-19T09:{n:02}:00Z",
        }
        for n, text in enumerate(TALK[:count])
    ]
    return {"title": title, "messages": messages}


def taken(page: Page, name: str, *, of: str = "", whole: bool = False) -> None:
    """As the page stands, in both sizes; light on a desk, dark on a phone. `of` takes the surroundings of one place,
    `whole` all of the page."""
    page.mouse.move(5, 500)
    for suffix, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if suffix else "light")
        for place, block in CENTRED.get(name, ()):
            page.evaluate(f"document.querySelector('{place}').scrollIntoView({{block: '{block}'}})")
        page.wait_for_timeout(300)
        clip = {"clip": _around(page, of, width)} if of else {}
        page.screenshot(path=DOCS / f"{name}{suffix}.png", full_page=whole, **clip)


def _around(page: Page, place: str, width: int) -> Any:
    """The thread's width, and a little above and below."""
    box = page.locator(place).first.bounding_box()
    assert box is not None
    left = max(box["x"] - 20, 0)
    return {
        "x": left,
        "y": box["y"] - 150,
        "width": min(width - left, box["width"] + 40),
        "height": box["height"] + 300,
    }


if __name__ == "__main__":
    main()
