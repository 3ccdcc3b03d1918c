"""The pictures of README, taken from a running site: `python -m benchmarks.pictures`.

An invented conversation is imported, given a goal, folded by a scripted model's summaries, and gone on with.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import FilePayload, Page, sync_playwright

from benchmarks.invented import (
    ANSWER,
    ASIDES,
    ASKS,
    CLEAR,
    GOAL,
    JOB,
    LATER,
    MARKS,
    RESULT,
    RULES,
    SECOND,
    STEPS,
    SUMMARY,
    SUMS,
    TALK,
    TASK,
    TOLD,
)
from tests.journeys.site import Person, Site
from tests.llm_server import LlmServer
from tests.needs import CHROMIUM, require

DOCS = Path(__file__).resolve().parents[1] / "docs"
KEPT = 4
"""Messages at the end that are not folded, and stay as short as they are."""
CENTRED = {
    "chat": (("#thread .row:nth-of-type(3)", "start"),),
    "divider": ((".compaction-divider", "center"),),
    "diff": ((".changes", "start"),),
}
"""What is scrolled to for a picture, and where it stands then."""
PASTE = """(text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    document.querySelector("#content").dispatchEvent(
        new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }),
    );
}"""
SIZES = {"": (1280, 860), "-phone": (390, 844)}


def main() -> None:
    require(["chromium"])
    DOCS.mkdir(exist_ok=True)
    with (
        LlmServer() as llm,
        tempfile.TemporaryDirectory() as folder,
        Site(Path(folder), llm_url=llm.url, window=4_000, OPENAI_MODEL="gpt-5-mini", SHARED_PROJECTS="on") as place,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM.find()), args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 1280, "height": 860}).new_page()
        person = Person(page, place)
        person.sets_up()
        taken(page, "home")
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
        sees(page)
        writes(person)
        page.get_by_role("link", name="Context", exact=True).click()
        page.get_by_role("tab", name="Memory").click()
        page.locator(".budgets").wait_for()
        taken(page, "context")
        page.get_by_role("button", name="Close").click()
        again(person, llm)
        taken(page, "diff")
        looks_back(page, llm)
        works(person, llm, place)
        shares(page, place)
        figures(page, place)
        page.goto(f"{place.url}/settings/")
        taken(page, "settings")
        browser.close()


def aim(page: Page) -> None:
    """A goal with its checkpoints, and rules, as a person sets them."""
    page.get_by_role("link", name="Context", exact=True).click()
    page.get_by_label("The goal of this conversation").fill(GOAL)
    page.get_by_label("Priority").select_option("high")
    page.get_by_role("button", name="Set goal").click()
    for step in STEPS:
        page.get_by_label("A further checkpoint").fill(step)
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_label(f"Status of {step}").wait_for()
    page.get_by_role("tab", name="Rules").click()
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
    page.locator(".changes").wait_for()
    page.locator(".changes").evaluate("(part) => part.scrollIntoView()")


def sees(page: Page) -> None:
    """The meter opened."""
    page.locator("#meter-button").click()
    taken(page, "meter")
    page.keyboard.press("Escape")


def writes(person: Person) -> None:
    """A message with a long paste, an image and a text file, not sent yet."""
    page = person.page
    person.box.fill("Compare these with the runbook: ")
    person.box.press("End")
    page.evaluate(PASTE, "2026-11-19 22:31:07 alpha started\n" * 60)
    files: list[FilePayload] = [
        {"name": "lag.png", "mimeType": "image/png", "buffer": (DOCS / "divider.png").read_bytes()},
        {"name": "runbook.md", "mimeType": "text/markdown", "buffer": "\n".join(TALK).encode()},
    ]
    page.locator("#files").set_input_files(files)
    page.locator("#attachments .chip:not(.uploading)").nth(1).wait_for()
    taken(page, "composer", of="#composer")
    for chip in ("#attachments", "#pastes"):
        while page.locator(f"{chip} .cross").count():
            page.locator(f"{chip} .cross").first.click()
            page.wait_for_timeout(300)
    person.box.fill("")


def looks_back(page: Page, llm: LlmServer) -> None:
    """The summary beside its source, the timeline, a search, and a reply in two versions."""
    page.evaluate("document.querySelector('#reader').scrollTo(0, 0)")
    page.evaluate("document.querySelector('#summary').scrollIntoView()")
    taken(page, "view")
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Menu").click()
    page.locator(".head").get_by_role("link", name="Timeline").click()
    page.get_by_role("dialog").get_by_text("Tokens saved").wait_for()
    taken(page, "timeline")
    page.get_by_role("button", name="Close").click()
    llm.enqueue("At 22:30 UTC it is, and billing knows by 21:30.")
    page.locator("#thread .message[data-role=assistant]").last.get_by_role("button", name="Regenerate").click()
    page.get_by_text("billing knows by").wait_for()
    page.locator("#search").fill("archive")
    page.locator(".hit").first.wait_for()
    taken(page, "search")


def works(person: Person, llm: LlmServer, place: Site) -> None:
    """An agent's task, handed to an executor that asks back, with all that it did."""
    llm.clear()
    llm.enqueue("I hand the sums to the executor.", calls=[("delegate_task", json.dumps({"task": TASK}))])
    llm.enqueue("", calls=[("calculate", json.dumps({"expression": sum})) for sum in SUMS])
    llm.enqueue(ASKS)
    llm.enqueue("", calls=[("continue_task", json.dumps({"message": CLEAR}))])
    llm.enqueue("", calls=[("current_time", '{"timezone": "Europe/Lisbon"}')])
    llm.enqueue(RESULT)
    llm.enqueue(TOLD)
    person.page.goto(place.url)
    person.page.get_by_role("button", name="Agent").first.click()
    person.says(JOB)
    person.is_answered("full in")
    taken(person.page, "agent")


def shares(page: Page, place: Site) -> None:
    """The page of a project with two chats, instructions, a file, and a person that it is shared with."""
    make = "from conversations.models import User; User.objects.create_user('grace')"
    subprocess.run([sys.executable, "manage.py", "shell", "-c", make], env=place.environment, check=True)
    page.goto(place.url)
    page.get_by_role("button", name="New project").click()
    page.get_by_label("Name", exact=True).fill("Alpha's migration")
    page.get_by_label("Name", exact=True).press("Enter")
    page.get_by_role("heading", name="Alpha's migration").wait_for()
    project = page.url.partition("?")[0]
    page.get_by_label("Instructions").fill("Assume that I know SQL well. Times are UTC.")
    page.get_by_label("Instructions").blur()
    page.get_by_label("Add a file").set_input_files(
        {
            "name": "runbook.md",
            "mimeType": "text/markdown",
            "buffer": b"# Switch\n\nStop billing, then move the port.\n",
        }
    )
    page.get_by_role("button", name="Remove runbook.md").wait_for()
    people = page.get_by_role("region", name="People")
    people.get_by_label("Name of the person").fill("grace")
    people.get_by_role("button", name="Share").click()
    people.get_by_role("button", name="Remove grace").wait_for()
    for title in ("Deploying alpha to production", "Postgres tuning notes"):
        page.goto(place.url)
        page.get_by_role("button", name=f"delete {title}").click()
        page.get_by_role("button", name="Move to a project").click()
        page.get_by_role("radio", name="Alpha's migration").check()
        page.get_by_role("button", name="Move", exact=True).click()
        page.get_by_role("radio", name="Alpha's migration").wait_for(state="detached")
    page.goto(project)
    taken(page, "project")


def figures(page: Page, place: Site) -> None:
    """Forty days of an invented site's life, and the pages that add it up."""
    command = [sys.executable, "-m", "benchmarks.history", "alice", "40", "6000", "500"]
    subprocess.run(command, env=place.environment, check=True)
    page.goto(f"{place.url}/admin/")
    taken(page, "admin")
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
    page.set_viewport_size({"width": 1280, "height": 860})


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
