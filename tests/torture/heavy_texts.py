"""Attacks with texts and files that take far longer to read than they are long."""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import quote

from tests.conversations import heavy
from tests.furnishing import TOKEN
from tests.journeys.site import long_conversation
from tests.torture.attacks import Ground, attack

ZIP = "application/zip"
TABLE = "|a" * 256 + "|\n" + "|-" * 256 + "|\n" + "|x\n" * 256
PLAINLY_LONG = ("---\n", "[", "*a_", "> ", "|a|\n|-|\n", "$a", "- ", "`")


def conversation_of(*texts: str) -> Any:
    """A conversation that has these messages."""

    def imported(ground: Ground) -> str:
        messages = [{"role": "assistant", "content": text} for text in texts]
        made = ground.ask("POST", "/api/conversations/import", {"title": "Texts", "messages": messages})
        return str(made["conversations"][0]["id"])

    return imported


def _pages(ground: Ground, id: str) -> None:
    ground.at_once(4, lambda number: ground.send("GET", f"/c/{id}"))


def compacted(ground: Ground) -> str:
    made = ground.ask("POST", "/api/conversations/import", long_conversation(60))
    id = made["conversations"][0]["id"]
    task = ground.ask("POST", f"/api/context/{id}/compact", {})["task_id"]
    while ground.ask("GET", f"/api/tasks/{task}/progress")["status"] in ("pending", "running"):
        pass
    return str(id)


@attack("a heading with 480 blanks", prepare=compacted, is_short=True)
def heading(ground: Ground, id: str) -> None:
    body = {"summary": "## Summary" + " " * 480 + "x\n## State\nx"}
    ground.at_once(4, lambda number: ground.ask("PUT", f"/api/context/{id}/checkpoints/1", body))


@attack("a summary of 2,000 lines against another", prepare=compacted)
def differences(ground: Ground, id: str) -> None:
    for lines in ("ab" * 900, "bca" * 600):
        body = {"summary": "## Summary\nx\n## State\n" + "\n".join(lines)}
        ground.ask("PUT", f"/api/context/{id}/checkpoints/1", body)
    ground.at_once(4, lambda number: ground.send("GET", f"/c/{id}"))


@attack(
    "sixty messages of slow code",
    prepare=conversation_of(
        *(f"```{language}\n{code}\n```\n{number}" for number in range(15) for language, code in heavy.SLOW_CODE.items())
    ),
    is_short=True,
)
def code(ground: Ground, id: str) -> None:
    _pages(ground, id)


@attack(
    "sixty tables of 65,000 cells",
    prepare=conversation_of(*(f"{TABLE}\n{number}" for number in range(60))),
    is_short=True,
)
def tables(ground: Ground, id: str) -> None:
    _pages(ground, id)


@attack(
    "messages of 40,000 characters of marks",
    prepare=conversation_of(*(piece * (39_900 // len(piece)) for piece in PLAINLY_LONG)),
)
def marks(ground: Ground, id: str) -> None:
    _pages(ground, id)


@attack("32,000 keys, the last one twice", is_short=True)
def keys(ground: Ground, _: None) -> None:
    body = heavy.same_key(32_000)
    ground.at_once(4, lambda number: ground.send("POST", "/api/conversations", body))


@attack("24 MB of numbers in a list")
def numbers(ground: Ground, _: None) -> None:
    body = b'{"title":[' + b"1," * 12_000_000 + b"1]}"
    ground.at_once(2, lambda number: ground.send("POST", "/api/conversations", body))


def two_imports(ground: Ground) -> None:
    messages = [{"role": "user", "content": "a" * 200_000} for _ in range(110)]
    for _ in range(2):
        ground.ask("POST", "/api/conversations/import", {"title": "a", "messages": messages})


@attack("a search for what nearly occurs in 44 MB", prepare=two_imports)
def search(ground: Ground, _: None) -> None:
    words = quote("a" * 199 + "b")
    ground.at_once(4, lambda number: ground.send("GET", f"/api/search?q={words}"))


@attack("an import of 22 MB of one letter")
def one_letter(ground: Ground, _: None) -> None:
    two_imports(ground)


@attack("13 JPEGs of 2,500 scans at once", prepare=lambda ground: heavy.scans())
def images(ground: Ground, data: bytes) -> None:
    edge = secrets.token_hex(8)
    head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="a.jpg"\r\n\r\n'.encode()
    body = head + data + f"\r\n--{edge}--\r\n".encode()
    path = f"/c/{ground.served.id}/attachments"
    kind = f"multipart/form-data; boundary={edge}"
    headers = {"X_CSRFToken": TOKEN, "HX_Request": "true", "Referer": ground.served.site.url}
    ground.at_once(13, lambda number: ground.send("POST", path, body, kind=kind, **headers))


@attack("four zips of 800 KB that take 1.5 GB", prepare=lambda ground: heavy.costly_json())
def zips(ground: Ground, data: bytes) -> None:
    ground.at_once(4, lambda number: ground.send("POST", "/api/conversations/import", data, kind=ZIP))


@attack("24 MB of small objects", prepare=lambda ground: b'{"mapping":{},"x":[' + b'{"a":1},' * 2_900_000 + b"1]}")
def objects(ground: Ground, data: bytes) -> None:
    ground.at_once(4, lambda number: ground.send("POST", "/api/conversations/import", data))


@attack("a large export, such as people have", prepare=lambda ground: heavy.large_export(20_000_000))
def export(ground: Ground, data: bytes) -> None:
    ground.send("POST", "/api/conversations/import", data)
