"""The site as a process of its own, and a person in front of it with a real browser."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Locator, Page, expect

from tests.servers import free_port, listens, wait_until

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "correct horse battery"
STOPS_IN = 20


class Site:
    """`manage.py serve` with data of its own, talking to the model at `llm_url`."""

    popen: Callable[..., Any] = subprocess.Popen
    """What begins its process: the torture has a faster one."""

    def __init__(self, data: Path, *, llm_url: str, window: int = 8_000, **settings: str) -> None:
        self.data, self.port = data, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "COMPRESSION_"))},
            "DJANGO_SETTINGS_MODULE": "chatsite.settings",
            "PYTHONFAULTHANDLER": "1",
            "DATA_DIR": str(data),
            "OPENAI_BASE_URL": llm_url,
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_MODEL": "scripted",
            "OPENAI_CONTEXT_WINDOW": str(window),
            "AUTO_TITLES": "off",  # it would be one of the answers that a test has scripted
            **settings,
        }

    def start(self, *, wait: bool = True) -> Self:
        self.log = (self.data / "serve.log").open("a")
        command = [sys.executable, str(ROOT / "manage.py"), "serve", "--port", str(self.port)]
        self.process = self.popen(command, cwd=ROOT, env=self.environment, stdout=self.log, stderr=self.log)
        return self.wait() if wait else self

    def wait(self) -> Self:
        until = time.monotonic() + 60
        while not listens(self.port):
            assert self.process.poll() is None and time.monotonic() < until, (self.data / "serve.log").read_text()
            time.sleep(0.05)
        return self

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(STOPS_IN)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)  # so that it says what it was at
            self.process.wait()
            raise AssertionError((self.data / "serve.log").read_text()) from None
        finally:
            self.log.close()

    def crash(self) -> None:
        """End at once, as a machine does that loses its power."""
        self.process.kill()
        self.process.wait()
        self.log.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()
        self.log.close()


class Town(Site):
    """A site with many people, each of whom has it for one test."""

    PEOPLE = 200
    UNFINISHED = """
        SELECT count(*) FROM conversations_message WHERE status = 'streaming'
        UNION ALL SELECT count(*) FROM compression_compaction WHERE status IN ('pending', 'running')
    """

    def __enter__(self) -> Self:
        self.start()
        command = [sys.executable, "-m", "tests.journeys.people", str(self.PEOPLE)]
        made = subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=True)
        self._sessions = list(json.loads(made.stdout).items())
        return self

    def next_person(self) -> tuple[str, str]:
        """A name, and the session that it is signed in with. The site is there again, whatever the last test did."""
        if self.process.poll() is not None:
            self.start()
        return self._sessions.pop()

    def settles(self) -> None:
        """Wait until no reply and no compression is under way, else the next test would hear of it."""
        if self.process.poll() is None:
            with closing(sqlite3.connect(self.data / "chatsite.sqlite3")) as database:
                wait_until(lambda: not any(map(any, database.execute(self.UNFINISHED))), what="the end of a test")


class Person:
    """What a person does on the page, and what the browser complained about meanwhile."""

    def __init__(self, page: Page, site: Site, *, name: str = "alice") -> None:
        self.page, self.site, self.name = page, site, name
        self.complaints: list[str] = []
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            is_answer = message.text.startswith("Failed to load resource")
            self.complaints.append(
                f"{message.text} {urlsplit(message.location['url']).path if is_answer else ''}".rstrip()
            )

    @property
    def box(self) -> Locator:
        return self.page.locator("#composer textarea[name=content]")

    @property
    def status(self) -> Locator:
        return self.page.locator("#compression-status")

    @property
    def replies(self) -> Locator:
        return self.page.locator("#thread .message[data-role=assistant][data-state=live]")

    def sets_up(self, *, token: str = "") -> None:
        """Make the first account; a server that other machines reach asks for the `token` that it printed."""
        self.page.goto(f"{self.site.url}/setup/?token={token}" if token else self.site.url)
        self.page.get_by_label("Username").fill(self.name)
        self.page.get_by_label("Password", exact=True).fill(PASSWORD)
        self.page.get_by_label("Password confirmation").fill(PASSWORD)
        self.page.get_by_role("button", name="Create account").click()
        self.page.wait_for_url(self.site.url + "/")

    def opens(self, name: str, *, role: Literal["button", "link"] = "link") -> None:
        """Press an entry of the menu behind the person's name."""
        self.page.locator("#side .me").click()
        self.page.locator("#me").get_by_role(role, name=name, exact=True).click()

    def begins(self) -> None:
        self.page.get_by_role("button", name="New chat").first.click()
        expect(self.box).to_be_enabled()
        self.page.wait_for_load_state("domcontentloaded")  # before that, no module hears of a key

    def imports(self, conversation: dict[str, Any]) -> None:
        file = {
            "name": "conversation.json",
            "mimeType": "application/json",
            "buffer": json.dumps(conversation).encode(),
        }
        self.page.goto(f"{self.site.url}/import")
        self.page.locator("#import-files").set_input_files(file)  # type: ignore[arg-type]
        self.page.wait_for_url("**/c/**")

    def chooses(self, message: Locator, name: str, *, role: Literal["button", "link"] = "button") -> None:
        """Press an entry of a message's menu."""
        message.get_by_role("button", name="More", exact=True).click()
        message.get_by_role(role, name=name, exact=True).click()

    def edits_summary(self) -> None:
        """Open the summary of the latest compaction, and its text."""
        self.page.locator(".compaction-divider").last.get_by_role("link", name="View").click()
        self.page.get_by_role("dialog").get_by_role("button", name="Edit this summary").click()

    def says(self, text: str) -> None:
        self.box.fill(text)
        self.box.press("Enter")

    def is_answered(self, text: str, *, seconds: float = 20) -> None:
        last = self.replies.last
        expect(last).to_contain_text(text, timeout=1000 * seconds)
        expect(last).to_have_attribute("data-status", "complete", timeout=1000 * seconds)


def long_conversation(messages: int, *, words: int = 12) -> dict[str, Any]:
    """A conversation of two people in the neutral form, with a fact of its own in each message."""
    filler = " ".join(["and so on"] * (words // 3))
    return {
        "title": "A long talk",
        "messages": [
            {
                "role": "assistant" if number % 2 else "user",
                "content": f"Message {number}: service-{number} listens on port {5000 + number}, {filler}.",
                "created_at": f"2026-01-{1 + number // 60 % 28:02}T10:{number % 60:02}:00Z",
            }
            for number in range(messages)
        ],
    }
