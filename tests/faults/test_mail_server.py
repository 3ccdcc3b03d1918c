"""A forgotten password, by a site and a mail server that are processes and sockets of their own."""

from __future__ import annotations

import re
import socketserver
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from email import message_from_string, policy
from pathlib import Path
from threading import Thread

import httpx2
import pytest

from tests.faults.serving import LoudSite
from tests.furnishing import furnish
from tests.servers import wait_until

pytestmark = pytest.mark.once


class Smtp(socketserver.StreamRequestHandler):
    """As much of SMTP (RFC 5321) as accepts a mail of one recipient."""

    def handle(self) -> None:
        self.say(220)
        for line in iter(lambda: self.rfile.readline().decode(), ""):
            word = line[:4].upper().strip()
            self.say({"DATA": 354, "QUIT": 221}.get(word, 250))
            if word == "DATA":
                lines = iter(lambda: self.rfile.readline().decode(), ".\r\n")
                self.server.taken.append("".join(lines))  # type: ignore[attr-defined]
                self.say(250)
            if word == "QUIT":
                return

    def say(self, code: int) -> None:
        self.wfile.write(f"{code} scripted\r\n".encode())


class MailServer(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads = True, True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Smtp)
        self.taken: list[str] = []
        Thread(target=self.serve_forever, daemon=True).start()


@pytest.fixture
def mail_server() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server
        server.shutdown()


def test_a_mail_reaches_its_server_and_its_link_sets_a_password(tmp_path: Path, mail_server: MailServer) -> None:
    furnish(tmp_path)
    url = f"smtp://127.0.0.1:{mail_server.server_address[1]}"
    with LoudSite(tmp_path, llm_url="http://127.0.0.1:9/v1", EMAIL_URL=url, EMAIL_FROM="chats@example.org") as site:
        with closing(sqlite3.connect(tmp_path / "chatsite.sqlite3")) as database:
            database.execute("UPDATE auth_user SET email = 'alice@example.org' WHERE username = 'alice'")
            database.commit()
        browser = httpx2.Client(base_url=site.url, follow_redirects=True, headers={"Accept-Language": "de"})

        def posted(path: str, **fields: str) -> httpx2.Response:
            found = re.search(r'csrfmiddlewaretoken" value="(\w+)"', browser.get(path).text)
            assert found
            return browser.post(path, data={**fields, "csrfmiddlewaretoken": found[1]})

        assert posted("/accounts/password/", email="alice@example.org").status_code == 200
        wait_until(lambda: mail_server.taken, what="the mail")
        message = message_from_string(mail_server.taken[0], policy=policy.default)
        assert message["From"] == "chats@example.org" and message["To"] == "alice@example.org"
        text = message.get_content()  # type: ignore[attr-defined]
        assert "Hallo alice," in text, "in the visitor's language"
        link = re.search(rf"{site.url}(/\S+)", text)
        assert link
        form = str(browser.get(link[1]).url)
        done = posted(form, new_password1="seven tame geese", new_password2="seven tame geese")
        assert done.url.path == "/accounts/login/"
        assert posted("/accounts/login/", username="alice", password="seven tame geese").url.path == "/"
        assert link[1].split("/")[-2] not in (tmp_path / "serve.log").read_text()
