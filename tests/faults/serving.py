"""A site behind its server, and what tests say to it over real connections."""

from __future__ import annotations

import http.cookiejar
import json
import re
import socket
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from websockets.sync.client import connect

from tests.furnishing import furnish
from tests.journeys.site import ROOT, Site
from tests.llm_server import LlmServer
from tests.servers import listens, wait_until
from tests.shell import Shell


class LoudSite(Site):
    """The site by `manage.py serve`, with the address of `tests.faults.loud`."""

    def start(self, *, wait: bool = True) -> Self:
        return self.run("tests.faults.loud", "serve", "--port", str(self.port))

    def run(self, *module: str) -> Self:
        if log := getattr(self, "log", None):
            log.close()  # of the process before this one
        self.log = (self.data / "serve.log").open("a")
        command = [sys.executable, "-m", *module]
        self.process = subprocess.Popen(command, cwd=ROOT, env=self.environment, stdout=self.log, stderr=self.log)
        wait_until(self._is_up, what="the server")
        return self

    def _is_up(self) -> bool:
        assert self.process.poll() is None, (self.data / "serve.log").read_text()
        return listens(self.port)


@dataclass
class Served:
    """A running site with alice, her key, her session and a conversation of hers."""

    site: Site
    llm: LlmServer
    key: str = ""
    cookie: str = ""
    id: str = ""

    @cached_property
    def shell(self) -> Shell:
        return Shell(self.site.environment)

    @property
    def memory(self) -> int:
        """Bytes that the server holds."""
        status = Path(f"/proc/{self.site.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return 1024 * int(line.split()[1])

    @property
    def log(self) -> str:
        return (self.site.data / "serve.log").read_text()

    def ask(self, method: str, path: str, body: object = None, *, timeout: float = 30) -> Any:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.site.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.loads(answer.read() or b"null")

    def open_socket(self, path: str = "", **how: Any) -> Any:
        url = self.site.url.replace("http", "ws") + (path or f"/ws/conversations/{self.id}/")
        return connect(url, additional_headers={"Cookie": self.cookie}, **{"origin": self.site.url} | how)

    def dial(self, *, buffer: int = 0) -> socket.socket:
        """A bare connection; `buffer` bytes are what its kernel reads on its own, or so."""
        connection = socket.socket()
        if buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(20)
        connection.connect(("127.0.0.1", self.site.port))
        return connection

    def head(self, method: str, path: str, **headers: str) -> bytes:
        """The beginning of a request, with alice's key."""
        given = {"Host": f"127.0.0.1:{self.site.port}", "Authorization": f"Bearer {self.key}"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


@contextmanager
def serving(folder: Path, *, may_fail: bool = False, **settings: str) -> Iterator[Served]:
    """Fails at the end where the server's log has a traceback or a warning of Python's, unless it `may_fail`."""
    key, cookie = furnish(folder)
    with LlmServer() as llm, LoudSite(folder, llm_url=llm.url, **settings) as site:
        served = Served(site, llm, key, cookie)
        served.id = served.ask("POST", "/api/conversations", {"title": "t"})["id"]
        try:
            yield served
        finally:
            if "shell" in vars(served):
                served.shell.close()
        assert may_fail or not re.search(r"Traceback|Warning: ", served.log), served.log


def sign_in(site: Site, name: str = "alice") -> str:
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    browser.open(site.url + "/accounts/login/").read()
    token = next(cookie.value for cookie in jar if cookie.name == "csrftoken")
    form = {"username": name, "password": "correct horse battery", "csrfmiddlewaretoken": token}
    browser.open(site.url + "/accounts/login/", urllib.parse.urlencode(form).encode()).read()
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)


def answer_of(connection: socket.socket) -> tuple[int, dict[str, str], str]:
    """Status, headers and body of what the server says before it closes, or as long as its body is said to be."""
    data = b""
    while b"\r\n\r\n" not in data and (chunk := connection.recv(65_536)):
        data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    while len(body) < int(headers.get("content-length", 0)) and (chunk := connection.recv(65_536)):
        body += chunk
    return int(first.split()[1]), headers, body.decode()
