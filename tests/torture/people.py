"""People who talk to a site that keeps dying, and a model that answers them; every message has a marker of its own."""

from __future__ import annotations

import json
import re
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from random import Random
from typing import Any
from uuid import UUID

from tests.llm_answers import SUMMARY_MARKER, text_of
from tests.llm_server import Answer, LlmServer, Request

MARKER = re.compile(r"<c(\d+):(\d+)>")
WORDS = "port 5433 of host node-7.internal never restart alpha on Fridays because of traffic".split()  # noqa: SIM905
PATIENCE = 60
"""Seconds until a message must have been acknowledged, however often its server was killed."""


class Model(LlmServer):
    """Answers each question with its marker, drop by drop, so that there is always a reply to be cut off."""

    drip = 0.02

    def _answer(self, request: Request) -> Answer:
        answer = super()._answer(request)
        if request.is_summary:
            return answer
        asked = asked_in(request)[-1] if asked_in(request) else ("x", "x")
        text = f"<r{asked[0]}:{asked[1]}> it is noted, with the port and the host, and will be done as you said."
        return replace(answer, text=text, drip=self.drip)


def asked_in(request: Request) -> list[tuple[str, str]]:
    """The markers of the questions that a request holds word for word, in its order."""
    said = (text_of(message) for message in request.messages if message["role"] == "user")
    return [found for text in said if not text.startswith(SUMMARY_MARKER) for found in MARKER.findall(text)]


@dataclass
class Talk:
    """A conversation, and how many of its messages were acknowledged: those are numbered without a gap."""

    number: int
    id: UUID
    acknowledged: int = 0


@dataclass
class Tally:
    """What was done, by all people together."""

    counts: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)
    talks: list[Talk] = field(default_factory=list)
    deleted: set[int] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, what: str, number: int = 1) -> None:
        with self.lock:
            self.counts[what] += number

    def complain(self, what: str) -> None:
        with self.lock:
            self.complaints.append(what)

    def opened(self, id: str) -> Talk:
        with self.lock:
            talk = Talk(len(self.talks), UUID(id))
            self.talks.append(talk)
            return talk

    def present(self) -> list[Talk]:
        return [talk for talk in self.talks if talk.number not in self.deleted]


class Refused(Exception):
    def __init__(self, status: int, body: dict[str, Any]) -> None:
        self.status, self.body = status, body
        super().__init__(f"{status}: {body}")

    @property
    def code(self) -> str:
        return str(self.body.get("error", {}).get("code"))


class Client:
    """One person's way in, by any of the site's doors."""

    def __init__(self, doors: list[str], key: str, random: Random) -> None:
        self.doors, self.key, self.random = doors, key, random

    def ask(self, method: str, path: str, body: object = None, *, timeout: float = 20) -> Any:
        """One attempt. Raises OSError where nobody answers to the end, Refused for a status of 400 and more."""
        with self.open(method, path, body, timeout=timeout) as answer:
            try:
                return json.loads(answer.read() or b"null")
            except (ValueError, HTTPException) as broken:
                raise ConnectionError(f"half an answer: {broken}") from None

    def open(self, method: str, path: str, body: object = None, *, timeout: float = 20) -> Any:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.random.choice(self.doors) + path, data, headers, method=method)
        try:
            return urllib.request.urlopen(request, timeout=timeout)
        except urllib.error.HTTPError as refusal:
            text = refusal.read()
            raise Refused(refusal.code, json.loads(text) if text.startswith(b"{") else {}) from None
        except HTTPException as broken:
            raise ConnectionError(str(broken)) from None

    def insist(self, method: str, path: str, body: object = None) -> Any:
        """Until somebody answers, and does not ask to come again later."""
        limit = time.monotonic() + PATIENCE
        while True:
            try:
                return self.ask(method, path, body)
            except Refused as refusal:
                if (refusal.status < 500 and refusal.code != "rate_limited") or time.monotonic() > limit:
                    raise
            except OSError:
                if time.monotonic() > limit:
                    raise
            time.sleep(0.05)


class Person(threading.Thread):
    """Talks until told to end; now and then compresses, stops a reply, deletes the conversation and begins another."""

    def __init__(self, client: Client, tally: Tally, ending: threading.Event) -> None:
        super().__init__(daemon=True)
        self.client, self.tally, self.ending, self.random = client, tally, ending, client.random

    def run(self) -> None:
        try:
            talk = begin(self.client, self.tally)
            while not self.ending.is_set():
                say(self.client, self.tally, talk)
                chance = self.random.random()
                if chance < 0.12:
                    self.compact(talk)
                elif chance < 0.2:
                    self.stop(talk)
                elif chance < 0.22:
                    talk = self.begin_again(talk)
        except Exception as error:
            self.tally.complain(f"a person gave up: {type(error).__name__}: {error}")

    def compact(self, talk: Talk) -> None:
        with suppress(OSError):
            try:
                self.client.ask("POST", f"/api/context/{talk.id}/compact", {})
                self.tally.add("compactions asked for")
            except Refused as refusal:
                if refusal.status not in (409, 429) and refusal.status < 500:
                    raise

    def stop(self, talk: Talk) -> None:
        """Ask, go away before the answer is there, and have it stopped."""
        with suppress(Refused, OSError):
            self.client.ask("POST", f"/api/conversations/{talk.id}/messages", question(talk), timeout=0.3)
        with suppress(Refused, OSError):
            stopped = self.client.ask("POST", f"/api/conversations/{talk.id}/stop")["stopped"]
            self.tally.add("replies stopped by a person", int(stopped))

    def begin_again(self, talk: Talk) -> Talk:
        with self.tally.lock:
            self.tally.deleted.add(talk.number)
        try:
            self.client.insist("DELETE", f"/api/conversations/{talk.id}")
        except Refused as refusal:  # its first attempt had got through
            if refusal.status != 404:
                raise
        self.tally.add("conversations deleted")
        return begin(self.client, self.tally)


def begin(client: Client, tally: Tally) -> Talk:
    return tally.opened(client.insist("POST", "/api/conversations", {"title": "torture"})["id"])


def question(talk: Talk, *, stream: bool = False) -> dict[str, Any]:
    """The next message of a talk: the same each time, so that it can be sent until it is acknowledged."""
    random = Random(f"{talk.number}-{talk.acknowledged}")
    words = " ".join(random.choices(WORDS, k=random.randint(60, 200)))
    text = f"<c{talk.number}:{talk.acknowledged}> {words}"
    return {"content": text, "client_id": f"message-{talk.acknowledged}", "stream": stream}


def say(client: Client, tally: Tally, talk: Talk, *, wait: bool = True) -> None:
    """Send the next message until it is acknowledged, by whichever process; `wait` may also be for its reply."""
    limit = time.monotonic() + PATIENCE
    while not _acknowledged(client, tally, talk, wait=wait):
        if time.monotonic() > limit:
            raise TimeoutError(f"conversation {talk.number}, message {talk.acknowledged} is never acknowledged")
        time.sleep(0.05)
    talk.acknowledged += 1
    tally.add("messages acknowledged")


def _acknowledged(client: Client, tally: Tally, talk: Talk, *, wait: bool) -> bool:
    stream = not wait or client.random.random() < 0.5
    path = f"/api/conversations/{talk.id}/messages"
    try:
        with client.open("POST", path, question(talk, stream=stream)) as answer:
            if not wait or (stream and client.random.random() < 0.5):
                answer.read(1)
            else:
                answer.read()
        return True
    except Refused as refusal:
        if refusal.status < 500 and refusal.code not in ("reply_running", "rate_limited"):
            raise
        tally.add(f"answers of {refusal.status}")
    except (OSError, HTTPException):
        tally.add("requests cut off")
    return False
